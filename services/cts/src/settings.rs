//! From the configuration to the settings of each part.

use std::num::NonZero;
use std::sync::Arc;

use cts_config::{Config, ConsulConfig};
use cts_consul::{ConsulSettings, TlsSettings};
use cts_core::{Digest, ProviderBlock, TaskDefinition, WorkerId};
use cts_runtime::LogLevel;
use cts_scheduler::SettingsDigest;
use cts_terraform::{Executable, RenderSettings, SUPPORTED_RANGE, StopPolicy};
use cts_worker::Options as WorkerOptions;
use secrecy::ExposeSecret as _;
use uuid::Uuid;

use crate::surroundings::Surroundings;

pub(crate) fn log_level(level: cts_config::LogLevel) -> LogLevel {
    match level {
        cts_config::LogLevel::Trace => LogLevel::Trace,
        cts_config::LogLevel::Debug => LogLevel::Debug,
        cts_config::LogLevel::Info => LogLevel::Info,
        cts_config::LogLevel::Warn => LogLevel::Warn,
        cts_config::LogLevel::Error => LogLevel::Error,
    }
}

pub(crate) fn consul(config: &ConsulConfig) -> ConsulSettings {
    let set = |text: &String| (!text.is_empty()).then(|| text.into());
    let tls = &config.tls;
    let transport = &config.transport;
    ConsulSettings {
        address: config.address.clone(),
        token: config.token.clone(),
        basic_auth: config
            .auth
            .as_ref()
            .map(|auth| (auth.username.clone(), auth.password.clone())),
        tls: TlsSettings {
            enabled: config.https,
            verify: tls.verify,
            ca_cert: set(&tls.ca_cert),
            ca_path: set(&tls.ca_path),
            cert: set(&tls.cert),
            key: set(&tls.key),
            server_name: (!tls.server_name.is_empty()).then(|| tls.server_name.clone()),
        },
        namespace: config.namespace.clone(),
        partition: config.partition.clone(),
        dial_timeout: transport.dial_timeout,
        tls_handshake_timeout: transport.tls_handshake_timeout,
        keep_alive: transport.dial_keep_alive,
        idle_timeout: transport.idle_conn_timeout,
        max_idle_per_host: transport.max_idle_conns_per_host,
        disable_keep_alives: transport.disable_keep_alives,
        ..ConsulSettings::default()
    }
}

pub(crate) fn worker(
    config: &Config,
    surroundings: &Surroundings,
    executable: &Executable,
) -> WorkerOptions {
    let backend_environment = config
        .terraform_environment()
        .into_iter()
        .map(|(name, value)| (name, value.expose_secret().to_owned()))
        .collect();
    WorkerOptions {
        id: WorkerId::new(format!("{}-{}", surroundings.hostname, Uuid::new_v4())),
        slots: config.worker.slots.map_or_else(default_slots, NonZero::get),
        start_directory: surroundings.current_dir.clone(),
        environment: surroundings.environment.clone(),
        backend_environment,
        persist_log: config.driver.persist_log,
        stop: StopPolicy::default(),
        render: RenderSettings {
            required_version: SUPPORTED_RANGE.to_owned(),
            terraform_version: executable.version().clone(),
            required_providers: config.driver.required_providers.clone(),
            backend: config.driver.backend.clone(),
            providers: config.providers.clone(),
        },
    }
}

/// Terraform waits for remote systems more than it computes, so there are more slots than processors.
fn default_slots() -> usize {
    2 * std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Digests everything outside a task that its generated files depend on, so that a changed backend or
/// provider block runs the task again. Only the digest leaves this function.
pub(crate) fn settings_digest(config: &Config) -> SettingsDigest {
    let driver = config.driver.clone();
    let providers: Arc<[ProviderBlock]> = config.providers.clone().into();
    SettingsDigest::new(move |definition: &TaskDefinition| {
        let mut parts = vec![
            driver.backend.kind.clone(),
            serde_json::Value::from(driver.backend.arguments.clone()).to_string(),
        ];
        for id in &definition.providers {
            parts.push(id.to_string());
            parts.push(format!("{:?}", driver.required_providers.get(&id.name)));
            if let Some(block) = ProviderBlock::select(&providers, id) {
                parts.push(serde_json::Value::from(block.arguments.clone()).to_string());
                parts.push(format!("{:?}", block.task_env));
            }
        }
        Digest::of_parts(parts.iter().map(String::as_bytes))
    })
}
