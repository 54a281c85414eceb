//! Decides whether a task continues with the state at its place, gets the state from the old place, or is refused.

use super::record::{Keep, KnownState, StateRecord, TerraformState};

/// State at the old place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The old place is not known.
    Unknown,
    /// The old place has no state.
    Nothing,
    /// The old place has this state.
    State(TerraformState),
}

/// Action of a worker before it applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The worker continues with the state at the task's place; `None` if that place has no state, so that a new
    /// state begins.
    GoOn(Option<TerraformState>),
    /// The worker pushes the state of the old place over the content of the task's place.
    Move {
        /// The push overwrites a different lineage or a later serial, which Terraform would refuse without force.
        force: bool,
    },
    /// The worker does nothing.
    Refuse(StateRefusal),
}

/// Reason why neither state may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum StateRefusal {
    /// The known state is not at the task's place, and no other place is known.
    #[error("the task's state is not there, and it is not known where it was before")]
    NoSource,
    /// The known state is neither at the task's place nor at the old place.
    #[error("the task's state is not there, and the old backend has none either")]
    SourceEmpty,
    /// The old place has a state with a different lineage.
    #[error("the task's state is not there, and the old backend has that of something else")]
    SourceForeign,
    /// The old place has an earlier version of the known state.
    #[error("the task's state is not there, and the old backend has an earlier version of it")]
    SourceOlder,
    /// The task's place has a state with a different lineage.
    #[error("the new backend has the state of something else")]
    TargetForeign,
    /// The task's place has a version of the known state that was changed after the state was moved away.
    #[error(
        "both the old and the new backend have versions of the task's state that were changed since it was moved"
    )]
    BothChanged,
    /// The task has a state already, but is to take over that of an earlier task.
    #[error("the task has a state already")]
    TargetTaken,
    /// The task's place had the known state, and has no state now.
    #[error("the task's state is not there any more")]
    Lost,
    /// The task's place had the known state, and has a state with a different lineage now.
    #[error(
        "the task's state is not there any more, and its backend has the state of something else"
    )]
    Replaced,
    /// The task's place has an earlier version of the known state.
    #[error("the backend has an earlier version of the task's state")]
    Older,
}

impl StateRefusal {
    /// The refusal of a state without a known other place. If this place had the state (`had_it`), the state was
    /// lost; an earlier version of the state has the same refusal at any place.
    #[must_use]
    pub fn at_place(
        self,
        had_it: bool,
        known: Option<&KnownState>,
        found: Option<&TerraformState>,
    ) -> Self {
        match (self, lapse(known, found)) {
            (Self::NoSource, Some(lapse)) if had_it || lapse == Self::Older => lapse,
            _ => self,
        }
    }
}

impl StateRecord {
    /// Decides how to handle the state of the task, as [`decide`] and [`decide_from`] do.
    pub fn decide(&self, target: Option<&TerraformState>, source: &Source) -> Decision {
        if self.from.is_some() {
            decide_from(target, source, self.keep)
        } else {
            decide(self.known.as_ref(), target, source, self.keep)
        }
    }

    /// Compares the state found at the place of the known state. Returns `None` if it continues the known state, and
    /// while a decision still has to be carried out.
    pub fn lapse(&self, found: Option<&TerraformState>) -> Option<StateRefusal> {
        lapse(self.known.as_ref(), found).filter(|_lapse| !self.is_pending())
    }

    /// Whether the state at the task's place alone decides, so that the other place need not be read.
    pub fn is_settled_by(&self, target: Option<&TerraformState>) -> bool {
        let first = self.decide(target, &Source::Unknown);
        matches!(first, Decision::GoOn(Some(_))) || self.keep == Some(Keep::New)
    }
}

/// Compares the state found at the place of the known state with the known state. `None` if nothing is missing or no
/// state is known.
pub fn lapse(known: Option<&KnownState>, found: Option<&TerraformState>) -> Option<StateRefusal> {
    let known = known?;
    match found {
        None => Some(StateRefusal::Lost),
        Some(found) if found.lineage != known.lineage => Some(StateRefusal::Replaced),
        Some(found) if found.serial < known.serial => Some(StateRefusal::Older),
        Some(_) => None,
    }
}

/// Decides how to handle the state of a task.
///
/// `target` is the state at its place. `source` matters only if `target` does not continue the known state, so a
/// worker may first call this with [`Source::Unknown`] and look for the source after a refusal.
///
/// After a crash at any time, the decision is the same or finds the work done: until a move is recorded the known
/// state is the old state, and a pushed state continues it.
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

/// Decides how to handle the state of a task that takes over the state of an earlier task; `source` is the state in
/// the workspace of the earlier task.
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
        (Some(_), _) => Decision::Refuse(StateRefusal::TargetTaken),
        (None, Source::State(_)) => Decision::Move { force: false },
        (None, Source::Nothing) => Decision::Refuse(StateRefusal::SourceEmpty),
        (None, Source::Unknown) => Decision::Refuse(StateRefusal::NoSource),
    }
}

fn keep_old(target: Option<&TerraformState>, source: &Source) -> Decision {
    match (source, target) {
        (Source::Unknown, _) => Decision::Refuse(StateRefusal::NoSource),
        (Source::Nothing, _) => Decision::Refuse(StateRefusal::SourceEmpty),
        // The state was already pushed.
        (Source::State(source), Some(target))
            if source.lineage == target.lineage && source.serial == target.serial =>
        {
            Decision::GoOn(Some(target.clone()))
        }
        (Source::State(_), _) => Decision::Move { force: true },
    }
}

/// Decides about a known state that is missing at its place.
fn moved(known: &KnownState, target: Option<&TerraformState>, source: &Source) -> Decision {
    let source = match source {
        Source::Unknown => return Decision::Refuse(StateRefusal::NoSource),
        Source::Nothing => return Decision::Refuse(StateRefusal::SourceEmpty),
        Source::State(source) => source,
    };
    if source.lineage != known.lineage {
        return Decision::Refuse(StateRefusal::SourceForeign);
    }
    if source.serial < known.serial {
        return Decision::Refuse(StateRefusal::SourceOlder);
    }
    match target {
        None => Decision::Move { force: false },
        Some(target) if target.lineage != known.lineage => {
            Decision::Refuse(StateRefusal::TargetForeign)
        }
        Some(target) if known.moved.is_some_and(|moved| target.serial <= moved) => {
            Decision::Move { force: false }
        }
        Some(_) => Decision::Refuse(StateRefusal::BothChanged),
    }
}

#[cfg(test)]
mod tests;
