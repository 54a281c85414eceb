//! The handlers of a task, one after the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use cts_core::{Clock, FAKE_SYNC, ProviderBlock, ProviderId, TaskName};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

use crate::error::{HandlerError, HandlersError, PrepareError};
use crate::fake::{Fake, Passed};
use crate::pace::Pace;
use crate::panos::{PANOS, Panos};
use crate::payload::AppliedRun;
use crate::webhook::{Webhook, WebhookSettings};

/// State that all chains of a process share.
#[derive(Debug, Clone)]
pub struct Handlers {
    pace: Pace,
    clock: Arc<dyn Clock>,
    passed: Arc<Passed>,
}

/// The settings from which the handlers of a task are made, with all dynamic values resolved.
#[derive(Debug, Clone)]
pub struct HandlerRequest {
    pub task: TaskName,
    /// Its providers in their order, with the blocks that they select.
    pub providers: Vec<(ProviderId, Option<ProviderBlock>)>,
    /// The webhooks that the task names, in their order.
    pub names: Vec<String>,
    /// The settings of those webhooks that the worker has.
    pub webhooks: Vec<WebhookSettings>,
    /// The environment that a provider of this task has in its Terraform process.
    pub environment: BTreeMap<String, String>,
}

/// The handlers of one task for one attempt.
#[derive(Debug)]
pub struct HandlerChain {
    handlers: Vec<Handler>,
    of_providers: usize,
    secrets: Vec<SecretString>,
    pace: Pace,
    clock: Arc<dyn Clock>,
}

#[derive(Debug)]
enum Handler {
    Panos(Panos),
    Fake(Fake),
    Webhook(Webhook),
}

impl Handlers {
    /// Handlers with the pauses of `pace`.
    pub fn new(pace: Pace, clock: Arc<dyn Clock>) -> Self {
        Self {
            pace,
            clock,
            passed: Arc::default(),
        }
    }

    /// The present moment, by the clock that messages are dated with.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// The chain of a task: its providers, the last one first, then its webhooks. Reads files, blocking.
    pub fn prepare(&self, request: &HandlerRequest) -> Result<HandlerChain, PrepareError> {
        let task = request.task.as_str();
        let mut chain = HandlerChain {
            handlers: Vec::new(),
            of_providers: 0,
            secrets: Vec::new(),
            pace: self.pace,
            clock: Arc::clone(&self.clock),
        };
        for (id, block) in request.providers.iter().rev() {
            let block = block.as_ref();
            if id.name == FAKE_SYNC {
                tracing::debug!(target: "handler.fake", task_name = task, "creating handler");
                let fake = Fake::new(task, block, &self.passed)?;
                chain.handlers.push(Handler::Fake(fake));
            } else if id.name == PANOS
                && let Some(block) = block.filter(|block| Panos::is_wanted(block))
            {
                tracing::debug!(target: "handler.panos", task_name = task, "creating handler");
                let panos = Panos::new(task, block, &request.environment)?;
                chain.secrets.extend(panos.secrets());
                chain.handlers.push(Handler::Panos(panos));
            }
        }
        chain.of_providers = chain.handlers.len();
        for name in &request.names {
            let known = request
                .webhooks
                .iter()
                .find(|webhook| webhook.name == *name);
            let unknown = || PrepareError::UnknownWebhook { name: name.clone() };
            let webhook = Webhook::new(known.ok_or_else(unknown)?.clone());
            let webhook = webhook.map_err(|source| PrepareError::Webhook {
                name: name.clone(),
                source: Box::new(source),
            })?;
            chain.secrets.extend(webhook.secrets());
            chain.handlers.push(Handler::Webhook(webhook));
        }
        Ok(chain)
    }
}

impl HandlerChain {
    /// Passwords, keys and URLs of the handlers, which no output may show.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().map(ExposeSecret::expose_secret)
    }

    /// Number of the handlers that providers of the task have.
    pub const fn of_providers(&self) -> usize {
        self.of_providers
    }

    /// Whether nothing follows an apply.
    pub fn is_empty(&self) -> bool {
        self.handlers.is_empty()
    }

    /// Runs every handler, also after an earlier handler has failed. Dropping the future stops it at once;
    /// changes that a firewall has, and messages that a receiver has, by then stay.
    pub async fn run(&self, applied: &AppliedRun) -> Result<(), HandlersError> {
        let mut errors = Vec::new();
        let limit = self.pace.longest;
        for handler in &self.handlers {
            let running = handler.run(applied, self.pace, self.clock.as_ref());
            let result = timeout(limit, running).await;
            let slow = |_elapsed| {
                let what = handler.describe();
                Err(HandlerError::Slow { what, limit })
            };
            errors.extend(result.unwrap_or_else(slow).err());
        }
        if errors.is_empty() {
            return Ok(());
        }
        Err(HandlersError(errors))
    }
}

impl Handler {
    async fn run(
        &self,
        applied: &AppliedRun,
        pace: Pace,
        clock: &dyn Clock,
    ) -> Result<(), HandlerError> {
        match self {
            Self::Panos(panos) => Ok(panos.commit(pace).await?),
            Self::Fake(fake) => fake.run(),
            Self::Webhook(webhook) => {
                let delivered = webhook.deliver(applied, pace, clock).await;
                delivered.map_err(|source| HandlerError::Webhook {
                    name: webhook.name().to_owned(),
                    source: Box::new(source),
                })
            }
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Panos(_) => format!("the commit of provider {PANOS:?}"),
            Self::Fake(_) => format!("provider {FAKE_SYNC:?}"),
            Self::Webhook(webhook) => format!("webhook {:?}", webhook.name()),
        }
    }
}
