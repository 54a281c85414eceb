//! `worker`, a cts-only block.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use crate::decode::block::Block;
use crate::report::location::Located;
use crate::settings::settings;

settings! {
    /// How one worker goes about its runs.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct WorkerConfig {
        /// `slots`: how many runs one worker works on at a time, up to 1,024: more make no sense on one machine. Unset,
        /// twice the number of processors.
        pub slots: Option<NonZeroUsize> = None
            => key(decode_slots, |slots| slots.map(NonZeroUsize::get))
            or "twice the number of processors",
        /// `working_dir`, absolute: parent of the task directories of a worker that is a process of its
        /// own; `None` if it is left open.
        pub working_dir: Option<PathBuf> = None => path,
        /// `drain_timeout`: how long a worker that is stopped waits for its runs to finish, up to
        /// 24 h; 10 min by default.
        pub drain_timeout: Duration = Duration::from_mins(10)
            => duration(&(Duration::ZERO..=Duration::from_hours(24))),
        /// `environment`: the names of the variables of cts's own environment that Terraform gets, and beginnings
        /// of names followed by a `*`; `None` for all but the credentials of cts.
        pub environment: Option<Vec<String>> = None
            => optional(decode_environment, Vec::clone)
            or "everything but the credentials of cts",
        /// `go_gc`: by how many percent the heap of Terraform and its plugins may grow before garbage is collected;
        /// `None` to leave memory to them. 400 by default, measured with large and small providers
        /// (docs/terraform.md#memory-and-processor-time).
        pub go_gc: Option<NonZeroU32> = NonZeroU32::new(400)
            => key(decode_go_gc, |percent| Some(percent.map_or(0, NonZeroU32::get))),
    }
}

fn decode_slots(
    block: &mut Block<'_>,
    name: &'static str,
) -> Option<Located<Option<NonZeroUsize>>> {
    let slots = block.number_within(name, &(1..=1024))?;
    Some(slots.map(NonZeroUsize::new))
}

fn decode_go_gc(block: &mut Block<'_>, name: &'static str) -> Option<Located<Option<NonZeroU32>>> {
    let percent = block.number_within(name, &(0..=10_000))?;
    Some(percent.map(NonZeroU32::new))
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
