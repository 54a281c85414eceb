//! The conditions of the tasks: the same services in every form that a task can declare.

use cts_tests::task;
use serde_json::{Value, json};

use crate::plan::Plan;

/// Prefix of the id of each instance that is written into the key/value store too.
pub(crate) const KEYS: &str = "inst/";

/// Prefix of the number of each service that exists only to change the names in the catalog.
pub(crate) const EXTRA: &str = "all-";

/// The form in which a task declares its condition; each task always has the same form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The names of the services.
    Names,
    /// An expression that matches them.
    Matching,
    /// Every other second, with the services as a module input.
    Schedule,
    /// The keys of all instances.
    Keys,
    /// An expression over names in the catalog, whose instances do not matter.
    Catalog,
}

/// The services of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watched {
    /// These, sorted.
    These(Vec<usize>),
    /// All services.
    All,
}

impl Kind {
    /// The kind of a task.
    pub const fn of(task: usize) -> Self {
        match task % 5 {
            0 => Self::Names,
            1 => Self::Matching,
            2 => Self::Schedule,
            3 => Self::Keys,
            _ => Self::Catalog,
        }
    }

    /// The block of a task in the configuration.
    pub(crate) fn block(self, number: usize, services: &[usize], more: &str) -> String {
        let name = Plan::task(number);
        let module = format!("./modules/{name}");
        let names: Vec<String> = services.iter().copied().map(Plan::service).collect();
        let condition = match self {
            Self::Names => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                return task(&name, &module, &names, more);
            }
            Self::Matching => format!(
                "condition \"services\" {{ regexp = {:?} }}",
                matching(services)
            ),
            Self::Schedule => format!(
                "condition \"schedule\" {{ cron = \"*/2 * * * * * *\" }}\n  \
                 module_input \"services\" {{ names = {names:?} }}"
            ),
            Self::Keys => {
                format!("condition \"consul-kv\" {{\n    path = {KEYS:?}\n    recurse = true\n  }}")
            }
            Self::Catalog => {
                format!(
                    "condition \"catalog-services\" {{ regexp = {:?} }}",
                    in_catalog(services)
                )
            }
        };
        format!(
            "task {{\n  name = \"{name}\"\n  module = \"{module}\"\n  {condition}\n  {more}\n}}\n"
        )
    }

    /// The task as an object for the API.
    pub(crate) fn object(
        self,
        number: usize,
        services: &[usize],
        enabled: bool,
        destroys: bool,
    ) -> Value {
        let name = Plan::task(number);
        let names: Vec<String> = services.iter().copied().map(Plan::service).collect();
        let mut object = json!({
            "name": name,
            "module": format!("./modules/{name}"),
            "enabled": enabled,
            "condition": match self {
                Self::Names => json!({"services": {"names": names}}),
                Self::Matching => json!({"services": {"regexp": matching(services)}}),
                Self::Schedule => json!({"schedule": {"cron": "*/2 * * * * * *"}}),
                Self::Keys => json!({"consul_kv": {"path": KEYS, "recurse": true}}),
                Self::Catalog => json!({"catalog_services": {"regexp": in_catalog(services)}}),
            },
        });
        if destroys {
            object["on_delete"] = json!("destroy");
        }
        if self == Self::Schedule {
            object["module_input"] = json!({"services": {"names": names}});
        }
        object
    }

    /// The services of a task as the API shows it.
    pub(crate) fn services(task: &Value) -> Option<Watched> {
        let condition = &task["condition"];
        let number = |name: &str| name.strip_prefix("svc-")?.parse().ok();
        if condition["consul_kv"]["path"] == KEYS {
            return Some(Watched::All);
        }
        let mut services = if let Some(regexp) =
            [&condition["services"], &condition["catalog_services"]]
                .iter()
                .find_map(|query| query["regexp"].as_str())
        {
            let (_, numbers) = regexp.split_once("svc-(")?;
            let (numbers, _) = numbers.split_once(')')?;
            let numbers = numbers.split('|').map(|number| number.parse().ok());
            numbers.collect::<Option<Vec<usize>>>()?
        } else {
            let listed = [&condition["services"], &task["module_input"]["services"]];
            let names = listed.iter().find_map(|query| query["names"].as_array())?;
            let numbers = names.iter().map(|name| number(name.as_str()?));
            numbers.collect::<Option<Vec<usize>>>()?
        };
        services.sort_unstable();
        Some(Watched::These(services))
    }
}

fn numbers(services: &[usize]) -> String {
    let numbers: Vec<String> = services.iter().map(ToString::to_string).collect();
    numbers.join("|")
}

fn matching(services: &[usize]) -> String {
    format!("^svc-({})$", numbers(services))
}

fn in_catalog(services: &[usize]) -> String {
    format!("^(svc-({})|{EXTRA}[0-9]+)$", numbers(services))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_requested_services_from_the_answer_of_the_api() {
        for number in 0..5 {
            let kind = Kind::of(number);
            let object = kind.object(number, &[1, 12], true, false);
            let expected = match kind {
                Kind::Keys => Watched::All,
                _ => Watched::These(vec![1, 12]),
            };
            assert_eq!(Kind::services(&object), Some(expected), "{object}");
            let block = kind.block(number, &[1, 12], "");
            assert!(block.contains("condition"), "{block}");
        }
        assert_eq!(Kind::services(&json!({})), None);
    }
}
