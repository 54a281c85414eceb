//! `worker`, a cts-only block.

use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::decode::block::Block;
use crate::keys::{Keyed, Keys};
use crate::report::location::Located;

/// More runs at a time make no sense on one machine.
const SLOTS_LIMITS: RangeInclusive<usize> = 1..=1024;
const DRAIN_TIMEOUTS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_hours(24);

const GO_GC_LIMITS: RangeInclusive<u32> = 0..=10_000;

/// How one worker goes about its runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerConfig {
    /// `slots`: how many runs one worker works on at a time; unset, twice the number of processors.
    pub slots: Option<NonZeroUsize>,
    /// `working_dir`, absolute: parent of the task directories of a worker that is a process of its
    /// own; `None` if it is left open.
    pub working_dir: Option<PathBuf>,
    /// `drain_timeout`: how long a worker that is stopped waits for its runs to finish, up to
    /// 24 h; 10 min by default.
    pub drain_timeout: Duration,
    /// `environment`: the names of the variables of cts's own environment that Terraform gets, and beginnings
    /// of names followed by a `*`; `None` for all but the credentials of cts.
    pub environment: Option<Vec<String>>,
    /// `go_gc`: by how many percent the heap of Terraform and its plugins may grow before garbage is collected; `None`
    /// to leave memory to them. 400 by default.
    pub go_gc: Option<NonZeroU32>,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self {
            slots: None,
            working_dir: None,
            drain_timeout: Duration::from_mins(10),
            environment: None,
            // Measured with large and small providers (docs/terraform.md#memory-and-processor-time).
            go_gc: NonZeroU32::new(400),
        }
    }
}

impl Keyed for WorkerConfig {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        let slots = |block: &mut Block<'_>, name| {
            let slots = block.number_within(name, &SLOTS_LIMITS)?;
            Some(slots.map(NonZeroUsize::new))
        };
        keys.key("slots", &mut self.slots, slots, |slots| {
            slots.map(NonZeroUsize::get)
        })
        .or_note("twice the number of processors");
        keys.path("working_dir", &mut self.working_dir);
        keys.duration("drain_timeout", &mut self.drain_timeout, &DRAIN_TIMEOUTS);
        let environment = &mut self.environment;
        keys.optional("environment", environment, decode_environment, Vec::clone)
            .or_note("everything but the credentials of cts");
        let go_gc = |block: &mut Block<'_>, name| {
            let percent = block.number_within(name, &GO_GC_LIMITS)?;
            Some(percent.map(NonZeroU32::new))
        };
        keys.key("go_gc", &mut self.go_gc, go_gc, |percent| {
            Some(percent.map_or(0, NonZeroU32::get))
        });
    }
}

fn decode_environment(block: &mut Block<'_>, name: &'static str) -> Option<Located<Vec<String>>> {
    let names = block.list(name)?;
    for name in &names.value {
        if !is_pattern(&name.value) {
            let message = format!(
                "`worker.environment` takes names of variables, such as \"HOME\", and beginnings of names, such as \"AWS_*\", not {:?}",
                name.value
            );
            block.sink().error(&name.place, message);
        }
    }
    Some(names.map(|names| names.into_iter().map(|name| name.value).collect()))
}

/// Whether it can be the name of a variable, or the beginning of one.
fn is_pattern(name: &str) -> bool {
    let beginning = name.strip_suffix('*');
    let bare = beginning.unwrap_or(name);
    let is_name = bare
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && !b"=*".contains(&byte));
    is_name && (!bare.is_empty() || beginning.is_some())
}
