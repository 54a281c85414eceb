//! `driver`, `terraform_provider` and `webhook`.

use cts_core::ProviderBlock;
use cts_core::hidden::HIDDEN;

use crate::blocks::terraform_cloud::TerraformCloudDriver;
use crate::blocks::webhook::WebhookConfig;
use crate::config::Config;
use crate::decode::units::duration;
use crate::dump::connections::client_tls;
use crate::dump_body::Body;
use crate::keys::{Keys, dumped};

pub(super) fn driver(top: &mut Body, config: &Config) {
    match &config.terraform_cloud {
        Some(cloud) => top.labelled("driver", "terraform-cloud", terraform_cloud(cloud)),
        None => top.labelled("driver", "terraform", dumped(&config.driver)),
    }
}

fn terraform_cloud(driver: &TerraformCloudDriver) -> Body {
    let mut body = Body::default();
    body.set("hostname", driver.hostname.as_str());
    body.set("organization", driver.organization.as_str());
    body.set_some("token", driver.token.as_ref().map(|_token| HIDDEN));
    body.block("workspaces", dumped(&driver.workspaces));
    body.block(
        "required_providers",
        driver.required_providers.clone().into(),
    );
    body.block("tls", client_tls(&driver.tls));
    let mut keys = Keys::Dump(&mut body);
    keys.backend("previous_backend", driver.previous_backend.as_ref());
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
