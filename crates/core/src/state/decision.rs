//! Whether a task goes on with the state that is at its place, gets it from the old place, or is refused.

use super::record::{Keep, KnownState, TerraformState};

/// What is at the old place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// It is not known where that is.
    Unknown,
    /// There is no state.
    Nothing,
    /// This state.
    State(TerraformState),
}

/// What a worker does before it applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It goes on with what is at the task's place; `None` if that is no state, so that a new one begins.
    GoOn(Option<TerraformState>),
    /// It pushes the state of the old place over what is at the task's place.
    Move {
        /// Terraform would refuse it: another lineage, or a later serial, is overwritten.
        force: bool,
    },
    /// It does nothing.
    Refuse(Refusal),
}

/// Why neither state may be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// The known state is not at the task's place, and there is nowhere to look for it.
    #[error("the task's state is not there, and it is not known where it was before")]
    NoSource,
    /// Nor is it at the old place.
    #[error("the task's state is not there, and the old backend has none either")]
    SourceEmpty,
    /// The old place has a state of another lineage.
    #[error("the task's state is not there, and the old backend has that of something else")]
    SourceForeign,
    /// The old place has an earlier version of the known state.
    #[error("the task's state is not there, and the old backend has an earlier version of it")]
    SourceOlder,
    /// The task's place has a state of another lineage.
    #[error("the new backend has the state of something else")]
    TargetForeign,
    /// The task's place has a version of the known state that was changed after the state was moved away.
    #[error(
        "both the old and the new backend have versions of the task's state that were changed since it was moved"
    )]
    BothChanged,
    /// The task has a state already, and is to take that of an earlier task.
    #[error("the task has a state already")]
    TargetTaken,
}

/// What to do with the state of a task.
///
/// `target` is what its place has. `source` matters only if that does not go on with what is known, so a worker may first ask
/// with [`Source::Unknown`] and look for the source if that is refused.
///
/// After a process has died at any moment this decides the same or finds that it is done: until a move is recorded the known
/// state is the old one, and a pushed state goes on with it.
pub fn decide(
    known: Option<&KnownState>,
    target: Option<&TerraformState>,
    source: &Source,
    keep: Option<Keep>,
) -> Decision {
    match keep {
        Some(Keep::New) => return Decision::GoOn(target.cloned()),
        Some(Keep::Old) => return keep_old(target, source),
        None => {}
    }
    match (known, target) {
        (None, Some(target)) => Decision::GoOn(Some(target.clone())),
        (None, None) => match source {
            Source::State(_) => Decision::Move { force: false },
            Source::Unknown | Source::Nothing => Decision::GoOn(None),
        },
        (Some(known), Some(target)) if known.is_continued_by(target) => {
            Decision::GoOn(Some(target.clone()))
        }
        (Some(known), target) => moved(known, target, source),
    }
}

/// What to do with the state of a task that takes that of an earlier one; `source` is the workspace of that one.
pub fn decide_from(
    target: Option<&TerraformState>,
    source: &Source,
    keep: Option<Keep>,
) -> Decision {
    match keep {
        Some(Keep::New) => return Decision::GoOn(target.cloned()),
        Some(Keep::Old) => return keep_old(target, source),
        None => {}
    }
    match (target, source) {
        (Some(target), Source::State(source)) if target.continues(source) => {
            Decision::GoOn(Some(target.clone()))
        }
        (Some(_), _) => Decision::Refuse(Refusal::TargetTaken),
        (None, Source::State(_)) => Decision::Move { force: false },
        (None, Source::Nothing) => Decision::Refuse(Refusal::SourceEmpty),
        (None, Source::Unknown) => Decision::Refuse(Refusal::NoSource),
    }
}

fn keep_old(target: Option<&TerraformState>, source: &Source) -> Decision {
    match (source, target) {
        (Source::Unknown, _) => Decision::Refuse(Refusal::NoSource),
        (Source::Nothing, _) => Decision::Refuse(Refusal::SourceEmpty),
        // It was pushed before.
        (Source::State(source), Some(target))
            if source.lineage == target.lineage && source.serial == target.serial =>
        {
            Decision::GoOn(Some(target.clone()))
        }
        (Source::State(_), _) => Decision::Move { force: true },
    }
}

/// The known state is not at its place.
fn moved(known: &KnownState, target: Option<&TerraformState>, source: &Source) -> Decision {
    let source = match source {
        Source::Unknown => return Decision::Refuse(Refusal::NoSource),
        Source::Nothing => return Decision::Refuse(Refusal::SourceEmpty),
        Source::State(source) => source,
    };
    if source.lineage != known.lineage {
        return Decision::Refuse(Refusal::SourceForeign);
    }
    if source.serial < known.serial {
        return Decision::Refuse(Refusal::SourceOlder);
    }
    match target {
        None => Decision::Move { force: false },
        Some(target) if target.lineage != known.lineage => Decision::Refuse(Refusal::TargetForeign),
        Some(target) if known.moved.is_some_and(|moved| target.serial <= moved) => {
            Decision::Move { force: false }
        }
        Some(_) => Decision::Refuse(Refusal::BothChanged),
    }
}

#[cfg(test)]
mod tests;
