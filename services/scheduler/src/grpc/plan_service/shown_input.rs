//! The input of a run as data, compared with the input that was applied before (docs/runs.md#the-input-of-a-run).

use std::collections::{BTreeMap, BTreeSet};

use cts_core::callers::INPUTS_HIDDEN;
use cts_core::hidden::{self, HIDDEN, shown_expression};
use cts_core::runs::{RunKind, RunStatus};
use cts_core::{RunId, RunInput, task_changes};
use cts_proto::run::v1::planned_value::Value as Shown;
use cts_proto::run::v1::{InputBasis, InputData, InputItem, PlannedValue};
use cts_rpc::PLAN_BYTES;
use cts_store::{RunFilter, RunRecord, Store, StoreError};
use prost::Message as _;
use serde_json::{Value, json};

use crate::explain::{has_all_applies, input};

/// Number of runs that are searched for the one that applied before.
const RUNS: u32 = 100;

/// The input of a run, with or without values; `None` if the run does not exist, or its input cannot be read.
pub(super) async fn shown_input(
    store: &dyn Store,
    run: RunId,
    hides: bool,
) -> Result<Option<InputData>, StoreError> {
    let Some(run) = store.run(run).await? else {
        return Ok(None);
    };
    let Some(own) = input(store, run.input).await? else {
        return Ok(None);
    };
    let (basis, applied) = applied_before(store, &run).await?;
    let mut data = InputData {
        task_name: run.task.to_string(),
        basis: basis.into(),
        ..InputData::default()
    };
    let mut before = None;
    if let Some(applied) = applied
        && let Some(input) = input(store, applied.input).await?
    {
        data.set_basis(InputBasis::Applied);
        data.compared_with = applied.id.to_string();
        data.notes = task_changes(&input, &own);
        before = Some(input);
    }
    data.items = items(&own, before.as_ref(), hides);
    if hides {
        INPUTS_HIDDEN.clone_into(&mut data.values_hidden);
    } else if data.encoded_len() > PLAN_BYTES {
        "the input has more than 16 MiB".clone_into(&mut data.values_hidden);
        data.items = items(&own, before.as_ref(), true);
    }
    Ok(Some(data))
}

/// The newest run before this run that applied its task, and the basis without its input.
async fn applied_before(
    store: &dyn Store,
    run: &RunRecord,
) -> Result<(InputBasis, Option<RunRecord>), StoreError> {
    let filter = RunFilter {
        task: Some(run.task.clone()),
        status: Some(RunStatus::Succeeded),
        after: Some(run.id),
        limit: RUNS,
        ..RunFilter::default()
    };
    let mut older = store.runs(&filter).await?.into_iter();
    match older.find(|run| matches!(run.kind, RunKind::Apply | RunKind::Destroy)) {
        Some(applied) if applied.kind == RunKind::Apply => {
            return Ok((InputBasis::NotKept, Some(applied)));
        }
        Some(_destroyed) => return Ok((InputBasis::None, None)),
        None => {}
    }
    if has_all_applies(store, &run.task).await? {
        return Ok((InputBasis::None, None));
    }
    Ok((InputBasis::NotKept, None))
}

fn items(own: &RunInput, before: Option<&RunInput>, hides: bool) -> Vec<InputItem> {
    let (is_compared, lacks_views) = (before.is_some(), own.lacks_views);
    let (own, mut before) = (values(own), before.map(values).unwrap_or_default());
    // A disabled task is checked without data.
    before.retain(|(list, _), _| !lacks_views || *list == "variables");
    let keys: BTreeSet<_> = own.keys().chain(before.keys()).collect();
    let items = keys.into_iter().map(|key| {
        let (list, name) = key;
        let (value, before) = (own.get(key), before.get(key));
        let changed = is_compared && value != before;
        let shown = |value| shown(list, name, value, hides);
        let service = value.or(before).filter(|_| *list == "services");
        let service = service.and_then(|value| value["name"].as_str());
        InputItem {
            list: (*list).to_owned(),
            name: name.clone(),
            service: service.unwrap_or_default().to_owned(),
            value: value.map(shown),
            changed,
            before: before.filter(|_| changed).map(shown),
        }
    });
    items.collect()
}

/// The values of an input, by list and name.
fn values(input: &RunInput) -> BTreeMap<(&'static str, String), Value> {
    let instances = input.services.iter().map(|instance| {
        let mut value = json!(**instance);
        for labels in ["meta", "node_tagged_addresses", "node_meta"] {
            // Stored as a list if they are empty.
            if value[labels].is_array() {
                value[labels] = json!({});
            }
        }
        (("services", instance.module_key()), value)
    });
    let catalog = input.catalog_services.iter();
    let catalog = catalog.map(|it| (("catalog_services", it.name.clone()), json!(it.tags)));
    let keys = input.consul_kv.iter();
    let keys = keys.map(|it| (("consul_kv", it.key.clone()), json!(it.value)));
    let variables = input.definition.variables.iter();
    let variables = variables.map(|(name, value)| (("variables", name.clone()), value.clone()));
    let values = instances.chain(catalog).chain(keys).chain(variables);
    values.collect()
}

/// A value without secrets. A key or a variable with a secret in any part is hidden as a whole, as in task objects.
fn shown(list: &str, name: &str, value: &Value, hides: bool) -> PlannedValue {
    let is_named = matches!(list, "consul_kv" | "variables");
    let hides = hides || is_named && shown_expression(name, &value.to_string()) == HIDDEN;
    let shown = || hidden::shown(if is_named { name } else { list }, value).to_string();
    let shown = (!hides)
        .then(shown)
        .map_or(Shown::Hidden(true), Shown::Json);
    PlannedValue {
        value: Some(shown),
        hash: Vec::new(),
    }
}
