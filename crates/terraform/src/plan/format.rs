//! The members of Terraform's format of plans that are read. A missing member is `None`, which is not `false`.

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResourceChange {
    pub(super) address: String,
    pub(super) previous_address: Option<String>,
    pub(super) deposed: Option<String>,
    pub(super) provider_name: Option<String>,
    pub(super) action_reason: Option<String>,
    pub(super) change: Change,
}

impl ResourceChange {
    /// The address before a move.
    pub(super) fn moved_from(&self) -> Option<&String> {
        let from = self.previous_address.as_ref();
        from.filter(|from| !from.is_empty() && **from != self.address)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Change {
    pub(super) actions: Vec<String>,
    pub(super) before: Option<Box<RawValue>>,
    pub(super) after: Option<Box<RawValue>>,
    pub(super) after_unknown: Option<Box<RawValue>>,
    pub(super) before_sensitive: Option<Box<RawValue>>,
    pub(super) after_sensitive: Option<Box<RawValue>>,
    pub(super) replace_paths: Option<Box<RawValue>>,
    pub(super) importing: Option<Box<RawValue>>,
}

/// The object that a resource takes over; each member may be missing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Importing<'v> {
    pub(super) id: Option<String>,
    #[serde(borrow)]
    pub(super) identity: Option<&'v RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Invocation {
    pub(super) address: String,
    pub(super) provider_name: Option<String>,
    pub(super) config_values: Option<Box<RawValue>>,
    pub(super) config_unknown: Option<Box<RawValue>>,
    pub(super) lifecycle_action_trigger: Option<Box<RawValue>>,
    pub(super) invoke_action_trigger: Option<Box<RawValue>>,
}

/// The change or the call that starts an action.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Trigger {
    pub(super) triggering_resource_address: Option<String>,
    pub(super) calling_resource_address: Option<String>,
    pub(super) action_trigger_event: Option<String>,
}

/// A change, or an action of a provider, that is put off.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Deferred {
    pub(super) reason: String,
    pub(super) resource_change: Addressed,
    pub(super) action_invocation: Addressed,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Addressed {
    pub(super) address: String,
}
