//! Enumerations as words.

use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An enumeration whose values the API shows as words: the names of the wire without their prefix, in small
/// letters.
pub trait Word: Copy + Default + Into<i32> + TryFrom<i32> {
    /// Name of the value on the wire.
    fn name(self) -> &'static str;

    /// The value of that name.
    fn from_name(name: &str) -> Option<Self>;

    /// The word; `unknown` for a value that is not set.
    fn word(self) -> String {
        match self.name().strip_prefix(prefix::<Self>()) {
            None | Some(UNSET) => "unknown".to_owned(),
            Some(word) => word.to_ascii_lowercase(),
        }
    }
}

/// End of the name of a value that is not set.
const UNSET: &str = "UNSPECIFIED";

fn prefix<E: Word>() -> &'static str {
    E::default().name().trim_end_matches(UNSET)
}

/// Shows the field of an enumeration as its word. A word or a value of a newer version is as if it were not set.
pub(crate) struct Words<E>(PhantomData<E>);

impl<E: Word> Words<E> {
    pub(crate) fn serialize<S: Serializer>(value: &i32, to: S) -> Result<S::Ok, S::Error> {
        E::try_from(*value).unwrap_or_default().word().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
        let word = String::deserialize(from)?;
        let name = prefix::<E>().to_owned() + &word.to_ascii_uppercase();
        Ok(E::from_name(&name).unwrap_or_default().into())
    }
}

macro_rules! words {
    ($($area:ident::$enumeration:ident),* $(,)?) => {$(
        impl Word for crate::$area::v1::$enumeration {
            fn name(self) -> &'static str {
                self.as_str_name()
            }

            fn from_name(name: &str) -> Option<Self> {
                Self::from_str_name(name)
            }
        }
    )*};
}

words!(
    cluster::TaskDifferenceKind,
    cluster::WorkerCondition,
    log::LogSearchState,
    log::LogStream,
    run::AttemptEnding,
    run::CauseState,
    run::DiagnosticSeverity,
    run::InputBasis,
    run::PlanExtent,
    run::PlannedAction,
    run::ResourceAction,
    run::RunKind,
    run::ApprovalState,
    run::RunPhase,
    run::RunStatus,
    run::StateKeep,
    task::CurrentStateName,
    task::DecisionKind,
    task::ObstacleKind,
    task::TaskPhase,
);
