//! Parts of answers that output shows as they were sent.

use std::ops::Deref;

use cts_proto::run::v1::RunStatus;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A part of an answer: read as `T`, and kept as it was sent, with the members that only newer servers have.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent<T> {
    sent: Value,
    read: T,
}

pub type Run = Sent<cts_proto::run::v1::Run>;

/// The consent to an effect (docs/rest.md#consent).
pub type Approval = Sent<cts_proto::run::v1::Approval>;

/// Loss that a shrink limit does not let a task apply (docs/rest.md#releasing-a-task).
pub type Hold = Sent<cts_proto::task::v1::Hold>;

/// Known data of a task's Terraform state (docs/rest.md#the-state-of-a-task).
pub type KnownState = Sent<cts_proto::json::KnownState>;

/// The condition of everything at one moment (docs/rest.md#overview).
pub type Overview = Sent<cts_proto::cluster::v1::GetOverviewResponse>;

/// How long changes took until they were applied (docs/rest.md#times).
pub type Times = Sent<cts_proto::cluster::v1::GetTimesResponse>;

/// The brake of the fleet (docs/rest.md#the-brake).
pub type Brake = Sent<cts_proto::cluster::v1::Brake>;

/// The state of a task at one moment (docs/rest.md#overview).
pub type CurrentState = Sent<cts_proto::task::v1::CurrentState>;

/// A page of the states of tasks (docs/rest.md#pages-and-grid).
pub type TaskPage = Sent<cts_proto::task::v1::ListTaskPageResponse>;

/// Why a task ran, or why it does not.
pub type Explanation = Sent<cts_proto::task::v1::Explanation>;

/// The task blocks in force, and those of the members.
pub type ClusterConfiguration = Sent<cts_proto::cluster::v1::GetConfigurationResponse>;

impl Run {
    /// Whether nothing more becomes of it.
    pub fn has_ended(&self) -> bool {
        matches!(
            self.status(),
            RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled
        )
    }
}

impl<T> Deref for Sent<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.read
    }
}

impl<T> Serialize for Sent<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.sent.serialize(to)
    }
}

impl<'de, T: for<'a> Deserialize<'a>> Deserialize<'de> for Sent<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut sent = Value::deserialize(from)?;
        if let Some(members) = sent.as_object_mut() {
            // Belongs to the answer as a whole.
            members.remove("request_id");
        }
        let read = T::deserialize(&sent).map_err(D::Error::custom)?;
        Ok(Self { sent, read })
    }
}
