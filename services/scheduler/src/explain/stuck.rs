//! Destructions that wait for blocks that no worker has.

use std::collections::HashMap;

use cts_core::TaskName;
use cts_store::{Store, StoreError};

use super::lacking_blocks::lacking_blocks;

/// Why destructions cannot go on before an operator does something, by task.
pub(super) async fn stuck_destructions(
    store: &dyn Store,
) -> Result<HashMap<TaskName, String>, StoreError> {
    let unsettled = store.unsettled_runs().await?;
    let mut stuck = HashMap::new();
    if !unsettled.iter().any(|run| run.destroys) {
        return Ok(stuck);
    }
    let generations = store.settings().await?;
    for run in unsettled {
        let mut of_run = generations.iter();
        let Some(of_run) = of_run.find(|known| Some(known.number) == run.settings) else {
            continue;
        };
        let lacking = lacking_blocks(&run, &of_run.scope, &generations);
        if !lacking.is_empty() {
            let text = reason(&run.task, &lacking);
            stuck.insert(run.task, text);
        }
    }
    Ok(stuck)
}

fn reason(task: &TaskName, lacking: &[String]) -> String {
    let blocks = lacking.join(" and no block ");
    format!(
        "no worker has a block {blocks}, with which the infrastructure was made: put the block back, or give the \
         destruction up with `cts task delete -retain {task}`"
    )
}
