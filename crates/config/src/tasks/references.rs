//! The blocks that tasks refer to: providers (`docs/configuration.md#terraform_provider`) and webhooks.

use std::collections::HashMap;

use cts_core::{ProviderBlock, ProviderId};
use serde_json::Value;

use crate::blocks::webhook::WebhookConfig;
use crate::report::location::SourceLocation;
use crate::report::original::ProblemKind;
use crate::report::sink::Sink;
use crate::report::suggestion::suggestion;
use crate::tasks::decoder::DecodedTask;

/// Provider blocks by what selects them: the same as [`ProviderBlock::select`], for many references.
struct Selection<'b> {
    first: HashMap<&'b str, &'b ProviderBlock>,
    with_alias: HashMap<(&'b str, &'b str), &'b ProviderBlock>,
}

impl<'b> Selection<'b> {
    fn new(blocks: &'b [ProviderBlock]) -> Self {
        let mut first = HashMap::new();
        let mut with_alias = HashMap::new();
        for block in blocks {
            let name = block.name.as_str();
            first.entry(name).or_insert(block);
            if let Some(alias) = &block.alias {
                with_alias.entry((name, alias.as_str())).or_insert(block);
            }
        }
        Self { first, with_alias }
    }

    fn select(&self, id: &ProviderId) -> Option<&'b ProviderBlock> {
        let name = id.name.as_str();
        match &id.alias {
            None => self.first.get(name).copied(),
            Some(alias) => self.with_alias.get(&(name, alias.as_str())).copied(),
        }
    }
}

/// Reports references that the original passes over in silence and that give the task an empty provider
/// (`docs/configuration.md#terraform_provider`). Where no provider is configured at all, others may know them.
pub(crate) fn warn_of_unknown_providers(
    tasks: &[DecodedTask],
    providers: &[ProviderBlock],
    sink: &Sink,
) {
    /// Each compares with the ids of all blocks, so their number is limited.
    const MOST_SUGGESTIONS: usize = 20;
    if providers.is_empty() {
        return;
    }
    let selection = Selection::new(providers);
    let mut unknown = 0;
    let known: Vec<String> = providers
        .iter()
        .map(|block| block.id().to_string())
        .collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    for id in tasks.iter().flat_map(|task| &task.providers) {
        if selection.select(&id.value).is_none() {
            unknown += 1;
            let written = id.value.to_string();
            let mut message = format!(
                "no `terraform_provider` block is `{written}`: the task gets this provider without any argument"
            );
            if unknown <= MOST_SUGGESTIONS
                && let Some(meant) = suggestion(&written, &known)
            {
                message = format!("{message}; {meant}");
            }
            sink.warning(&id.place, message);
        }
    }
}

/// A provider block that commits by itself may be used by one task only (`docs/configuration.md#terraform_provider`).
pub(crate) fn refuse_shared_commits(
    tasks: &[DecodedTask],
    providers: &[ProviderBlock],
    sink: &Sink,
) {
    let selection = Selection::new(providers);
    let mut used: HashMap<ProviderId, &SourceLocation> = HashMap::new();
    for id in tasks.iter().flat_map(|task| &task.providers) {
        let Some(block) = selection.select(&id.value) else {
            continue;
        };
        if block.arguments.get("auto_commit") != Some(&Value::Bool(true)) {
            continue;
        }
        let block_id = block.id();
        match used.get(&block_id) {
            Some(first) => {
                let message = format!(
                    "provider `{block_id}` has `auto_commit` and may be used by one task only"
                );
                let help = format!("another task uses it at {}", first.describe());
                sink.error_with_help(&id.place, message, Some(help));
                sink.classify(ProblemKind::SharedCommits(block_id.to_string()));
            }
            None => {
                used.insert(block_id, &id.place);
            }
        }
    }
}

/// Tasks name webhooks that exist. In a cluster the workers check this, whose files differ: a name that is
/// not among the webhooks here is only doubtful.
pub(crate) fn check_webhooks(
    tasks: &[DecodedTask],
    webhooks: &[WebhookConfig],
    in_cluster: bool,
    sink: &Sink,
) {
    let known: Vec<&str> = webhooks.iter().map(|known| known.name.as_str()).collect();
    for name in tasks.iter().flat_map(|task| &task.webhooks) {
        if known.contains(&name.value.as_str()) || (in_cluster && known.is_empty()) {
            continue;
        }
        let message = format!("no `webhook` block is called {:?}", name.value);
        if in_cluster {
            sink.warning(&name.place, message);
        } else {
            sink.error_with_help(&name.place, message, suggestion(&name.value, &known));
        }
    }
}
