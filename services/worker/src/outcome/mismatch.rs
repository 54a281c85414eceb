//! Messages about a state that is not certain to be the task's.

use std::fmt;

use cts_core::TaskName;
use cts_core::runs::RunKind;
use cts_core::state::{KnownState, Source, StateAt, StateConflict, StateRefusal, TerraformState};

use crate::redaction::Redactor;

/// A refused run, and both states as far as they were read.
#[derive(Debug)]
pub(crate) struct Mismatch {
    /// `None` if the state would be moved, but the run changes nothing.
    pub(crate) refusal: Option<StateRefusal>,
    pub(crate) task: TaskName,
    pub(crate) known: Option<KnownState>,
    pub(crate) kind: RunKind,
    /// The driver whose block names the old place.
    pub(crate) driver: &'static str,
    /// The kind of the task's backend.
    pub(crate) backend: String,
    pub(crate) target: Option<TerraformState>,
    /// Kind and workspace of the other place, and the state that was found there.
    pub(crate) old: Option<(String, TaskName, Source)>,
}

impl Mismatch {
    /// The conflict that the task shows until it is resolved.
    pub(crate) fn conflict(&self, redactor: &Redactor) -> StateConflict {
        let old = self.old.as_ref().map(|(kind, workspace, source)| StateAt {
            backend: kind.clone(),
            workspace: workspace.to_string(),
            state: match source {
                Source::State(state) => Some(state.clone()),
                Source::Unknown | Source::Nothing => None,
            },
        });
        let conflict = StateConflict {
            reason: redactor.redact(&self.reason()).into_owned(),
            old,
            new: Some(StateAt {
                backend: self.backend.clone(),
                workspace: self.task.to_string(),
                state: self.target.clone(),
            }),
        };
        conflict.bounded()
    }

    fn reason(&self) -> String {
        self.refusal.map_or_else(
            || "the task's state is still in its old backend: the next apply moves it".to_owned(),
            |refusal| refusal.to_string(),
        )
    }

    /// Whether the state is missing or different where it was before.
    const fn was_lost(&self) -> bool {
        matches!(
            self.refusal,
            Some(StateRefusal::Lost | StateRefusal::Replaced | StateRefusal::Older)
        )
    }

    fn advice(&self) -> String {
        let task = &self.task;
        match self.refusal {
            None => String::new(),
            Some(StateRefusal::NoSource) => format!(
                "\nName the backend that has it:\n\n\
                 driver {:?} {{\n  previous_backend \"KIND\" {{\n    # its arguments, credentials too\n  }}\n}}\n\n\
                 Or begin with what is in the new backend: `cts task state {task} -keep=new`",
                self.driver
            ),
            Some(StateRefusal::TargetTaken) => format!(
                "\nDecide with `cts task state {task} -keep=old` (that of the earlier task) or `-keep=new` (its own)"
            ),
            Some(_) if self.was_lost() => format!(
                "\nNothing is applied to it before a decision. Put the state back if there is a copy, and go on with what is \
                 there then: `cts task state {task} -keep=new`"
            ),
            Some(_) => format!(
                "\nSee both with `cts task state {task}`, and decide with `-keep=old` or `-keep=new`"
            ),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, backend, .. } = self;
        write!(f, "{}", self.reason())?;
        if let Some(known) = &self.known {
            write!(
                f,
                "\n  known: lineage {}, serial {}",
                known.lineage, known.serial
            )?;
        }
        let place = if self.was_lost() {
            "backend"
        } else {
            "new backend"
        };
        match &self.old {
            None if self.was_lost() => {}
            None => f.write_str("\n  old backend: not known")?,
            Some((kind, workspace, source)) => {
                write!(f, "\n  old backend: {kind:?}, workspace {workspace}, ")?;
                match source {
                    Source::State(state) => write_state(f, Some(state))?,
                    Source::Nothing => write_state(f, None)?,
                    Source::Unknown => f.write_str("not looked at")?,
                }
            }
        }
        write!(f, "\n  {place}: {backend:?}, workspace {task}, ")?;
        write_state(f, self.target.as_ref())?;
        f.write_str(&self.advice())?;
        if self.kind == RunKind::Destroy {
            write!(
                f,
                "\nNothing was destroyed. `cts task delete -retain {task}` deletes the task and leaves its infrastructure"
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for Mismatch {}

fn write_state(f: &mut fmt::Formatter<'_>, state: Option<&TerraformState>) -> fmt::Result {
    match state {
        None => f.write_str("no state"),
        Some(state) => write!(f, "lineage {}, serial {}", state.lineage, state.serial),
    }
}

#[cfg(test)]
mod tests {
    use cts_core::DEFAULT_DRIVER;

    use super::*;

    #[test]
    fn a_state_that_is_nowhere_is_said_with_the_block_to_write() {
        let mismatch = Mismatch {
            refusal: Some(StateRefusal::NoSource),
            task: TaskName::new("edge").unwrap(),
            known: Some(KnownState {
                lineage: "l".into(),
                serial: 7,
                moved: None,
            }),
            kind: RunKind::Destroy,
            driver: DEFAULT_DRIVER,
            backend: "pg".into(),
            target: None,
            old: None,
        };
        let text = mismatch.to_string();
        for part in [
            "  known: lineage l, serial 7\n",
            "  old backend: not known\n",
            "  new backend: \"pg\", workspace edge, no state\n",
            "\n  previous_backend \"KIND\" {\n",
            "`cts task state edge -keep=new`",
            "`cts task delete -retain edge`",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let lost = Mismatch {
            refusal: Some(StateRefusal::Lost),
            kind: RunKind::Apply,
            ..mismatch
        };
        let text = lost.to_string();
        for part in [
            "the task's state is not there any more\n  known: lineage l, serial 7\n  backend: \"pg\", workspace edge, no state\n",
            "`cts task state edge -keep=new`",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
