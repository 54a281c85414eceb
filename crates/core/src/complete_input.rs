//! The data of a task, once every view of it has been read.

use std::sync::Arc;

use crate::input::{Digest, FrozenInput, RunInput};
use crate::service::ServiceInstance;
use crate::task::TaskDefinition;
use crate::view::{ServiceView, ViewId, ViewSnapshot};

/// A task with the instances of all views of its condition.
///
/// It cannot be made while a view has no snapshot, and only it can be frozen with instances: Terraform would
/// destroy what belongs to an instance that is merely not known yet.
#[derive(Debug, Clone, PartialEq)]
pub struct CompleteInput {
    definition: Arc<TaskDefinition>,
    services: Vec<Arc<ServiceInstance>>,
}

/// Some views of a task have no snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} of the task's views have no snapshot", missing.len())]
pub struct IncompleteInput {
    /// These views, in module order; at least one.
    pub missing: Vec<ViewId>,
}

impl CompleteInput {
    /// The data of a task from the newest snapshot of each of its views, in module order.
    ///
    /// # Errors
    /// If `snapshot` has none for a view of the task's condition; all such views are named.
    pub fn new<'a>(
        definition: Arc<TaskDefinition>,
        snapshot: impl Fn(&ViewId) -> Option<&'a ViewSnapshot>,
    ) -> Result<Self, IncompleteInput> {
        let mut services = Vec::new();
        let mut missing = Vec::new();
        for id in definition.condition.views().iter().map(ServiceView::id) {
            match snapshot(&id) {
                Some(snapshot) => services.extend(snapshot.instances.values().cloned()),
                None => missing.push(id),
            }
        }
        if missing.is_empty() {
            Ok(Self {
                definition,
                services,
            })
        } else {
            Err(IncompleteInput { missing })
        }
    }

    /// Instances of the condition, in module order.
    pub fn services(&self) -> &[Arc<ServiceInstance>] {
        &self.services
    }

    /// The canonical form: equal inputs give equal bytes.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn freeze(&self, settings_digest: Digest) -> Result<FrozenInput, serde_json::Error> {
        FrozenInput::of(&RunInput {
            definition: (*self.definition).clone(),
            settings_digest,
            services: self.services.clone(),
        })
    }
}

impl FrozenInput {
    /// The input of a check that needs no data: a disabled task is checked before its views are read, and
    /// nothing is applied with it.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn for_check_without_data(
        definition: &TaskDefinition,
        settings_digest: Digest,
    ) -> Result<Self, serde_json::Error> {
        Self::of(&RunInput {
            definition: definition.clone(),
            settings_digest,
            services: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use super::*;
    use crate::condition::{Condition, ServicesCondition};
    use crate::identity::TaskName;

    fn on(services: &[&str]) -> Arc<TaskDefinition> {
        Arc::new(TaskDefinition {
            module_inputs: Vec::new(),
            services: Vec::new(),
            workspace: None,
            name: TaskName::new("t").unwrap(),
            description: String::new(),
            module: "./m".into(),
            module_source: "/m".into(),
            module_digest: None,
            bundle: None,
            version: String::new(),
            providers: Vec::new(),
            condition: Condition::Services(ServicesCondition {
                regexp: None,
                declared: BTreeMap::new(),
                names: services.iter().map(|&name| name.to_owned()).collect(),
                datacenter: String::new(),
                namespace: String::new(),
                filter: String::new(),
                cts_user_defined_meta: BTreeMap::new(),
                use_as_module_input: true,
            }),
            variables: BTreeMap::new(),
            working_dir: PathBuf::from("/w"),
        })
    }

    #[test]
    fn every_view_without_a_snapshot_is_named_and_an_empty_snapshot_is_one() {
        let empty = ViewSnapshot::new(1, []);
        let read = |id: &ViewId| (id.as_str() == "health.service(web)").then_some(&empty);
        let incomplete = CompleteInput::new(on(&["web", "db", "api"]), read).unwrap_err();
        let missing: Vec<_> = incomplete.missing.iter().map(ViewId::as_str).collect();
        assert_eq!(missing, ["health.service(api)", "health.service(db)"]);
        let complete = CompleteInput::new(on(&["web"]), read).unwrap();
        assert!(complete.services().is_empty());
        let frozen = complete.freeze(Digest::of(b"s")).unwrap();
        assert_eq!(frozen.hash, Digest::of(&frozen.bytes));
        assert_eq!(RunInput::thaw(&frozen.bytes).unwrap().services, []);
    }
}
