//! The screens.

mod approvals;
mod audit;
mod cluster;
mod confirm;
mod overview;
mod planned;
mod run;
mod runs;
mod task;
mod tasks;
#[cfg(test)]
mod tests;

use percent_encoding::percent_decode_str;

use crate::address::Query;
use crate::context::Refusal;
use crate::screen::Screen;

/// The screen at `path`, which has no slash at its beginning, in the state that `query` describes.
pub(crate) fn resolve(path: &str, query: Query) -> Result<Box<dyn Screen>, Refusal> {
    let segments: Result<Vec<_>, _> = path
        .split('/')
        .map(|segment| percent_decode_str(segment).decode_utf8())
        .collect();
    let nothing = || Refusal::not_found("There is no such page.");
    let segments = segments.map_err(|_not_text| nothing())?;
    let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
    find(&segments, query).ok_or_else(nothing)
}

/// The screen at these decoded segments.
fn find(segments: &[&str], query: Query) -> Option<Box<dyn Screen>> {
    Some(match segments {
        [""] => Box::new(overview::Overview),
        ["tasks"] => Box::new(tasks::Tasks::new(query)),
        ["tasks", name] => Box::new(task::Task::new(name)),
        ["approvals"] => Box::new(approvals::Approvals { query }),
        ["runs"] => Box::new(runs::Runs::new(query)),
        ["runs", id] => Box::new(run::RunScreen::new(id, query)),
        ["cluster"] => Box::new(cluster::Cluster),
        ["audit"] => Box::new(audit::Audit::new(&query)),
        _ => Box::new(confirm::Confirm::at(segments, query)?),
    })
}
