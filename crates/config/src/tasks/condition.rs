//! `condition` of a task (docs/configuration.md#condition).

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cts_core::{
    CatalogServicesCondition, Condition, ConsulKvCondition, ScheduleCondition, ServicesCondition,
};
use serde_json::{Map, Value};

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::location::Located;
use crate::report::suggestion::suggestion;
use crate::tasks::checks;
use crate::tasks::deprecated::DeprecatedKeyUse;
use crate::tasks::query::{RawKv, RawServices, check_regexp, insert_some, insert_texts, texts};

const KNOWN: [&str; 5] = [
    "services",
    "catalog-services",
    "consul-kv",
    "schedule",
    "no-condition",
];

/// The trigger that a task's block declares.
#[derive(Debug)]
pub(crate) enum GivenCondition {
    Absent,
    /// The type does not exist, which has been reported.
    Unknown,
    /// The place is that of the block.
    Given(Box<Located<RawCondition>>),
}

/// A condition as written, checked; `None` is unset.
#[derive(Debug)]
pub(crate) enum RawCondition {
    NoCondition,
    Services {
        query: RawServices,
        use_as_module_input: Option<bool>,
    },
    CatalogServices {
        regexp: String,
        datacenter: Option<String>,
        namespace: Option<String>,
        node_meta: BTreeMap<String, String>,
        use_as_module_input: Option<bool>,
    },
    ConsulKv {
        query: RawKv,
        use_as_module_input: Option<bool>,
    },
    Schedule {
        cron: String,
    },
}

/// Reads the `condition` of a task. Uses of deprecated keys are added to `former`.
pub(crate) fn decode_condition(
    task: &mut Block<'_>,
    now: DateTime<Utc>,
    deprecated: &mut Vec<DeprecatedKeyUse>,
) -> GivenCondition {
    let sink = task.sink();
    let Some(block) = task.block("condition") else {
        return GivenCondition::Absent;
    };
    let place = block.place().cloned();
    let mut entries = block.into_entries();
    entries.retain(|entry| !entry.is_unset());
    let (Some(place), Some((entry, more))) = (place.clone(), entries.split_first()) else {
        if let Some(place) = place {
            let message = "a `condition` block needs a label, its type, for example \"services\"";
            sink.error(&place, message);
        }
        return GivenCondition::Unknown;
    };
    for second in more {
        let message = format!(
            "only one condition can be configured in a task, and there is `{}` already",
            entry.name()
        );
        sink.error(&second.key_place(), message);
    }
    let kind = entry.name();
    if !KNOWN.contains(&kind) {
        let message = format!(
            "unsupported condition type `{kind}`: expected {}",
            KNOWN[..4].join(", ")
        );
        sink.error_with_help(&entry.key_place(), message, suggestion(kind, &KNOWN));
        return GivenCondition::Unknown;
    }
    let block = Block::of_entry(format!("task.condition \"{kind}\""), entry, sink);
    let value = RawCondition::decode(kind, block, now, deprecated);
    GivenCondition::Given(Box::new(Located { value, place }))
}

impl RawCondition {
    fn decode(
        kind: &str,
        mut block: Block<'_>,
        now: DateTime<Utc>,
        deprecated: &mut Vec<DeprecatedKeyUse>,
    ) -> Self {
        let condition = match kind {
            "services" => {
                let given = block.has("names") || block.has("regexp");
                let query = RawServices::decode(&mut block);
                check_services(&query, given, &block);
                Self::Services {
                    query,
                    use_as_module_input: decode_use(&mut block, deprecated),
                }
            }
            "catalog-services" => Self::CatalogServices {
                regexp: decode_required_regexp(&mut block),
                datacenter: block.text("datacenter"),
                namespace: block.text("namespace"),
                node_meta: texts(&mut block, "node_meta"),
                use_as_module_input: decode_use(&mut block, deprecated),
            },
            "consul-kv" => {
                let given = block.has("path");
                let query = RawKv::decode(&mut block);
                check_path(&query, given, &block);
                Self::ConsulKv {
                    query,
                    use_as_module_input: decode_use(&mut block, deprecated),
                }
            }
            "schedule" => Self::Schedule {
                cron: decode_cron(&mut block, now),
            },
            _ => Self::NoCondition,
        };
        block.finish();
        condition
    }

    /// The variable of the module that it monitors, if any.
    pub(crate) fn variable(&self) -> Option<&'static str> {
        match self {
            Self::Services { .. } => Some("services"),
            Self::CatalogServices { .. } => Some("catalog_services"),
            Self::ConsulKv { .. } => Some("consul_kv"),
            Self::Schedule { .. } | Self::NoCondition => None,
        }
    }

    pub(crate) fn into_condition(self) -> Condition {
        match self {
            Self::NoCondition => Condition::NoCondition,
            Self::Services {
                query,
                use_as_module_input,
            } => {
                let input = query.into_input();
                Condition::Services(ServicesCondition {
                    names: input.names,
                    regexp: input.regexp,
                    datacenter: input.datacenter,
                    namespace: input.namespace,
                    filter: input.filter,
                    cts_user_defined_meta: input.cts_user_defined_meta,
                    declared: input.declared,
                    use_as_module_input: use_as_module_input.unwrap_or(true),
                })
            }
            Self::CatalogServices {
                regexp,
                datacenter,
                namespace,
                node_meta,
                use_as_module_input,
            } => Condition::CatalogServices(CatalogServicesCondition {
                regexp,
                datacenter: datacenter.unwrap_or_default(),
                namespace: namespace.unwrap_or_default(),
                node_meta,
                use_as_module_input: use_as_module_input.unwrap_or(true),
            }),
            Self::ConsulKv {
                query,
                use_as_module_input,
            } => Condition::ConsulKv(ConsulKvCondition {
                query: query.into_query(),
                use_as_module_input: use_as_module_input.unwrap_or(true),
            }),
            Self::Schedule { cron } => Condition::Schedule(ScheduleCondition { cron }),
        }
    }

    /// The object of the API, with the type as its only member; what is unset is left out
    /// (docs/rest.md#task-objects).
    pub(crate) fn to_object(&self) -> Map<String, Value> {
        let (kind, mut object, use_as_module_input) = match self {
            Self::NoCondition => return Map::new(),
            Self::Services {
                query,
                use_as_module_input,
            } => ("services", query.to_object(), use_as_module_input),
            Self::CatalogServices {
                regexp,
                datacenter,
                namespace,
                node_meta,
                use_as_module_input,
            } => {
                let mut object = Map::new();
                object.insert("regexp".to_owned(), Value::from(regexp.as_str()));
                insert_some(&mut object, "datacenter", datacenter.as_ref());
                insert_some(&mut object, "namespace", namespace.as_ref());
                insert_texts(&mut object, "node_meta", node_meta);
                ("catalog_services", object, use_as_module_input)
            }
            Self::ConsulKv {
                query,
                use_as_module_input,
            } => ("consul_kv", query.to_object(), use_as_module_input),
            Self::Schedule { cron } => {
                let mut object = Map::new();
                object.insert("cron".to_owned(), Value::from(cron.as_str()));
                ("schedule", object, &None)
            }
        };
        insert_some(
            &mut object,
            "use_as_module_input",
            use_as_module_input.as_ref(),
        );
        Map::from_iter([(kind.to_owned(), Value::Object(object))])
    }
}

/// `given` is whether one of the two keys is present, whatever its type.
fn check_services(query: &RawServices, given: bool, block: &Block<'_>) {
    let sink = block.sink();
    match (&query.names, &query.regexp) {
        // An empty list counts as absent.
        (Some(names), Some(regexp)) if !names.value.is_empty() => sink.error(
            &regexp.place,
            "`names` and `regexp` cannot both be configured in a `services` condition",
        ),
        (None, None) if !given => {
            block
                .missing("either `names` or `regexp` must be configured in a `services` condition");
        }
        (Some(names), None) if names.value.is_empty() => sink.error(
            &names.place,
            "`names` must have at least one service name, unless `regexp` is configured instead",
        ),
        _ => {}
    }
    for name in query.names() {
        if name.value.is_empty() {
            sink.error(&name.place, "`names` includes an empty string");
        }
    }
}

fn decode_required_regexp(block: &mut Block<'_>) -> String {
    if !block.has("regexp") {
        block.missing(
            "`regexp` must be set in a `catalog-services` condition; \".*\" takes every service",
        );
    }
    let Some(regexp) = block.take("regexp", coerce::text) else {
        return String::new();
    };
    check_regexp(&regexp, block.sink());
    regexp.value
}

fn check_path(query: &RawKv, given: bool, block: &Block<'_>) {
    match &query.path {
        Some(path) => {
            if let Err(message) = checks::path(&path.value, "consul-kv") {
                block.sink().error(&path.place, message);
            }
        }
        None if !given => block.missing(checks::missing_path("consul-kv")),
        None => {}
    }
}

fn decode_cron(block: &mut Block<'_>, now: DateTime<Utc>) -> String {
    let given = block.has("cron");
    let Some(cron) = block.take("cron", coerce::text) else {
        if !given {
            block.missing("`cron` is required in a `schedule` condition");
        }
        return String::new();
    };
    if let Err(message) = checks::cron(&cron.value, now) {
        block.sink().error(&cron.place, message);
    }
    cron.value
}

/// `use_as_module_input`, or what it was called before.
fn decode_use(block: &mut Block<'_>, deprecated: &mut Vec<DeprecatedKeyUse>) -> Option<bool> {
    let flag = block.flag("use_as_module_input");
    let predecessor = block.take("source_includes_var", coerce::flag);
    if let Some(predecessor) = &predecessor {
        deprecated.push(DeprecatedKeyUse {
            key: "source_includes_var",
            replacement: "`use_as_module_input`",
            place: predecessor.place.clone(),
            overruled: flag.is_some(),
        });
    }
    flag.or(predecessor.map(|predecessor| predecessor.value))
}
