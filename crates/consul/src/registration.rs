//! Registering this program with the local agent, as long as it runs
//! (`docs/configuration.md#consulservice_registration`).
//!
//! Deliberate differences from the original: registration never gives up, and when the agent has lost the registration
//! (the agent was restarted, or the service was critical for too long) the service is registered again.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use cts_core::{Backoff, Pauses};
use cts_runtime::Outage;
use reqwest::Url;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use crate::client::ConsulClient;
use crate::error::ConsulError;

/// Pause between checks whether the agent still has the service.
pub const REGISTRATION_LOOK: Duration = Duration::from_secs(30);

/// Time for saying goodbye, so that an agent that is away does not hold up the end.
pub const DEREGISTRATION_LIMIT: Duration = Duration::from_secs(2);

/// Part of the program that log lines name.
const LOG_NAME: &str = "registration";

const FIRST_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The registered service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Id of the service, unique for each instance at an agent.
    pub id: String,
    /// Name of the service.
    pub name: String,
    pub tags: Vec<String>,
    /// Its address; empty for the agent's.
    pub address: String,
    pub port: u16,
    /// Namespace of the service, for Consul Enterprise; empty for the namespace of the client.
    pub namespace: String,
    /// URL of the API as the agent reaches it, for the health check; `None` registers no check.
    pub check: Option<String>,
}

impl Registration {
    /// Returns the service id in Consul: the name of the service if the registration has no id.
    pub fn known_id(&self) -> &str {
        if self.id.is_empty() {
            &self.name
        } else {
            &self.id
        }
    }

    fn body(&self) -> Value {
        let mut body = json!({
            "ID": self.id,
            "Name": self.name,
            "Tags": self.tags,
            "Port": self.port,
            "Address": self.address,
        });
        if !self.namespace.is_empty() {
            body["Namespace"] = json!(self.namespace);
        }
        if let Some(address) = &self.check {
            body["Checks"] = json!([{
                "CheckID": format!("{}-health", self.id),
                "Name": "CTS Health Status",
                "Notes": "Check created by Consul-Terraform-Sync",
                "Status": "critical",
                "HTTP": health_url(address),
                "Method": "GET",
                "Interval": "10s",
                "Timeout": "2s",
                "DeregisterCriticalServiceAfter": "30m",
                // As in the original: the agent may not know the issuer of the API's certificate.
                "TLSSkipVerify": true,
            }]);
        }
        body
    }
}

/// Returns the address with the path of the health endpoint appended to its own.
fn health_url(address: &str) -> String {
    let Ok(mut url) = address.parse::<Url>() else {
        return format!("{address}/v1/health");
    };
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(["v1", "health"]);
    }
    url.into()
}

/// Keeps `registration` at the agent until `shutdown` is over, then takes it back.
///
/// Asks the agent every `look` ([`REGISTRATION_LOOK`]) whether the service is still registered. No failure ends the
/// loop; each kind of failure is logged once.
pub async fn keep_registered(
    client: &ConsulClient,
    registration: &Registration,
    look: Duration,
    shutdown: impl Future<Output = ()>,
) {
    let first = FIRST_RETRY_DELAY.min(look);
    let mut keeper = Keeper {
        client,
        registration,
        look,
        pauses: Backoff::new(first, look)
            .with_jitter(1.0)
            .pauses(fastrand::f64),
        outage: Outage::default(),
        is_known: false,
        may_be_there: false,
    };
    let mut shutdown = pin!(shutdown);
    let limit = loop {
        let pause = {
            let mut check = pin!(keeper.check());
            tokio::select! {
                () = &mut shutdown => {
                    // Consul may carry out a request after its answer is given up, and so after the
                    // deregistration.
                    let limit = Instant::now() + DEREGISTRATION_LIMIT;
                    drop(timeout_at(limit, check).await);
                    break limit;
                }
                pause = &mut check => pause,
            }
        };
        tokio::select! {
            () = &mut shutdown => break Instant::now() + DEREGISTRATION_LIMIT,
            () = sleep(pause) => {}
        }
    };
    keeper.say_goodbye(limit).await;
}

struct Keeper<'a> {
    client: &'a ConsulClient,
    registration: &'a Registration,
    look: Duration,
    pauses: Pauses,
    outage: Outage,
    is_known: bool,
    may_be_there: bool,
}

impl Keeper<'_> {
    /// Does what is due and gives the time until the next check.
    async fn check(&mut self) -> Duration {
        let (id, namespace) = (self.registration.known_id(), &self.registration.namespace);
        if self.is_known {
            match self.client.has_service(id, namespace).await {
                Ok(true) => return self.look,
                Ok(false) => {
                    tracing::warn!(target: LOG_NAME, id, "the agent has lost the registration, registering again");
                    self.is_known = false;
                }
                Err(error) => {
                    // The registration may still exist; an agent that does not answer cannot be queried either.
                    tracing::debug!(
                        target: LOG_NAME,
                        id,
                        error = error.report(),
                        "cannot ask for the registration"
                    );
                    return self.look;
                }
            }
        }
        let name = &self.registration.name;
        if !self.outage.is_on() {
            tracing::info!(target: LOG_NAME, id, service_name = name, "registering Consul-Terraform-Sync as a service with Consul");
        }
        let earlier = std::mem::replace(&mut self.may_be_there, true);
        let outcome = self
            .client
            .register(&self.registration.body(), namespace)
            .await;
        match outcome {
            Ok(()) => {
                tracing::info!(target: LOG_NAME, id, service_name = name, "Consul-Terraform-Sync registered as a service with Consul");
                tracing::info!(target: LOG_NAME, id, service_name = name, "to view registered services, navigate to the Services section in the Consul UI");
                self.is_known = true;
                self.outage.works();
                self.pauses.reset();
                self.look
            }
            Err(error) => {
                self.complain(&error);
                if is_refusal(&error) {
                    self.may_be_there = earlier;
                    return self.look;
                }
                self.pauses.next_pause()
            }
        }
    }

    fn complain(&mut self, error: &ConsulError) {
        let (id, text) = (self.registration.known_id(), error.report());
        if !self.outage.fails_with(&text) {
            tracing::debug!(target: LOG_NAME, id, error = text, "still cannot register with consul");
            return;
        }
        let hint = match error {
            ConsulError::Status { status: 403, .. } => {
                "configure CTS with an ACL including `service:write` or disable registration in configuration"
            }
            _ => "set consul.address, or consul.service_registration.enabled = false",
        };
        tracing::error!(
            target: LOG_NAME,
            id,
            service_name = self.registration.name,
            error = text,
            hint,
            "error registering Consul-Terraform-Sync as a service with Consul"
        );
    }

    async fn say_goodbye(&self, limit: Instant) {
        if !self.may_be_there {
            return;
        }
        let id = self.registration.known_id();
        let name = &self.registration.name;
        tracing::info!(target: LOG_NAME, id, service_name = name, "deregistering Consul-Terraform-Sync from Consul");
        let leaving = self.client.deregister(id, &self.registration.namespace);
        match timeout_at(limit, leaving).await {
            Ok(Ok(())) => {
                tracing::info!(target: LOG_NAME, id, service_name = name, "Consul-Terraform-Sync deregistered from Consul");
            }
            Ok(Err(error)) => {
                tracing::error!(target: LOG_NAME, id, service_name = name, error = error.report(), "error deregistering Consul-Terraform-Sync from Consul");
            }
            Err(_elapsed) => {
                tracing::warn!(target: LOG_NAME, id, "consul does not answer the deregistration");
            }
        }
    }
}

/// Whether the same request would be refused again until the configuration changes.
fn is_refusal(error: &ConsulError) -> bool {
    match error {
        ConsulError::Status { status, .. } => (400..500).contains(status) && *status != 429,
        ConsulError::UnusableName { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_health_endpoint_is_below_the_path_of_the_address() {
        let cases = [
            ("http://localhost:8558", "http://localhost:8558/v1/health"),
            ("https://a:1/", "https://a:1/v1/health"),
            ("HTTP://a:1/b/c", "http://a:1/b/c/v1/health"),
            ("http://a:1/b%2Fc/?x=y", "http://a:1/b%2Fc/v1/health?x=y"),
            ("http://[::1]:8558", "http://[::1]:8558/v1/health"),
        ];
        for (address, expected) in cases {
            assert_eq!(health_url(address), expected);
        }
    }
}
