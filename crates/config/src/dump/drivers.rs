//! `driver`, `terraform_provider` and `webhook`.

use cts_core::ProviderBlock;
use cts_core::hidden::HIDDEN;

use crate::blocks::webhook::WebhookConfig;
use crate::config::Config;
use crate::dump_body::Body;
use crate::keys::dumped;

pub(super) fn driver(top: &mut Body, config: &Config) {
    match &config.terraform_cloud {
        Some(cloud) => top.labelled("driver", "terraform-cloud", dumped(cloud)),
        None => top.labelled("driver", "terraform", dumped(&config.driver)),
    }
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

pub(super) fn webhooks(top: &mut Body, webhooks: &[WebhookConfig]) {
    for webhook in webhooks {
        top.repeated("webhook", Some(&webhook.name), dumped(webhook));
    }
}
