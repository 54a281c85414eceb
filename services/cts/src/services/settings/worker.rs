//! Settings of a worker and of its driver.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cts_config::Config;
use cts_core::settings::ClusterKey;
use cts_core::{
    Capabilities, Digest, Engine, EngineKind, REMOTE_DRIVER, Registration, WorkerId, WorkerRecord,
};
use cts_runtime::ProcessEnv;
use cts_terraform::{
    Executable, GoRuntime, InheritedEnvironment, RenderSettings, SUPPORTED_RANGE, StopPolicy,
    required_version,
};
use cts_worker::{Options as WorkerOptions, RemoteSettings, WorkspaceSettings};
use secrecy::ExposeSecret as _;
use semver::Version;
use uuid::Uuid;

use super::blocks::settings_blocks;
use super::{Shape, client_files, server_name, takes_bundles, webhook};

/// Most remote runs that a worker follows at a time, unless `worker.slots` is set.
const REMOTE_RUNS: usize = 500;

/// Time before a state that seems lost or older is read once more.
const SECOND_LOOK: Duration = Duration::from_secs(2);

/// The version of the API of servers.
const API_VERSION: &str = "2";

/// Options of a worker. `engine` may be missing where a server makes the runs.
pub(crate) fn worker(
    config: &Config,
    process_env: &ProcessEnv,
    engine: Option<&Executable>,
    working_dir: PathBuf,
    keys: Vec<ClusterKey>,
    shape: Shape,
) -> WorkerOptions {
    let backend_environment = config
        .terraform_environment()
        .into_iter()
        .map(|(name, value)| (name, value.expose_secret().to_owned()))
        .collect();
    let consul_environment = config
        .consul_state_environment()
        .into_iter()
        .map(|(name, value)| (name, value.expose_secret().to_owned()))
        .collect();
    let default_slots = match &config.terraform_cloud {
        Some(_) => REMOTE_RUNS,
        None => default_slots(),
    };
    let slots = config.worker.slots.map_or(default_slots, NonZero::get);
    let cloud = config.terraform_cloud.as_ref();
    let capability = match (cloud, engine) {
        (None, Some(executable)) => Engine {
            driver: executable.engine().driver().to_owned(),
            version: executable.version().to_string(),
        },
        _ => Engine {
            driver: REMOTE_DRIVER.to_owned(),
            version: API_VERSION.to_owned(),
        },
    };
    WorkerOptions {
        registration: random_registration(),
        record: WorkerRecord {
            id: random_id(&config.id, &process_env.hostname),
            host: process_env.hostname.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            slots: u32::try_from(slots).unwrap_or(u32::MAX),
            capabilities: Capabilities {
                engines: vec![capability],
                bundles: takes_bundles(config, shape),
            },
            draining: false,
            settings: None,
            problem: None,
        },
        working_dir,
        keeps_journal: true,
        syncs_journal: shape == Shape::Cluster,
        is_alone: shape == Shape::Embedded,
        environment: inherited_environment(config, process_env, slots),
        tracing_environment: tracing_environment(config),
        backend_environment,
        previous_backend: config.previous_backend().cloned(),
        consul_environment,
        states_in_own_consul: config.driver.keeps_states_in_own_consul(),
        second_look: SECOND_LOOK,
        lock_timeout: config.driver.lock_timeout,
        persist_log: config.driver.persist_log,
        release_lost_locks: config.driver.release_lost_locks,
        stop: StopPolicy::default(),
        timeouts: config.driver.timeouts,
        drain_timeout: config.worker.drain_timeout,
        render: Arc::new(render(config, engine)),
        settings: settings_blocks(config),
        keys,
        webhooks: config.webhooks.iter().map(webhook).collect(),
        secrets: config.secrets(),
    }
}

/// An id that is unique to this process. It begins with the `id` of the file, which an operator recognises, unless that
/// is only the name of the machine or is not a plain word.
fn random_id(id: &str, hostname: &str) -> WorkerId {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let is_name = !id.is_empty() && id.chars().all(is_plain) && id != format!("cts-{hostname}");
    WorkerId::of_life(is_name.then_some(id), hostname, Uuid::new_v4())
}

/// A registration that no other process has.
fn random_registration() -> Registration {
    // Each has 122 random bits.
    let random = [Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4()];
    let random = Digest::of_parts(random.iter().map(|uuid| uuid.as_bytes().as_slice()));
    Registration::new(*random.as_bytes())
}

/// Environment by which Terraform exports its own spans; empty unless that is configured. The headers of the exporter
/// stay here, because they may be secrets.
fn tracing_environment(config: &Config) -> Vec<(String, String)> {
    let telemetry = &config.telemetry;
    let otlp = telemetry.otlp.as_ref();
    let Some(otlp) = otlp.filter(|otlp| telemetry.terraform && otlp.signals.traces) else {
        return Vec::new();
    };
    let mut variables = vec![
        ("OTEL_TRACES_EXPORTER", "otlp".to_owned()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc".to_owned()),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", otlp.endpoint.clone()),
    ];
    if let Some(path) = &otlp.ca_cert {
        let path = path.display().to_string();
        variables.push(("OTEL_EXPORTER_OTLP_CERTIFICATE", path));
    }
    let variables = variables.into_iter();
    variables
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn render(config: &Config, engine: Option<&Executable>) -> RenderSettings {
    RenderSettings {
        required_version: engine.map_or_else(
            || SUPPORTED_RANGE.to_owned(),
            |engine| required_version(engine.engine(), engine.version()),
        ),
        engine: engine.map_or(EngineKind::Terraform, Executable::engine),
        // The server decides about the version of each workspace.
        terraform_version: engine.map_or_else(newest_tested, |engine| engine.version().clone()),
        required_providers: config.required_providers().clone(),
        backend: config.driver.backend.clone(),
        providers: config.providers.clone(),
    }
}

fn newest_tested() -> Version {
    let [major, minor, patch] = EngineKind::Terraform.newest_tested();
    Version::new(major, minor, patch)
}

/// The server that makes the runs, if it is configured. Its token may be missing where no runs are made.
pub(crate) fn remote(config: &Config) -> Option<RemoteSettings> {
    let cloud = config.terraform_cloud.as_ref()?;
    Some(RemoteSettings {
        hostname: cloud.hostname.clone(),
        organization: cloud.organization.clone(),
        token: cloud.token.clone().unwrap_or_default(),
        workspaces: WorkspaceSettings {
            prefix: cloud.workspaces.prefix.clone(),
            tags: cloud.workspaces.tags.clone(),
            allowed: cloud.workspaces.tags_allowlist.clone(),
            denied: cloud.workspaces.tags_denylist.clone(),
        },
        tls: client_files(&cloud.tls),
        server_name: server_name(&cloud.tls),
    })
}

/// The environment of Terraform: variables of this process, and settings for memory if the variables set none. With a
/// database, Terraform does not get the password that the driver of the database takes from the environment.
fn inherited_environment(
    config: &Config,
    process_env: &ProcessEnv,
    slots: usize,
) -> InheritedEnvironment {
    let mut inherited = InheritedEnvironment::of(&process_env.environment);
    if config.database.is_some() {
        inherited = inherited.without(&["PGPASSFILE", "PGPASSWORD"]);
    }
    if let Some(names) = &config.worker.environment {
        inherited = inherited.only(names);
    }
    let go = config
        .worker
        .go_gc
        .map(|percent| GoRuntime::of(percent.get(), slots, process_env.memory));
    inherited.or(go.into_iter().flat_map(GoRuntime::variables))
}

/// Terraform waits for remote systems more than it computes, so there are more slots than processors.
fn default_slots() -> usize {
    2 * std::thread::available_parallelism().map_or(1, NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::random_id;

    #[test]
    fn the_id_of_a_worker_has_the_one_of_its_file_and_its_machine() {
        for (id, begin) in [
            ("cts-edge_1.example", "cts-edge_1.example@host-"),
            ("cts-host", "host-"),
            ("", "host-"),
            ("a/b", "host-"),
            ("a@b", "host-"),
            ("a b", "host-"),
        ] {
            let made = random_id(id, "host");
            assert!(made.as_str().starts_with(begin), "{id:?}: {made}");
            assert_eq!(made.host(), Some("host"));
            assert_ne!(made, random_id(id, "host"));
        }
    }
}
