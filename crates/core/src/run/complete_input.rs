//! The data of a task whose views have all been read.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::run::held_keys::{HeldKey, HeldKeys, UnreadableKeys};
use crate::run::input::{Content, FrozenInput};
use crate::run::losses::InstanceCounts;
use crate::task::spec::TaskDefinition;
use crate::view::{Item, ItemKind, ViewId, ViewSnapshot};
use crate::words::digest::Digest;

/// Items of a view at one time, frozen once and shared by the inputs of all tasks that use the view.
#[derive(Debug, Clone, Default)]
pub struct ViewItems {
    items: Vec<Item>,
    /// Keys without a value that can be passed on, sorted.
    unreadable: Vec<Arc<str>>,
    frozen: OnceLock<Arc<Content>>,
}

impl ViewItems {
    /// The items of a snapshot, in module order.
    pub fn of(snapshot: &ViewSnapshot) -> Self {
        let mut shown = Self::default();
        for item in snapshot.items.values() {
            match item {
                Item::UnreadableKey(key) => shown.unreadable.push(Arc::clone(key)),
                readable => shown.items.push(readable.clone()),
            }
        }
        shown
    }

    /// Keys without a value that can be passed on, sorted.
    pub fn unreadable(&self) -> &[Arc<str>] {
        &self.unreadable
    }

    /// Returns these items with the kept value of each unreadable key; without the keys that are left out.
    fn with_held(&self, view: &ViewId, held: &HeldKeys) -> Self {
        let kept = self.unreadable.iter();
        let kept = kept.filter_map(|key| match held.of(view, key)? {
            HeldKey::Kept(pair) => Some(Item::Key(Arc::clone(pair))),
            HeldKey::LeftOut => None,
        });
        let mut items: Vec<Item> = self.items.iter().cloned().chain(kept).collect();
        items.sort_by_cached_key(Item::key);
        Self {
            items,
            ..Self::default()
        }
    }

    fn instances_by_service(&self) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for item in &self.items {
            if let Item::Instance(instance) = item {
                *counts.entry(instance.name.clone()).or_default() += 1;
            }
        }
        counts
    }

    fn freeze(&self) -> Result<Arc<Content>, serde_json::Error> {
        if let Some(content) = self.frozen.get() {
            return Ok(Arc::clone(content));
        }
        let content = Arc::new(Content::of(&self.items)?);
        Ok(Arc::clone(self.frozen.get_or_init(|| content)))
    }
}

/// A task with the items of each of its views.
///
/// Cannot be created while a view has no snapshot, and is the only way to freeze an input with data: otherwise
/// Terraform would destroy the resources of an instance that is merely not known yet.
#[derive(Debug, Clone)]
pub struct CompleteInput {
    definition: Arc<TaskDefinition>,
    views: Vec<Arc<ViewItems>>,
}

/// Some data of a task is not known: a view has no snapshot, or a key has neither a readable value nor a decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} of the task's views have no snapshot, and {} have keys that cannot be read",
    missing.len(),
    unreadable.len()
)]
pub struct IncompleteInput {
    /// Views without a snapshot, in module order.
    pub missing: Vec<ViewId>,
    /// Unreadable keys of the other views, in module order.
    pub unreadable: Vec<UnreadableKeys>,
}

impl CompleteInput {
    /// Combines the last items of each view of a task, in module order.
    ///
    /// `held` gives each unreadable key its value or leaves the key out. `held` is `None` for a task that was never
    /// applied.
    ///
    /// # Errors
    /// Fails if `shown` lacks a view of the task, or `held` lacks an unreadable key; the error names all of them.
    pub fn new(
        definition: Arc<TaskDefinition>,
        shown: impl Fn(&ViewId) -> Option<Arc<ViewItems>>,
        held: Option<&HeldKeys>,
    ) -> Result<Self, IncompleteInput> {
        let mut views = Vec::new();
        let mut missing = Vec::new();
        let mut unreadable = Vec::new();
        for dependency in definition.dependencies() {
            let view = dependency.view.id();
            match shown(&view) {
                None => missing.push(view),
                Some(shown) if shown.unreadable.is_empty() => views.push(shown),
                Some(shown) => match held {
                    Some(held) if held.covers(&view, &shown.unreadable) => {
                        views.push(Arc::new(shown.with_held(&view, held)));
                    }
                    _ => unreadable.push(UnreadableKeys {
                        view,
                        keys: shown.unreadable.clone(),
                    }),
                },
            }
        }
        if missing.is_empty() && unreadable.is_empty() {
            Ok(Self { definition, views })
        } else {
            Err(IncompleteInput {
                missing,
                unreadable,
            })
        }
    }

    /// Number of instances of each service.
    pub fn instance_counts(&self) -> InstanceCounts {
        let dependencies = self.definition.dependencies().into_iter();
        let views = dependencies
            .zip(&self.views)
            .filter_map(|(dependency, shown)| {
                let of_instances = dependency.view.item_kind() == ItemKind::Instances;
                of_instances.then(|| (dependency.view.id(), shown.instances_by_service()))
            });
        views.collect()
    }

    /// The canonical form: equal inputs give equal bytes.
    ///
    /// # Errors
    /// Fails if the input cannot be written as JSON.
    pub fn freeze(&self, settings_digest: Digest) -> Result<FrozenInput, serde_json::Error> {
        let views: Result<Vec<_>, _> = self.views.iter().map(|view| view.freeze()).collect();
        FrozenInput::of(&self.definition, settings_digest, views?)
    }
}

impl FrozenInput {
    /// The input of a check without data: a disabled task is checked before its views are read, and nothing is
    /// applied with this input.
    ///
    /// # Errors
    /// Fails if the input cannot be written as JSON.
    pub fn for_check_without_data(
        definition: &TaskDefinition,
        settings_digest: Digest,
    ) -> Result<Self, serde_json::Error> {
        Self::of(definition, settings_digest, [])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::input::RunInput;
    use crate::view::condition::{Condition, ServicesCondition, ServicesQuery};
    use crate::view::service::{HealthStatus, Labels, ServiceInstance};

    fn on(services: &[&str]) -> Arc<TaskDefinition> {
        let condition = Condition::Services(ServicesCondition {
            query: ServicesQuery {
                names: services.iter().map(|&name| name.to_owned()).collect(),
                ..ServicesQuery::default()
            },
            use_as_module_input: true,
        });
        Arc::new(TaskDefinition::sample(condition, Vec::new()))
    }

    #[test]
    fn every_view_without_a_snapshot_is_named_and_an_empty_snapshot_is_one() {
        let empty = Arc::new(ViewItems::of(&ViewSnapshot::new::<Item>(1, [])));
        let read = |id: &ViewId| (id.as_str() == "health.service(web)").then(|| Arc::clone(&empty));
        let incomplete = CompleteInput::new(on(&["web", "db", "api"]), read, None).unwrap_err();
        let missing: Vec<_> = incomplete.missing.iter().map(ViewId::as_str).collect();
        assert_eq!(missing, ["health.service(api)", "health.service(db)"]);
        let complete = CompleteInput::new(on(&["web"]), read, None).unwrap();
        let frozen = complete.freeze(Digest::of(b"s")).unwrap();
        let contents = frozen.contents.iter().map(|content| &*content.bytes);
        assert_eq!(RunInput::thaw(contents).unwrap().services, []);
    }

    #[test]
    fn an_input_names_what_its_views_showed_and_is_another_one_if_they_show_it_the_other_way_round()
    {
        let instance = |id: &str| ServiceInstance {
            id: id.to_owned(),
            name: "web".to_owned(),
            kind: String::new(),
            address: String::new(),
            port: 1,
            meta: Labels::default(),
            tags: Vec::new(),
            namespace: String::new(),
            status: HealthStatus::Passing,
            node: String::new(),
            node_id: String::new(),
            node_address: String::new(),
            node_datacenter: String::new(),
            node_tagged_addresses: Labels::default(),
            node_meta: Labels::default(),
            ports: Vec::new(),
        };
        let [one, two] =
            ["one", "two"].map(|id| Arc::new(ViewItems::of(&ViewSnapshot::new(1, [instance(id)]))));
        let frozen = |api: &Arc<ViewItems>, web: &Arc<ViewItems>| {
            let shown = |id: &ViewId| {
                let is_web = id.as_str() == "health.service(web)";
                Some(Arc::clone(if is_web { web } else { api }))
            };
            let complete = CompleteInput::new(on(&["web", "api"]), shown, None).unwrap();
            complete.freeze(Digest::of(b"s")).unwrap()
        };
        let [first, again, other] =
            [(&one, &two), (&one, &two), (&two, &one)].map(|(a, w)| frozen(a, w));
        assert_eq!(first, again);
        assert!(
            Arc::ptr_eq(&first.contents[1], &again.contents[1]),
            "a view is frozen once"
        );
        assert_ne!(first.hash, other.hash);
        let thawed = RunInput::thaw(first.contents.iter().map(|content| &*content.bytes)).unwrap();
        let ids: Vec<_> = thawed.services.iter().map(|service| &*service.id).collect();
        assert_eq!(ids, ["one", "two"]);
    }

    #[test]
    fn contents_that_are_none_of_an_input_are_refused() {
        let thaw = |contents: &[&[u8]]| {
            RunInput::thaw(contents.iter().copied())
                .unwrap_err()
                .to_string()
        };
        assert_eq!(thaw(&[]), "the input has no contents");
        assert_eq!(thaw(&[b"[]"]), "content 0 of the input cannot be read");
        let empty = Arc::new(ViewItems::default());
        let complete =
            CompleteInput::new(on(&["web"]), |_| Some(Arc::clone(&empty)), None).unwrap();
        let head = &complete.freeze(Digest::of(b"s")).unwrap().contents[0]
            .bytes
            .clone();
        assert_eq!(thaw(&[head, b"7"]), "content 1 of the input cannot be read");
        assert_eq!(
            thaw(&[head, b"[]", b"[]"]),
            "the task has no view for content 2 of the input"
        );
    }
}
