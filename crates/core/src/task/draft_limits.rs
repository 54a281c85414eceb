//! Limits of the texts of declared tasks, which are passed to Consul, Terraform and the database
//! (docs/rest.md#limits-of-texts).

use std::collections::BTreeMap;

use crate::task::draft::TaskDraft;
use crate::view::condition::{Condition, KvQuery, ModuleInput, ServicesQuery};
use crate::view::filter::{FilterLimits, InvalidFilter};

/// Names and identifiers: the limits of a file name and of a database index.
const NAME: usize = 255;

/// Names of services, expressions and schedules.
const SHORT: usize = 1 << 10;

/// Paths, sources and regular expressions.
const LONG: usize = 4 << 10;

/// Descriptions, and all user-defined meta data of a query, which is copied into every instance.
const TEXT: usize = 16 << 10;

/// Providers of a task.
const PROVIDERS: usize = 64;

/// Pairs of node meta data: Consul allows no more pairs and no longer texts.
const META_PAIRS: usize = 64;
const META_KEY: usize = 128;
const META_VALUE: usize = 512;

/// A text of a declared task cannot be passed on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidText {
    /// A text is too long.
    #[error("`{member}` has {bytes} bytes, more than {limit}")]
    TooLong {
        /// The member of the task object.
        member: &'static str,
        /// Length of the text.
        bytes: usize,
        /// Maximum length.
        limit: usize,
    },
    /// A list or an object has too many members.
    #[error("`{member}` has {count} entries, more than {limit}")]
    TooMany {
        /// The member of the task object.
        member: &'static str,
        /// Number of its entries.
        count: usize,
        /// Maximum number of entries.
        limit: usize,
    },
    /// A text has the character U+0000, which neither Terraform nor the database takes.
    #[error("`{member}` has the character U+0000")]
    Nul {
        /// The member of the task object.
        member: &'static str,
    },
    /// A filter would keep Consul busy, or is invalid.
    #[error("`filter` cannot be sent to Consul: {0}")]
    Filter(InvalidFilter),
}

impl TaskDraft {
    /// Checks that each text may be passed on, independent of its meaning. Values of variables have separate limits,
    /// as expressions.
    pub fn check_texts(&self) -> Result<(), InvalidText> {
        within("name", &self.name, NAME)?;
        within("description", &self.description, TEXT)?;
        within("module", &self.module, LONG)?;
        within("version", &self.version, SHORT)?;
        within("terraform_version", &self.terraform_version, NAME)?;
        at_most("providers", self.providers.len(), PROVIDERS)?;
        all_within("providers", &self.providers, NAME)?;
        all_within("outputs", &self.outputs, NAME)?;
        all_within("variables", self.variables.keys(), NAME)?;
        let mut values = self.variables.values();
        values.try_for_each(|value| no_nul("variables", value))?;
        if let Some(workspace) = &self.workspace {
            let texts = [
                &workspace.execution_mode,
                &workspace.agent_pool_id,
                &workspace.agent_pool_name,
                &workspace.terraform_version,
            ];
            all_within("terraform_cloud_workspace", texts, NAME)?;
        }
        match &self.condition {
            Condition::NoCondition => {}
            Condition::Services(services) => check_services(&services.query)?,
            Condition::CatalogServices(catalog) => {
                within("regexp", &catalog.regexp, LONG)?;
                check_place(&catalog.datacenter, &catalog.namespace)?;
                check_node_meta(&catalog.node_meta)?;
            }
            Condition::ConsulKv(kv) => check_keys(&kv.query)?,
            Condition::Schedule(schedule) => within("cron", &schedule.cron, SHORT)?,
        }
        self.module_inputs.iter().try_for_each(|input| match input {
            ModuleInput::Services(services) => check_services(services),
            ModuleInput::ConsulKv(keys) => check_keys(keys),
        })
    }
}

fn check_services(query: &ServicesQuery) -> Result<(), InvalidText> {
    all_within("names", &query.names, SHORT)?;
    within("regexp", query.regexp.as_deref().unwrap_or_default(), LONG)?;
    check_place(&query.datacenter, &query.namespace)?;
    let mut meta = query.cts_user_defined_meta.iter();
    let has_nul = meta.any(|(key, value)| key.contains('\0') || value.contains('\0'));
    if has_nul {
        let member = "cts_user_defined_meta";
        return Err(InvalidText::Nul { member });
    }
    let meta = query.cts_user_defined_meta.iter();
    let bytes = meta.map(|(key, value)| key.len() + value.len()).sum();
    no_more("cts_user_defined_meta", bytes, TEXT)?;
    no_nul("filter", &query.filter)?;
    let filter = FilterLimits::REQUEST.check(&query.filter);
    filter.map_err(InvalidText::Filter)
}

fn check_keys(query: &KvQuery) -> Result<(), InvalidText> {
    within("path", &query.path, LONG)?;
    check_place(&query.datacenter, &query.namespace)
}

fn check_place(datacenter: &str, namespace: &str) -> Result<(), InvalidText> {
    within("datacenter", datacenter, NAME)?;
    within("namespace", namespace, NAME)
}

fn check_node_meta(pairs: &BTreeMap<String, String>) -> Result<(), InvalidText> {
    at_most("node_meta", pairs.len(), META_PAIRS)?;
    all_within("node_meta", pairs.keys(), META_KEY)?;
    all_within("node_meta", pairs.values(), META_VALUE)
}

fn all_within<'a>(
    member: &'static str,
    texts: impl IntoIterator<Item = &'a String>,
    limit: usize,
) -> Result<(), InvalidText> {
    let mut texts = texts.into_iter();
    texts.try_for_each(|text| within(member, text, limit))
}

fn within(member: &'static str, text: &str, limit: usize) -> Result<(), InvalidText> {
    no_nul(member, text)?;
    no_more(member, text.len(), limit)
}

fn no_nul(member: &'static str, text: &str) -> Result<(), InvalidText> {
    if text.contains('\0') {
        return Err(InvalidText::Nul { member });
    }
    Ok(())
}

fn no_more(member: &'static str, bytes: usize, limit: usize) -> Result<(), InvalidText> {
    if bytes > limit {
        return Err(InvalidText::TooLong {
            member,
            bytes,
            limit,
        });
    }
    Ok(())
}

fn at_most(member: &'static str, count: usize, limit: usize) -> Result<(), InvalidText> {
    if count > limit {
        return Err(InvalidText::TooMany {
            member,
            count,
            limit,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::draft::DraftWorkspace;
    use crate::view::condition::{
        CatalogServicesCondition, ConsulKvCondition, ScheduleCondition, ServicesCondition,
    };

    fn services(query: ServicesQuery) -> Condition {
        Condition::Services(ServicesCondition {
            query,
            use_as_module_input: true,
        })
    }

    /// The member, and a function that gives a draft a text of the maximum length, or the maximum number of entries,
    /// there.
    type Longest = (&'static str, usize, fn(&mut TaskDraft, String));

    fn catalog(draft: &mut TaskDraft) -> &mut CatalogServicesCondition {
        if !matches!(draft.condition, Condition::CatalogServices(_)) {
            draft.condition = Condition::CatalogServices(CatalogServicesCondition {
                regexp: String::new(),
                datacenter: String::new(),
                namespace: String::new(),
                node_meta: BTreeMap::new(),
                use_as_module_input: true,
            });
        }
        match &mut draft.condition {
            Condition::CatalogServices(catalog) => catalog,
            _ => unreachable!("it was set"),
        }
    }

    const TEXTS: [Longest; 21] = [
        ("name", 255, |draft, text| draft.name = text),
        ("description", 16384, |draft, text| draft.description = text),
        ("module", 4096, |draft, text| draft.module = text),
        ("version", 1024, |draft, text| draft.version = text),
        ("terraform_version", 255, |draft, text| {
            draft.terraform_version = text;
        }),
        ("providers", 255, |draft, text| draft.providers = vec![text]),
        ("outputs", 255, |draft, text| draft.outputs = vec![text]),
        ("variables", 255, |draft, text| {
            draft.variables = BTreeMap::from([(text, "1".repeat(1 << 19))]);
        }),
        ("terraform_cloud_workspace", 255, |draft, text| {
            draft.workspace = Some(DraftWorkspace {
                agent_pool_name: text,
                ..DraftWorkspace::default()
            });
        }),
        ("names", 1024, |draft, text| {
            draft.condition = services(ServicesQuery {
                names: vec!["a".into(), text],
                ..ServicesQuery::default()
            });
        }),
        ("regexp", 4096, |draft, text| {
            draft.condition = services(ServicesQuery {
                regexp: Some(text),
                ..ServicesQuery::default()
            });
        }),
        ("datacenter", 255, |draft, text| {
            draft.condition = services(ServicesQuery {
                datacenter: text,
                ..ServicesQuery::default()
            });
        }),
        ("namespace", 255, |draft, text| {
            draft.module_inputs = vec![ModuleInput::Services(ServicesQuery {
                namespace: text,
                ..ServicesQuery::default()
            })];
        }),
        ("cts_user_defined_meta", 16384, |draft, text| {
            draft.condition = services(ServicesQuery {
                cts_user_defined_meta: BTreeMap::from([(String::new(), text)]),
                ..ServicesQuery::default()
            });
        }),
        ("regexp", 4096, |draft, text| catalog(draft).regexp = text),
        ("datacenter", 255, |draft, text| {
            catalog(draft).datacenter = text;
        }),
        ("node_meta", 128, |draft, text| {
            catalog(draft).node_meta = BTreeMap::from([(text, "v".repeat(512))]);
        }),
        ("node_meta", 512, |draft, text| {
            catalog(draft).node_meta = BTreeMap::from([("k".repeat(128), text)]);
        }),
        ("path", 4096, |draft, text| {
            draft.condition = Condition::ConsulKv(ConsulKvCondition {
                query: KvQuery {
                    path: text,
                    ..KvQuery::default()
                },
                use_as_module_input: true,
            });
        }),
        ("namespace", 255, |draft, text| {
            draft.module_inputs = vec![ModuleInput::ConsulKv(KvQuery {
                namespace: text,
                ..KvQuery::default()
            })];
        }),
        ("cron", 1024, |draft, text| {
            draft.condition = Condition::Schedule(ScheduleCondition { cron: text });
        }),
    ];

    #[test]
    fn each_text_passes_at_its_limit_and_not_beyond() {
        for (member, limit, set) in TEXTS {
            let mut draft = TaskDraft::default();
            set(&mut draft, "x".repeat(limit));
            assert_eq!(draft.check_texts(), Ok(()), "{member}");
            set(&mut draft, "x".repeat(limit + 1));
            let expected = InvalidText::TooLong {
                member,
                bytes: limit + 1,
                limit,
            };
            assert_eq!(draft.check_texts(), Err(expected));
            set(&mut draft, "x\0".to_owned());
            assert_eq!(draft.check_texts(), Err(InvalidText::Nul { member }));
        }
    }

    #[test]
    fn lists_are_limited_too() {
        let many = |count: usize| (0..count).map(|number| number.to_string());
        let mut draft = TaskDraft {
            providers: many(64).collect(),
            ..TaskDraft::default()
        };
        catalog(&mut draft).node_meta = many(64).map(|key| (key, String::new())).collect();
        assert_eq!(draft.check_texts(), Ok(()));
        catalog(&mut draft).node_meta = many(65).map(|key| (key, String::new())).collect();
        let error = draft.check_texts().unwrap_err().to_string();
        assert_eq!(error, "`node_meta` has 65 entries, more than 64");
        draft.providers = many(65).collect();
        let error = draft.check_texts().unwrap_err().to_string();
        assert_eq!(error, "`providers` has 65 entries, more than 64");
    }

    #[test]
    fn filters_of_conditions_and_inputs_are_checked() {
        let query = ServicesQuery {
            filter: "((((((((((".into(),
            ..ServicesQuery::default()
        };
        let condition = TaskDraft {
            condition: services(query.clone()),
            ..TaskDraft::default()
        };
        let input = TaskDraft {
            module_inputs: vec![ModuleInput::Services(query)],
            ..TaskDraft::default()
        };
        for draft in [condition, input] {
            let error = draft.check_texts().unwrap_err().to_string();
            assert_eq!(
                error,
                "`filter` cannot be sent to Consul: more than 5 parentheses are open at character 6"
            );
        }
    }
}
