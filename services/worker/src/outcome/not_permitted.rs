//! Reasons why a plan that was made may not be applied by any attempt.

/// The reason why a plan may not be applied, in the words of the scheduler.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotPermitted {
    /// A person has rejected the effect of the plan.
    #[error("{0}")]
    Rejected(String),
    /// The plan needs consent, and nobody can know its effect.
    #[error("{0}")]
    UnknownEffect(String),
}

impl NotPermitted {
    /// Whether a person has decided that nothing is applied.
    pub(crate) const fn is_decision(&self) -> bool {
        matches!(self, Self::Rejected(_))
    }
}
