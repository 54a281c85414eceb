//! Dynamic values of provider blocks and webhooks, resolved for each run (docs/configuration.md#dynamic-values).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cts_consul::{ConsulClient, ConsulError, Query};
use cts_core::{Item, KvQuery, ProviderBlock, TaskDefinition};
use cts_handlers::WebhookSettings;
use cts_template::{
    Evaluation, Found, KeyPath, Recognised, Source, Template, TemplateError, recognise,
};
use cts_terraform::RenderSettings;
use cts_vault::{Vault, VaultError};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::time::timeout;

/// Longest time for one value.
const LONGEST: Duration = Duration::from_secs(30);

/// Most sources that one template may read, in sequence.
const MOST_SOURCES: usize = 1000;

/// Sources of dynamic values.
#[derive(Clone)]
pub struct ValueSources {
    /// The environment of cts.
    pub environment: BTreeMap<String, String>,
    /// Consul, for keys.
    pub consul: ConsulClient,
    /// Vault, if it is configured.
    pub vault: Option<Vault>,
}

impl fmt::Debug for ValueSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueSources")
            .field("vault", &self.vault.is_some())
            .finish_non_exhaustive()
    }
}

/// A value of a provider block is not available.
#[derive(Debug, thiserror::Error)]
#[error("`{argument}` of {block} has no value")]
pub(crate) struct ValueError {
    block: String,
    argument: String,
    #[source]
    cause: Cause,
}

impl ValueError {
    /// Whether Consul or Vault is at fault, not the template.
    pub(crate) const fn is_of_source(&self) -> bool {
        !matches!(self.cause, Cause::Template(_))
    }
}

/// Reason of the failure. No text has a value in it.
#[derive(Debug, thiserror::Error)]
enum Cause {
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("{source_name} cannot be read")]
    Consul {
        source_name: Source,
        #[source]
        error: Box<ConsulError>,
    },
    #[error("{source_name} cannot be read")]
    Vault {
        source_name: Source,
        #[source]
        error: Box<VaultError>,
    },
    #[error("{0} cannot be read: Vault is not configured")]
    NoVault(Source),
    #[error("Consul and Vault have not answered within {} s", LONGEST.as_secs())]
    Slow,
    #[error("it reads too much")]
    TooMuch,
}

/// The settings of one run.
pub(crate) struct Resolved {
    pub(crate) settings: Arc<RenderSettings>,
    /// The settings of the webhooks that the task names.
    pub(crate) webhooks: Vec<WebhookSettings>,
    /// All texts and longer numbers from which values were made.
    pub(crate) answers: Vec<String>,
}

/// Resolves the values of the providers and of those `webhooks` that the task names. The settings stay the
/// same if no provider of the task is dynamic.
pub(crate) async fn resolve(
    settings: &Arc<RenderSettings>,
    webhooks: &[WebhookSettings],
    definition: &TaskDefinition,
    sources: &ValueSources,
) -> Result<Resolved, ValueError> {
    let mut run = Resolution {
        sources,
        found: BTreeMap::new(),
    };
    let mut resolved = None;
    for id in &definition.providers {
        let Some(block) = ProviderBlock::select(&settings.providers, id) else {
            continue;
        };
        if !has_text(block, is_template) {
            continue;
        }
        let block = run.block(block).await?;
        let settings = resolved.get_or_insert_with(|| RenderSettings::clone(settings));
        let mut known = settings.providers.iter_mut();
        if let Some(known) = known.find(|known| known.id() == block.id()) {
            *known = block;
        }
    }
    let mut named = Vec::new();
    for webhook in webhooks {
        if definition.file_definition.webhooks.contains(&webhook.name) {
            named.push(run.webhook(webhook).await?);
        }
    }
    let mut answers = Vec::new();
    for found in run.found.values() {
        match found {
            Found::Nothing => {}
            Found::Text(text) => answers.push(text.clone()),
            Found::Pairs(pairs) => answers.extend(pairs.iter().map(|(_name, text)| text.clone())),
            Found::Secret(answer) => secrets_of(answer, &mut answers),
        }
    }
    Ok(Resolved {
        settings: resolved.map_or_else(|| Arc::clone(settings), Arc::new),
        webhooks: named,
        answers,
    })
}

/// The value of a template outside of provider blocks.
pub(crate) async fn resolve_text(
    sources: &ValueSources,
    block: &str,
    argument: &str,
    template: &str,
) -> Result<String, ValueError> {
    let mut resolution = Resolution {
        sources,
        found: BTreeMap::new(),
    };
    let mut text = template.to_owned();
    let resolved = resolution.replace(block, argument.to_owned(), &mut text);
    resolved.await.map(|()| text)
}

pub(crate) fn texts_of<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| texts_of(value, texts)),
        Value::Object(members) => members.values().for_each(|value| texts_of(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// All texts in a value, and its numbers; short numbers are not secrets.
pub(crate) fn secrets_of(value: &Value, secrets: &mut Vec<String>) {
    match value {
        Value::String(text) => secrets.push(text.clone()),
        Value::Number(number) => secrets.push(number.to_string()),
        Value::Array(values) => values.iter().for_each(|value| secrets_of(value, secrets)),
        Value::Object(members) => members
            .values()
            .for_each(|value| secrets_of(value, secrets)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Whether any of `blocks` or `webhooks`, or the token of a driver, may read from Vault.
pub fn reads_secrets(
    blocks: &[ProviderBlock],
    webhooks: &[WebhookSettings],
    token: Option<&SecretString>,
) -> bool {
    let reads = |text: &str| is_template(text) && text.contains("secret");
    let of_webhooks = |webhook: &WebhookSettings| {
        let texts = [Some(&webhook.url), webhook.secret.as_ref()];
        let mut texts = texts.into_iter().flatten();
        texts.any(|text| reads(text.expose_secret()))
    };
    blocks.iter().any(|block| has_text(block, reads))
        || webhooks.iter().any(of_webhooks)
        || token.is_some_and(|token| reads(token.expose_secret()))
}

fn has_text(block: &ProviderBlock, is_meant: fn(&str) -> bool) -> bool {
    let mut arguments = block.arguments.values();
    let mut environment = block.task_env.values();
    arguments.any(|value| holds(value, is_meant)) || environment.any(|text| is_meant(text))
}

fn holds(value: &Value, is_meant: fn(&str) -> bool) -> bool {
    let mut texts = Vec::new();
    texts_of(value, &mut texts);
    texts.into_iter().any(is_meant)
}

pub(crate) fn is_template(text: &str) -> bool {
    matches!(recognise(text), Some(Recognised::Template { .. }))
}

/// The values of one run; each source is read once.
struct Resolution<'a> {
    sources: &'a ValueSources,
    found: BTreeMap<Source, Found>,
}

impl Resolution<'_> {
    async fn block(&mut self, block: &ProviderBlock) -> Result<ProviderBlock, ValueError> {
        let mut resolved = block.clone();
        let arguments = resolved.arguments.iter_mut();
        let mut texts = Vec::new();
        for (name, value) in arguments {
            collect(name.clone(), value, &mut texts);
        }
        for (name, text) in &mut resolved.task_env {
            texts.push((format!("task_env.{name}"), text));
        }
        let named = format!("terraform_provider \"{}\"", block.id());
        for (argument, text) in texts {
            self.replace(&named, argument, text).await?;
        }
        Ok(resolved)
    }

    async fn webhook(&mut self, webhook: &WebhookSettings) -> Result<WebhookSettings, ValueError> {
        let mut resolved = webhook.clone();
        let named = format!("webhook {:?}", webhook.name);
        let secret = resolved.secret.as_mut().map(|secret| ("secret", secret));
        for (argument, value) in [("url", &mut resolved.url)].into_iter().chain(secret) {
            let mut text = value.expose_secret().to_owned();
            self.replace(&named, argument.to_owned(), &mut text).await?;
            *value = SecretString::from(text);
        }
        Ok(resolved)
    }

    /// Replaces a template by its value; any other text stays.
    async fn replace(
        &mut self,
        block: &str,
        argument: String,
        text: &mut String,
    ) -> Result<(), ValueError> {
        if !is_template(text) {
            return Ok(());
        }
        let evaluated = timeout(LONGEST, self.evaluate(text)).await;
        let evaluated = evaluated.unwrap_or(Err(Cause::Slow));
        *text = evaluated.map_err(|cause| ValueError {
            block: block.to_owned(),
            argument,
            cause,
        })?;
        Ok(())
    }

    async fn evaluate(&mut self, text: &str) -> Result<String, Cause> {
        let template = Template::new(text)?;
        for _ in 0..MOST_SOURCES {
            match template.evaluate(&self.found)? {
                Evaluation::Done(text) => return Ok(text),
                Evaluation::Needs(sources) => {
                    for source in sources {
                        let found = self.sources.read(&source).await?;
                        self.found.insert(source, found);
                    }
                }
            }
        }
        Err(Cause::TooMuch)
    }
}

/// All texts in a value, with the path to each.
fn collect<'v>(way: String, value: &'v mut Value, texts: &mut Vec<(String, &'v mut String)>) {
    match value {
        Value::String(text) => texts.push((way, text)),
        Value::Array(values) => {
            for (index, value) in values.iter_mut().enumerate() {
                collect(format!("{way}[{index}]"), value, texts);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                collect(format!("{way}.{name}"), value, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl ValueSources {
    async fn read(&self, source: &Source) -> Result<Found, Cause> {
        Ok(match source {
            Source::Environment(name) => match self.environment.get(name) {
                Some(value) => Found::Text(value.clone()),
                None => Found::Nothing,
            },
            Source::Key(path) => match self.keys(source, path, false).await?.pop() {
                Some((_key, value)) => Found::Text(value),
                None => Found::Nothing,
            },
            Source::Tree(path) => Found::Pairs(self.keys(source, path, true).await?),
            Source::Secret(path) => {
                let secret = self.vault(source)?.read(path).await;
                let secret = secret.map_err(|error| of_vault(source, error))?;
                secret.map_or(Found::Nothing, Found::Secret)
            }
            Source::Secrets(path) => {
                let names = self.vault(source)?.list(path).await;
                let names = names.map_err(|error| of_vault(source, error))?;
                let names = names.unwrap_or_default().into_iter();
                Found::Pairs(names.map(|name| (name, String::new())).collect())
            }
        })
    }

    fn vault(&self, source: &Source) -> Result<&Vault, Cause> {
        self.vault
            .as_ref()
            .ok_or_else(|| Cause::NoVault(source.clone()))
    }

    async fn keys(
        &self,
        source: &Source,
        path: &KeyPath,
        recurse: bool,
    ) -> Result<Vec<(String, String)>, Cause> {
        let query = Query::Kv(KvQuery {
            path: path.path.clone(),
            recurse,
            datacenter: path.datacenter.clone(),
            namespace: String::new(),
        });
        let failed = |error| Cause::Consul {
            source_name: source.clone(),
            error: Box::new(error),
        };
        let answer = self.consul.read(&query, 0).await.map_err(failed)?;
        let pairs = answer.items.into_iter().filter_map(|item| match item {
            Item::Key(pair) => Some(Ok((pair.key.clone(), pair.value.clone()))),
            Item::UnreadableKey(key) => Some(Err(failed(ConsulError::UnusableValue {
                key: key.as_ref().to_owned(),
                problem: "is not text in UTF-8, or longer than 2 MiB",
            }))),
            Item::Instance(_) | Item::Service(_) => None,
        });
        pairs.collect()
    }
}

fn of_vault(source: &Source, error: VaultError) -> Cause {
    Cause::Vault {
        source_name: source.clone(),
        error: Box::new(error),
    }
}
