//! States of runs, workers and replicas: a word with a shape, which the stylesheet draws by the class.

use std::fmt;

use cts_proto::json::Word as _;
use cts_proto::run::v1::{Run, RunStatus};

/// A word of the API for a state, such as `never_run`; never text of another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State(pub(crate) String);

impl State {
    /// The state of a run: its status, or `waiting` while it waits for consent.
    pub(crate) fn of_run(run: &Run) -> Self {
        Self(match run.state.as_str() {
            "waiting" => "waiting".to_owned(),
            _ => run.status().word(),
        })
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(word) = self;
        let words = word.replace('_', " ");
        write!(f, "<span class=\"state state-{word}\">{words}</span>")
    }
}

impl askama::filters::HtmlSafe for State {}

/// The kind of a run in words.
pub(crate) fn kind(run: &Run) -> String {
    run.kind().word().replace('_', " ")
}

/// Whether nothing more becomes of the run.
pub(crate) fn has_ended(run: &Run) -> bool {
    use RunStatus::{Cancelled, Failed, Succeeded};
    matches!(run.status(), Succeeded | Failed | Cancelled)
}
