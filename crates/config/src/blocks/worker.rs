//! `worker`, a cts-only block.

use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::decode::block::Block;
use crate::report::location::Located;
use crate::report::sink::Sink;

/// More runs at a time make no sense on one machine.
const SLOTS_LIMITS: RangeInclusive<usize> = 1..=1024;
const DEFAULT_DRAIN_TIMEOUT: Duration = Duration::from_mins(10);
const DRAIN_TIMEOUT_LIMITS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_hours(24);

/// Measured with large and small providers (docs/terraform.md#memory-and-processor-time).
const DEFAULT_GO_GC: u32 = 400;
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
            drain_timeout: DEFAULT_DRAIN_TIMEOUT,
            environment: None,
            go_gc: NonZeroU32::new(DEFAULT_GO_GC),
        }
    }
}

pub(crate) fn decode_worker(mut block: Block<'_>, current_dir: &Path) -> WorkerConfig {
    let default = WorkerConfig::default();
    let slots = block.number_within("slots", &SLOTS_LIMITS);
    let working_dir = block.path("working_dir", current_dir);
    let drain_timeout = block.duration_within("drain_timeout", &DRAIN_TIMEOUT_LIMITS);
    let environment = block.list("environment").map(|names| {
        let names = names.value.into_iter();
        let names = names.filter(|name| is_pattern(name, block.sink()));
        names.map(|name| name.value).collect()
    });
    let go_gc = block.number_within("go_gc", &GO_GC_LIMITS);
    block.finish();
    WorkerConfig {
        slots: slots.and_then(NonZeroUsize::new),
        working_dir,
        drain_timeout: drain_timeout.unwrap_or(default.drain_timeout),
        environment,
        go_gc: go_gc.map_or(default.go_gc, NonZeroU32::new),
    }
}

/// Whether it can be the name of a variable, or the beginning of one.
fn is_pattern(name: &Located<String>, sink: &Sink) -> bool {
    let beginning = name.value.strip_suffix('*');
    let bare = beginning.unwrap_or(&name.value);
    let is_name = bare
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && !b"=*".contains(&byte));
    let is_pattern = is_name && (!bare.is_empty() || beginning.is_some());
    if !is_pattern {
        let message = format!(
            "`worker.environment` takes names of variables, such as \"HOME\", and beginnings of names, such as \"AWS_*\", not {:?}",
            name.value
        );
        sink.error(&name.place, message);
    }
    is_pattern
}
