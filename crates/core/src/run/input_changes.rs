//! Differences between the input of a run and an earlier input, for display, without values: keys may be secret, and not
//! every caller may see the values of inputs.

use std::collections::BTreeMap;

use crate::run::input::RunInput;
use crate::view::service::{InstanceKey, ServiceInstance};
use crate::view::{Item, ViewDelta, ViewSnapshot};
use crate::words::excerpt::excerpt;

/// Maximum number of named differences of one service, or of one list.
const NAMED: usize = 5;

/// Maximum characters of a counted name.
const NAME_LENGTH: usize = 200;

/// Maximum number of named services.
const SERVICES: usize = 10;

/// Describes the changes from one input to a later input, with a line for the task and for each service:
/// `web: +web-3, -web-1, web-2 port`. Empty if the inputs are equal. Long lists are cut.
pub fn input_changes(before: &RunInput, after: &RunInput) -> Vec<String> {
    let mut lines = task_changes(before, after);
    let services = of_services(before, after);
    let more = services.len().saturating_sub(SERVICES);
    lines.extend(services.into_iter().take(SERVICES));
    if more > 0 {
        lines.push(format!("and {more} more services"));
    }
    let names = |input: &RunInput| -> BTreeMap<String, String> {
        let services = input.catalog_services.iter();
        services
            .map(|service| (service.name.clone(), service.tags.join(",")))
            .collect()
    };
    lines.extend(list("services", &names(before), &names(after)));
    let keys = |input: &RunInput| -> BTreeMap<String, String> {
        let keys = input.consul_kv.iter();
        keys.map(|pair| (pair.key.clone(), pair.value.clone()))
            .collect()
    };
    lines.extend(list("keys", &keys(before), &keys(after)));
    lines
}

/// The changes from one input to a later input besides those of data, a line for each.
pub fn task_changes(before: &RunInput, after: &RunInput) -> Vec<String> {
    let mut lines = Vec::new();
    if before.definition.module_digest != after.definition.module_digest {
        lines.push("the module was changed".to_owned());
    } else if before.definition != after.definition {
        lines.push("the task was changed".to_owned());
    }
    if before.settings_digest != after.settings_digest {
        lines.push("backend or provider blocks were changed".to_owned());
    }
    lines
}

/// Numbers of added, removed and otherwise changed instances of each service, or of each name or key.
pub type ChangeCounts = BTreeMap<String, [u32; 3]>;

/// Describes a change of a view with the snapshot `before`: a line for each service, or for the names or keys of the
/// view, and the numbers of changes. Long lists are cut.
pub fn view_changes(before: &ViewSnapshot, delta: &ViewDelta) -> (Vec<String>, ChangeCounts) {
    let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut counts = ChangeCounts::new();
    let upserts = delta.upserts.iter().map(|item| (item.key(), Some(item)));
    let removals = delta.removals.iter().map(|key| (key.clone(), None));
    for (key, item) in upserts.chain(removals) {
        let was = before.items.get(&key);
        let Some(of) = item.or(was) else { continue };
        let (line, name) = match of {
            Item::Instance(instance) => (instance.name.as_str(), instance.id.as_str()),
            Item::Service(service) => ("services", service.name.as_str()),
            Item::Key(pair) => ("keys", pair.key.as_str()),
            Item::UnreadableKey(key) => ("keys", key.as_ref()),
        };
        let (part, number) = match (was, item) {
            (None, _) => (format!("+{name}"), 0),
            (Some(_), None) => (format!("-{name}"), 1),
            (Some(Item::Instance(was)), Some(Item::Instance(is))) => match difference(was, is) {
                Some(difference) => (format!("{name} {difference}"), 2),
                None => continue,
            },
            (Some(was), Some(is)) if was == is => continue,
            (Some(_), Some(_)) => (format!("~{name}"), 2),
        };
        lines.entry(line).or_default().push(part);
        let is_instance = matches!(of, Item::Instance(_));
        let counted = excerpt(if is_instance { line } else { name }, NAME_LENGTH);
        counts.entry(counted).or_default()[number] += 1;
    }
    let lines = lines.iter();
    let lines = lines.map(|(name, parts)| format!("{name}: {}", cut(parts)));
    (lines.collect(), counts)
}

type Instances<'a> = BTreeMap<InstanceKey, &'a ServiceInstance>;

fn by_service(input: &RunInput) -> BTreeMap<&str, Instances<'_>> {
    let mut services: BTreeMap<&str, Instances<'_>> = BTreeMap::new();
    for instance in &input.services {
        let of_service = services.entry(instance.name.as_str()).or_default();
        of_service.insert(instance.key(), instance);
    }
    services
}

fn of_services(before: &RunInput, after: &RunInput) -> Vec<String> {
    let (before, after) = (by_service(before), by_service(after));
    let none = Instances::new();
    let mut lines = BTreeMap::new();
    for name in before.keys().chain(after.keys()) {
        let was = before.get(name).unwrap_or(&none);
        let is = after.get(name).unwrap_or(&none);
        let added = is.iter().filter(|(key, _)| !was.contains_key(key));
        let removed = was.iter().filter(|(key, _)| !is.contains_key(key));
        let changed = is.iter().filter_map(|(key, instance)| {
            let difference = difference(was.get(key)?, instance)?;
            Some(format!("{} {difference}", key.id))
        });
        let added = added.map(|(key, _)| format!("+{}", key.id));
        let removed = removed.map(|(key, _)| format!("-{}", key.id));
        let parts: Vec<String> = added.chain(removed).chain(changed).collect();
        if !parts.is_empty() {
            lines.insert(*name, format!("{name}: {}", cut(&parts)));
        }
    }
    lines.into_values().collect()
}

/// The first attribute that differs between two states of an instance.
fn difference(was: &ServiceInstance, is: &ServiceInstance) -> Option<&'static str> {
    let differ = [
        (was.port != is.port, "port"),
        (was.ports != is.ports, "ports"),
        (was.address != is.address, "address"),
        (was.status != is.status, "status"),
        (was.tags != is.tags, "tags"),
        (was.meta != is.meta, "meta"),
        (was != is, "node"),
    ];
    let first = differ.into_iter().find(|(differs, _)| *differs);
    first.map(|(_, attribute)| attribute)
}

/// Differences between two lists of names, if any.
fn list(
    what: &str,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Option<String> {
    let added = after.keys().filter(|name| !before.contains_key(*name));
    let removed = before.keys().filter(|name| !after.contains_key(*name));
    let changed = after.iter().filter(|(name, value)| {
        let was = before.get(*name);
        was.is_some_and(|was| was != *value)
    });
    let added = added.map(|name| format!("+{name}"));
    let removed = removed.map(|name| format!("-{name}"));
    let changed = changed.map(|(name, _)| format!("~{name}"));
    let parts: Vec<String> = added.chain(removed).chain(changed).collect();
    (!parts.is_empty()).then(|| format!("{what}: {}", cut(&parts)))
}

fn cut(parts: &[String]) -> String {
    let named = parts.iter().take(NAMED).map(String::as_str);
    let text = named.collect::<Vec<_>>().join(", ");
    match parts.len().saturating_sub(NAMED) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::view::condition::Condition;
    use crate::view::service::{HealthStatus, ServicePort};
    use crate::view::{CatalogService, KeyValue};
    use crate::{Digest, Labels, TaskDefinition};

    fn instance(name: &str, id: &str, port: i64) -> ServiceInstance {
        ServiceInstance {
            id: id.to_owned(),
            name: name.to_owned(),
            kind: String::new(),
            address: "10.0.0.1".to_owned(),
            port,
            meta: Labels::default(),
            tags: Vec::new(),
            namespace: String::new(),
            status: HealthStatus::Passing,
            node: "n".to_owned(),
            node_id: String::new(),
            node_address: "10.0.0.1".to_owned(),
            node_datacenter: "dc1".to_owned(),
            node_tagged_addresses: Labels::default(),
            node_meta: Labels::default(),
            ports: Vec::new(),
        }
    }

    fn input(services: Vec<ServiceInstance>) -> RunInput {
        RunInput {
            services: services.into_iter().map(Arc::new).collect(),
            ..RunInput::without_data(definition(), Digest::of(b"settings"))
        }
    }

    fn definition() -> TaskDefinition {
        TaskDefinition::sample(Condition::NoCondition, Vec::new())
    }

    #[test]
    fn instances_come_go_and_change_by_service() {
        let before = input(vec![
            instance("api", "api-2", 80),
            instance("web", "web-1", 80),
            instance("web", "web-2", 80),
        ]);
        let after = input(vec![
            instance("api", "api-2", 81),
            ServiceInstance {
                status: HealthStatus::Critical,
                ..instance("web", "web-2", 80)
            },
            instance("web", "web-3", 80),
        ]);
        let expected = ["api: api-2 port", "web: +web-3, -web-1, web-2 status"];
        let named = input(vec![ServiceInstance {
            ports: vec![ServicePort {
                name: "admin".to_owned(),
                port: 81,
                default: false,
            }],
            ..instance("web", "web-1", 80)
        }]);
        let plain = input(vec![instance("web", "web-1", 80)]);
        assert_eq!(input_changes(&plain, &named), ["web: web-1 ports"]);
        assert_eq!(input_changes(&before, &after), expected);
        assert_eq!(input_changes(&before, &before), Vec::<String>::new());
    }

    #[test]
    fn a_change_of_a_view_is_described_by_what_it_adds_and_removes() {
        let before = ViewSnapshot::new(
            1,
            [instance("web", "web-1", 80), instance("web", "web-2", 80)],
        );
        let after = ViewSnapshot::new(
            2,
            [instance("web", "web-2", 81), instance("web", "web-3", 80)],
        );
        let delta = after.delta_from(Some(&before));
        let expected = ["web: web-2 port, +web-3, -web-1"];
        let (lines, counts) = view_changes(&before, &delta);
        assert_eq!(lines, expected);
        assert_eq!(counts, BTreeMap::from([("web".to_owned(), [1, 1, 1])]));
        let unchanged = before.delta_from(Some(&before));
        let nothing = (Vec::new(), BTreeMap::new());
        assert_eq!(view_changes(&before, &unchanged), nothing);
        let key = |value: &str| KeyValue {
            key: "a/b".to_owned(),
            value: value.to_owned(),
        };
        let before = ViewSnapshot::new(1, [key("secret")]);
        let delta = ViewSnapshot::new(2, [key("other")]).delta_from(Some(&before));
        let (lines, counts) = view_changes(&before, &delta);
        assert_eq!(lines, ["keys: ~a/b"]);
        assert_eq!(counts, BTreeMap::from([("a/b".to_owned(), [0, 0, 1])]));
    }

    #[test]
    fn long_lists_are_cut() {
        let many = |from, to| {
            let instances = (from..to).map(|number| instance("web", &format!("web-{number}"), 80));
            input(instances.collect())
        };
        let changes = input_changes(&many(0, 0), &many(0, 9));
        assert_eq!(
            changes,
            ["web: +web-0, +web-1, +web-2, +web-3, +web-4 and 4 more"]
        );
        let services = |count: usize| {
            let instances = (0..count).map(|number| instance(&format!("s{number:02}"), "i", 80));
            input(instances.collect())
        };
        let changes = input_changes(&services(0), &services(12));
        assert_eq!(changes.len(), 11);
        assert_eq!(changes[10], "and 2 more services");
    }

    #[test]
    fn keys_are_named_without_their_values() {
        let pair = |key: &str, value: &str| {
            Arc::new(KeyValue {
                key: key.to_owned(),
                value: value.to_owned(),
            })
        };
        let service = |name: &str| {
            Arc::new(CatalogService {
                name: name.to_owned(),
                tags: Vec::new(),
            })
        };
        let before = RunInput {
            consul_kv: vec![pair("a", "secret-1"), pair("b", "secret-2")],
            catalog_services: vec![service("web")],
            ..input(Vec::new())
        };
        let mut after = RunInput {
            settings_digest: Digest::of(b"other"),
            consul_kv: vec![pair("b", "secret-3"), pair("c", "secret-4")],
            catalog_services: vec![service("api")],
            ..input(Vec::new())
        };
        after.definition.module_digest = Some(Digest::of(b"module"));
        let expected = [
            "the module was changed",
            "backend or provider blocks were changed",
            "services: +api, -web",
            "keys: +c, -a, ~b",
        ];
        assert_eq!(input_changes(&before, &after), expected);
    }
}
