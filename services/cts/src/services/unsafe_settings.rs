//! Unsafe settings of a service, reported once at its start (docs/configuration.md#what-is-not-safe).

use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cts_cli::{Gateway, ServiceCommand, Start};
use cts_config::Config;
use cts_core::LogLevel;
use cts_core::access::ServiceRole;
use cts_runtime::ProcessEnv;

use crate::failure::Failure;
use crate::services::own_certificate::{OwnCertificate, own_certificate};

/// May be read by everybody on the machine.
const READABLE_BY_OTHERS: u32 = 0o004;

/// Logs one warning for each thing that is not safe; with `security.strict` they are one failure. `readable` holds
/// those found before the log began.
pub(crate) fn check(
    command: &ServiceCommand,
    config: &Config,
    process_env: &ProcessEnv,
    readable: Vec<String>,
) -> Result<(), Failure> {
    let files = command.options().configuration.paths.iter();
    let files = files.map(|path| process_env.current_dir.join(path));
    let mut found = readable;
    found.extend(of_settings(Uses::of(command), config));
    found.extend(of_files(files.chain(secret_files(config))));
    found.extend(of_certificate(command, config));
    if process_env.is_root {
        found.push(
            "cts runs as root, and so does what its modules start: give it a user of its own"
                .to_owned(),
        );
    }
    if config.security.strict && !found.is_empty() {
        return Err(Failure::NotSafe(found));
    }
    for text in found {
        tracing::warn!(target: "cli", "not safe: {text}");
    }
    Ok(())
}

/// A certificate by which the others do not know this service.
fn of_certificate(command: &ServiceCommand, config: &Config) -> Option<String> {
    let role = match command {
        // Commands call it as a scheduler.
        ServiceCommand::Start(start) => start.grpc_address.map(|_| ServiceRole::Scheduler)?,
        ServiceCommand::Watcher(_) => ServiceRole::Watcher,
        ServiceCommand::Scheduler(_) => ServiceRole::Scheduler,
        ServiceCommand::Worker(_) => ServiceRole::Worker,
        ServiceCommand::Gateway(_) => ServiceRole::Gateway,
    };
    match own_certificate(role, config)? {
        OwnCertificate::Proven(_) => None,
        OwnCertificate::Unproven(text) => Some(text),
    }
}

/// Resources that a service uses.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Uses {
    pub(crate) consul: bool,
    pub(crate) vault: bool,
    pub(crate) database: bool,
    pub(crate) terraform: bool,
    pub(crate) services: bool,
    /// Other processes can call the service by gRPC.
    pub(crate) grpc: bool,
    /// The service offers the API beyond this machine.
    pub(crate) open_api: bool,
}

impl Uses {
    fn of(command: &ServiceCommand) -> Self {
        let nothing = Self::default();
        match command {
            ServiceCommand::Start(Start {
                api,
                once,
                inspect,
                inspect_task,
                grpc_address,
                ..
            }) => Self {
                consul: true,
                vault: true,
                database: true,
                terraform: true,
                services: false,
                grpc: grpc_address.is_some(),
                open_api: !once
                    && !inspect
                    && inspect_task.is_empty()
                    && is_reachable(api.bind_address),
            },
            ServiceCommand::Watcher(_) => Self {
                consul: true,
                services: true,
                grpc: true,
                ..nothing
            },
            ServiceCommand::Scheduler(_) => Self {
                database: true,
                services: true,
                grpc: true,
                ..nothing
            },
            ServiceCommand::Worker(_) => Self {
                consul: true,
                vault: true,
                terraform: true,
                services: true,
                grpc: true,
                ..nothing
            },
            ServiceCommand::Gateway(Gateway { api, .. }) => Self {
                services: true,
                grpc: true,
                open_api: is_reachable(api.bind_address),
                ..nothing
            },
        }
    }
}

/// The settings of a service that are not safe, a sentence each.
pub(crate) fn of_settings(uses: Uses, config: &Config) -> Vec<String> {
    let mut found = Vec::new();
    let mut say = |is_unsafe: bool, text: &str| {
        if is_unsafe {
            found.push(text.to_owned());
        }
    };
    let consul = &config.consul;
    say(
        uses.consul && cts_consul::is_plain_over_network(&consul.address, consul.https),
        "Consul on another host is asked in plain HTTP: token and answers can be read and changed on the way; use https:// in consul.address",
    );
    say(
        uses.consul && consul.https && !consul.tls.verify,
        "the certificate of Consul is not verified (consul.tls.verify = false)",
    );
    if let Some(vault) = config.vault.as_ref().filter(|_| uses.vault) {
        say(
            cts_consul::is_plain_over_network(&vault.address, false),
            "Vault on another host is asked in plain HTTP: token and secrets can be read on the way; use https:// in vault.address",
        );
        say(
            !vault.tls.verify,
            "the certificate of Vault is not verified (vault.tls.verify = false)",
        );
    }
    let database = config.database.as_ref().filter(|_| uses.database);
    if let Some(url) = database.and_then(|database| database.url.text()) {
        say(
            cts_store_postgres::is_unverified_over_network(url),
            "the database on another host is not verified: use sslmode=verify-full in database.url",
        );
    }
    say(
        uses.services && config.services.plaintext && config.services.tls.is_none(),
        "services talk in plain text over the network (services.plaintext): anybody on the way can give orders; configure services.tls",
    );
    say(
        uses.grpc && config.services.tls.is_some() && !config.security.service_roles,
        "every certificate of the services' authority may call every gRPC method: name the roles in the certificates, and set security.service_roles = true",
    );
    let telemetry = config.telemetry.listen;
    say(
        telemetry.is_some_and(|address| is_reachable(Some(address.ip())))
            && !config.security.require_auth,
        "everybody who reaches telemetry.listen can read the metrics, with the names of tasks: listen on 127.0.0.1, or require credentials (security.require_auth)",
    );
    let asks_for_certificates = config.tls.as_ref().is_some_and(|tls| tls.verify_incoming);
    say(
        uses.open_api && !asks_for_certificates && !config.security.require_auth,
        "everybody who reaches the API can change and delete tasks: bind it to 127.0.0.1 (-bind-address), require tokens (security.require_auth), or ask for certificates (tls with verify_incoming)",
    );
    say(
        uses.terraform && config.driver.persist_log && config.log_level <= LogLevel::Debug,
        "Terraform's trace is kept (driver.persist_log) while the log level is DEBUG or TRACE: it may hold secrets of providers",
    );
    found
}

/// Whether others reach what listens on this address, or on all.
fn is_reachable(address: Option<IpAddr>) -> bool {
    address.is_none_or(|address| !address.to_canonical().is_loopback())
}

/// Files that hold keys and tokens of cts.
fn secret_files(config: &Config) -> Vec<PathBuf> {
    let tls = config.tls.as_ref().map(|tls| tls.key.clone());
    let services = config.services.tls.as_ref().map(|tls| tls.key.clone());
    let vault = config.vault.as_ref();
    let token = vault.and_then(|vault| vault.vault_agent_token_file.clone());
    let clients = [Some(&config.consul.tls), vault.map(|vault| &vault.tls)];
    let keys = clients.into_iter().flatten();
    let keys = keys.filter(|tls| tls.enabled && !tls.key.is_empty());
    let keys = keys.map(|tls| PathBuf::from(&tls.key));
    let others = [tls, services, token, config.security.key_file.clone()];
    others.into_iter().flatten().chain(keys).collect()
}

/// The files of the configuration at `paths`, and those with its keys and tokens, that other users can read.
pub(crate) fn open_secret_files(
    paths: impl IntoIterator<Item = PathBuf>,
    config: &Config,
) -> Vec<PathBuf> {
    open_files(paths.into_iter().chain(secret_files(config)))
}

fn open_files(files: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let others_read = |path: &Path| {
        let metadata = fs::metadata(path);
        metadata.is_ok_and(|metadata| {
            metadata.is_file() && metadata.permissions().mode() & READABLE_BY_OTHERS != 0
        })
    };
    let mut open: Vec<PathBuf> = files
        .into_iter()
        .flat_map(|path| in_directory(&path).unwrap_or_else(|| vec![path]))
        .filter(|path| others_read(path))
        .collect();
    open.sort();
    open.dedup();
    open
}

/// Warns, once, of all files that other users can read.
fn of_files(files: impl IntoIterator<Item = PathBuf>) -> Option<String> {
    let open = open_files(files);
    let shown = open.iter().map(|path| path.display().to_string());
    let shown: Vec<String> = shown.map(|path| format!("{path:?}")).collect();
    (!shown.is_empty()).then(|| {
        format!(
            "everybody on this machine can read files that may hold secrets: {}; take that away with chmod o-r",
            shown.join(", ")
        )
    })
}

/// The configuration files of a directory.
fn in_directory(path: &Path) -> Option<Vec<PathBuf>> {
    let entries = fs::read_dir(path).ok()?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_configuration = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("hcl" | "json"))
    };
    Some(paths.filter(is_configuration).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cts_config::{LoadContext, load};
    use cts_core::{Clock as _, SystemClock};

    use super::*;

    const ALL: Uses = Uses {
        consul: true,
        vault: true,
        database: true,
        terraform: true,
        services: true,
        grpc: true,
        open_api: true,
    };

    fn config(text: &str) -> Config {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cts.hcl");
        fs::write(&path, text).unwrap();
        let context = LoadContext {
            environment: &BTreeMap::new(),
            current_dir: directory.path(),
            hostname: "host",
            now: SystemClock.now(),
        };
        load(&[path], &context).unwrap().config
    }

    #[test]
    fn on_this_machine_only_the_open_api_is_not_safe() {
        let found = of_settings(ALL, &config("consul { address = \"http://[::1]:8500\" }"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("everybody who reaches the API"));
        let bound = Uses {
            open_api: is_reachable(Some([127, 0, 0, 1].into())),
            ..ALL
        };
        assert_eq!(
            of_settings(bound, &config("port = 8558")),
            Vec::<String>::new()
        );
    }

    #[test]
    fn an_api_that_requires_credentials_is_safe() {
        for (text, count) in [
            ("security { require_auth = true }", 0),
            ("security { require_auth = false }", 1),
            ("security { service_roles = true }", 1),
        ] {
            assert_eq!(of_settings(ALL, &config(text)).len(), count, "{text}");
        }
    }

    #[test]
    fn each_thing_is_said() {
        let found = of_settings(
            ALL,
            &config(
                "log_level = \"DEBUG\"\n\
                 consul { address = \"10.0.0.1:8500\" }\n\
                 vault {\n address = \"http://10.0.0.2:8200\"\n tls { verify = false }\n }\n\
                 database { url = \"postgres://cts@10.0.0.3/cts?sslmode=require\" }\n\
                 services { plaintext = true }\n\
                 driver \"terraform\" { persist_log = true }",
            ),
        );
        for text in [
            "Consul on another host",
            "Vault on another host",
            "certificate of Vault is not verified",
            "the database on another host",
            "services talk in plain text",
            "everybody who reaches the API",
            "Terraform's trace is kept",
        ] {
            let count = found.iter().filter(|line| line.contains(text)).count();
            assert_eq!(count, 1, "{text}: {found:?}");
        }
        let nothing = of_settings(
            Uses::default(),
            &config("consul { address = \"10.0.0.1:8500\" }"),
        );
        assert_eq!(nothing, Vec::<String>::new());
    }

    #[test]
    fn files_that_others_can_read_are_named_together() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, mode: u32| {
            let path = directory.path().join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let (own, open) = (file("a.hcl", 0o640), file("b.hcl", 0o644));
        file("notes.txt", 0o644);
        assert_eq!(of_files([own]), None);
        let text = of_files([directory.path().to_owned(), open]).unwrap();
        assert_eq!(text.matches("b.hcl").count(), 1, "{text}");
        assert!(!text.contains("a.hcl") && !text.contains("notes"), "{text}");
    }
}
