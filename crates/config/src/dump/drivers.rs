//! `driver`, `terraform_provider` and `webhook`.

use cts_core::hidden::{HIDDEN, shown_members};
use cts_core::{Backend, ProviderBlock};
use serde_json::{Map, Value};

use crate::blocks::driver::TerraformDriver;
use crate::blocks::terraform_cloud::TerraformCloudDriver;
use crate::blocks::webhook::WebhookConfig;
use crate::config::Config;
use crate::decode::units::duration;
use crate::dump::connections::client_tls;
use crate::dump::tree::Body;
use crate::dump::values::path;

pub(super) fn driver(top: &mut Body, config: &Config) {
    match &config.terraform_cloud {
        Some(cloud) => top.labelled("driver", "terraform-cloud", terraform_cloud(cloud)),
        None => top.labelled("driver", "terraform", terraform(&config.driver)),
    }
}

fn terraform(driver: &TerraformDriver) -> Body {
    let mut body = Body::default();
    body.set("engine", driver.engine.driver());
    match &driver.version {
        Some(version) => body.set("version", version.as_str()),
        None => body.note("version: any that is supported"),
    }
    match &driver.path {
        Some(directory) => body.set("path", path(directory)),
        None => body.note("path: the current directory, then PATH, then the working directory"),
    }
    match &driver.releases.url {
        Some(url) => body.set("releases_url", url.as_str()),
        None => body.note("releases_url: the site of the vendor"),
    }
    if !driver.releases.keys.is_empty() {
        let keys = driver.releases.keys.iter();
        body.set(
            "release_keys",
            keys.map(|key| path(key)).collect::<Vec<_>>(),
        );
    }
    body.set("log", driver.log);
    body.set("persist_log", driver.persist_log);
    body.set("init_timeout", duration(driver.timeouts.init));
    body.set("plan_timeout", duration(driver.timeouts.plan));
    body.set("apply_timeout", duration(driver.timeouts.apply));
    body.set("parallelism", driver.parallelism);
    body.set("refresh", driver.refresh);
    match driver.lock_timeout {
        Some(limit) => body.set("lock_timeout", duration(limit)),
        None => body.note("lock_timeout: no longer than is needed"),
    }
    body.set("shared_local_backend", driver.shared_local_backend);
    body.set("release_lost_locks", driver.release_lost_locks);
    let mut backend = Body::default();
    for (name, value) in shown_members(&driver.backend.arguments) {
        backend.set(name, value);
    }
    body.labelled("backend", &driver.backend.kind, backend);
    previous_backend(&mut body, driver.previous_backend.as_ref());
    body.block("required_providers", free(&driver.required_providers));
    body
}

fn terraform_cloud(driver: &TerraformCloudDriver) -> Body {
    let mut workspaces = Body::default();
    workspaces.set("prefix", driver.workspaces.prefix.as_str());
    workspaces.set("tags", driver.workspaces.tags.clone());
    workspaces.set("tags_allowlist", driver.workspaces.tags_allowlist.clone());
    workspaces.set("tags_denylist", driver.workspaces.tags_denylist.clone());
    let mut body = Body::default();
    body.set("hostname", driver.hostname.as_str());
    body.set("organization", driver.organization.as_str());
    body.set_some("token", driver.token.as_ref().map(|_token| HIDDEN));
    body.block("workspaces", workspaces);
    body.block("required_providers", free(&driver.required_providers));
    body.block("tls", client_tls(&driver.tls));
    previous_backend(&mut body, driver.previous_backend.as_ref());
    body
}

fn previous_backend(body: &mut Body, previous: Option<&Backend>) {
    if let Some(previous) = previous {
        let mut backend = Body::default();
        for (name, value) in shown_members(&previous.arguments) {
            backend.set(name, value);
        }
        body.labelled("previous_backend", &previous.kind, backend);
    }
}

fn free(map: &Map<String, Value>) -> Body {
    let mut body = Body::default();
    for (name, value) in map {
        body.set(name.as_str(), value.clone());
    }
    body
}

/// Shows only the names of arguments and environment: which of them are secret is unknown.
pub(super) fn providers(top: &mut Body, providers: &[ProviderBlock]) {
    for provider in providers {
        let mut body = Body::default();
        body.set_some("alias", provider.alias.as_deref());
        for (name, value) in &provider.arguments {
            match name.as_str() {
                "alias" => {}
                "auto_commit" => body.set(name.as_str(), value.clone()),
                _ => body.set(name.as_str(), HIDDEN),
            }
        }
        if !provider.task_env.is_empty() {
            let mut environment = Body::default();
            for name in provider.task_env.keys() {
                environment.set(name.as_str(), HIDDEN);
            }
            body.block("task_env", environment);
        }
        top.repeated("terraform_provider", Some(&provider.name), body);
    }
}

/// Receivers often have a token in the path of their URL, so of that only the host is shown.
pub(super) fn webhooks(top: &mut Body, webhooks: &[WebhookConfig]) {
    for webhook in webhooks {
        let mut body = Body::default();
        body.set("url", webhook.shown_url());
        if webhook.secret.is_some() {
            body.set("secret", HIDDEN);
        }
        body.set("timeout", duration(webhook.timeout));
        body.set("retries", webhook.retries);
        body.block("tls", client_tls(&webhook.tls));
        top.repeated("webhook", Some(&webhook.name), body);
    }
}
