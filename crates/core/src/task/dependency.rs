//! Dependencies of a task in Consul, and the changes of these that run the task (docs/runs.md#what-triggers-a-task).

use std::collections::BTreeMap;

use crate::task::spec::TaskDefinition;
use crate::view::condition::{
    CatalogServicesCondition, Condition, KvQuery, ModuleInput, ServicesQuery,
};
use crate::view::{CatalogServicesView, ServiceView, ServicesView, View};

/// A view that a task needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// The view. The task can run only with a full snapshot of it.
    pub view: View,
    /// The changes of the view that run the task.
    pub trigger: Trigger,
}

/// Changes of a view that run a task. All other changes are in the input of its next run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// All changes.
    Change,
    /// Added and removed names, but not changed tags.
    OtherNames,
    /// No changes: the view only supplies values.
    Nothing,
}

impl TaskDefinition {
    /// The views that the task needs, without duplicates: first those of its condition, each group in module order,
    /// with names sorted bytewise (docs/runs.md#instances).
    pub fn dependencies(&self) -> Vec<Dependency> {
        let trigger = match &self.condition {
            Condition::NoCondition | Condition::Schedule(_) => Trigger::Nothing,
            Condition::Services(_) | Condition::ConsulKv(_) => Trigger::Change,
            Condition::CatalogServices(_) => Trigger::OtherNames,
        };
        let views = self.condition.views();
        let inputs = self.module_inputs.iter().flat_map(ModuleInput::views);
        let inputs = inputs.map(|view| (view, Trigger::Nothing));
        let all = views.into_iter().map(|view| (view, trigger)).chain(inputs);
        all.map(|(view, trigger)| Dependency { view, trigger })
            .collect()
    }
}

impl Condition {
    /// Its views, in module order.
    pub fn views(&self) -> Vec<View> {
        match self {
            Self::NoCondition | Self::Schedule(_) => Vec::new(),
            Self::Services(services) => services.query.views(),
            Self::CatalogServices(catalog) => vec![View::CatalogServices(catalog.view())],
            Self::ConsulKv(kv) => vec![View::ConsulKv(kv.query.view())],
        }
    }
}

impl ServicesQuery {
    /// Its views, in module order.
    pub fn views(&self) -> Vec<View> {
        if let Some(regexp) = &self.regexp {
            return vec![View::Services(ServicesView {
                regexp: regexp.clone(),
                datacenter: self.datacenter.clone(),
                namespace: self.namespace.clone(),
                filter: trimmed(&self.filter),
            })];
        }
        // An empty name, which a module input may contain, is no service.
        let mut names: Vec<&String> = self.names.iter().filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        let views = names.into_iter().map(|name| self.view(name));
        views.map(View::Service).collect()
    }

    fn view(&self, name: &str) -> ServiceView {
        let (datacenter, namespace, filter) = match self.declared.get(name) {
            Some(declared) => (&declared.datacenter, &declared.namespace, &declared.filter),
            None => (&self.datacenter, &self.namespace, &self.filter),
        };
        ServiceView {
            name: name.to_owned(),
            datacenter: datacenter.clone(),
            namespace: namespace.clone(),
            filter: trimmed(filter),
        }
    }

    /// Returns the meta data that is copied into every instance of the service `name`.
    pub fn meta_of(&self, name: &str) -> &BTreeMap<String, String> {
        self.declared
            .get(name)
            .map_or(&self.cts_user_defined_meta, |declared| {
                &declared.cts_user_defined_meta
            })
    }
}

impl CatalogServicesCondition {
    fn view(&self) -> CatalogServicesView {
        CatalogServicesView {
            regexp: self.regexp.clone(),
            datacenter: self.datacenter.clone(),
            namespace: self.namespace.clone(),
            node_meta: self.node_meta.clone(),
        }
    }
}

impl KvQuery {
    /// Returns the query with the path that is sent to Consul: one leading slash is removed.
    #[must_use]
    pub fn view(&self) -> Self {
        let path = self.path.strip_prefix('/').unwrap_or(&self.path);
        Self {
            path: path.to_owned(),
            ..self.clone()
        }
    }
}

impl ModuleInput {
    /// Its views, in module order.
    pub fn views(&self) -> Vec<View> {
        match self {
            Self::Services(services) => services.views(),
            Self::ConsulKv(query) => vec![View::ConsulKv(query.view())],
        }
    }
}

fn trimmed(filter: &str) -> String {
    filter.trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests;
