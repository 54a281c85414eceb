//! Blocks of the configuration that a destruction needs and no worker has any more.

use cts_core::settings::{SettingsGeneration, SettingsScope};
use cts_store::UnsettledRun;

/// Returns the blocks of the last apply of a destroyed task that no worker has any more. Such a run waits: without
/// these blocks it would destroy something else, or nothing.
pub(crate) fn lacking_blocks(
    run: &UnsettledRun,
    scope: &SettingsScope,
    generations: &[SettingsGeneration],
) -> Vec<String> {
    let mut of_run = generations.iter();
    let of_run = of_run.find(|known| Some(known.number) == run.settings);
    let mut in_force = generations.iter().filter(|known| known.in_force);
    let in_force = in_force.find(|known| known.scope == *scope);
    match (of_run, in_force) {
        (Some(of_run), Some(in_force)) if run.destroys => {
            of_run.digests.lacking_in(&in_force.digests)
        }
        _ => Vec::new(),
    }
}
