//! Settings that are not safe (docs/configuration.md#what-is-not-safe).

use cts_config::Config;
use cts_core::LogLevel;
use cts_core::callers::PlanValues;
use cts_core::hidden::is_secret_name;

use super::uses::{Uses, is_reachable};

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
    if let Some(otlp) = &config.telemetry.otlp {
        say(
            cts_consul::is_plain_over_network(&otlp.endpoint, false)
                && otlp.headers.keys().any(|name| is_credential(name)),
            "the collector on another host gets credentials in plain HTTP (telemetry.otlp.headers): use https:// in telemetry.otlp.endpoint",
        );
    }
    let telemetry = config.telemetry.listen;
    let is_scraped = telemetry.is_some_and(|address| is_reachable(address.ip()));
    say(
        is_scraped && config.security.require_auth && config.services.tls.is_none(),
        "tokens travel to telemetry.listen in plain text, and everybody on the way can read them: listen on 127.0.0.1, or configure services.tls",
    );
    say(
        is_scraped && !config.protects_metrics(),
        "everybody who reaches telemetry.listen can read the metrics, with the names of tasks: listen on 127.0.0.1, or require credentials (security.require_auth)",
    );
    let asks_for_certificates = config.tls.as_ref().is_some_and(|tls| tls.verify_incoming);
    let security = &config.security;
    say(
        uses.open_api
            && security.require_auth
            && config.tls.is_none()
            && !is_behind_a_proxy(config),
        "tokens travel to the API in plain text, and everybody on the way can read them: configure tls, bind it to 127.0.0.1 (-bind-address), or name the proxy that ends TLS in gateway.trusted_proxies",
    );
    let certificates_of_services =
        uses.grpc && config.services.tls.is_some() && security.service_roles;
    let certificates_of_clients = uses.open_api && asks_for_certificates && security.require_auth;
    say(
        security.domain.is_none() && (certificates_of_services || certificates_of_clients),
        "certificates give roles by names of any domain, so each one that the authority signs for others may do so too: set security.domain",
    );
    say(
        uses.open_api && !asks_for_certificates && !config.security.require_auth,
        "everybody who reaches the API can change and delete tasks: bind it to 127.0.0.1 (-bind-address), require tokens (security.require_auth), or ask for certificates (tls with verify_incoming)",
    );
    say(
        uses.open_page && !asks_for_certificates && !config.security.require_auth,
        "everybody who reaches page.listen can change and delete tasks: listen on 127.0.0.1, require tokens (security.require_auth), or ask for certificates (tls with verify_incoming)",
    );
    say(
        uses.database && config.asks_for_approval() && !security.require_auth,
        "everybody who reaches the API can give the consent that tasks need (approval): require tokens or certificates (security.require_auth)",
    );
    say(
        uses.open_api && security.plan_values != PlanValues::Read && !security.require_auth,
        "everybody who reaches the API sees the values of plans (security.plan_values): require tokens or certificates (security.require_auth)",
    );
    say(
        uses.terraform && config.driver.persist_log && config.log_level <= LogLevel::Debug,
        "Terraform's trace is kept (driver.persist_log) while the log level is DEBUG or TRACE: it may hold secrets of providers",
    );
    found
}

/// Whether the API is behind proxies that are listed individually, which may end TLS.
fn is_behind_a_proxy(config: &Config) -> bool {
    let proxies = &config.gateway.trusted_proxies;
    !proxies.is_empty()
        && proxies
            .iter()
            .all(|proxy| proxy.prefix_len() == proxy.max_prefix_len())
}

/// Whether a header of this name, in small letters, holds a credential.
fn is_credential(header: &str) -> bool {
    matches!(header, "authorization" | "proxy-authorization" | "cookie") || is_secret_name(header)
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use clap::{FromArgMatches as _, Subcommand as _};
    use cts_cli::ServiceCommand;
    use cts_config::{ApiTls, LoadContext, load};
    use cts_core::Clock as _;
    use cts_runtime::SystemClock;

    use super::super::uses::Service;
    use super::*;

    /// Commands with options that matter.
    const COMMANDS: [&str; 10] = [
        "start",
        "start --bind-address 127.0.0.1",
        "start --once",
        "start --grpc-address 10.0.0.9:8560",
        "start --grpc-address 127.0.0.1:8560",
        "watcher",
        "scheduler",
        "worker",
        "gateway",
        "gateway --bind-address 127.0.0.1",
    ];
    const STARTS: [usize; 5] = [0, 1, 2, 3, 4];
    /// Commands that offer the API beyond this machine.
    const OPEN_API: [usize; 4] = [0, 3, 4, 8];
    /// Commands whose services other processes can call by gRPC.
    const GRPC: [usize; 7] = [3, 4, 5, 6, 7, 8, 9];

    pub(in crate::services::unsafe_settings) fn config_at(directory: &Path, text: &str) -> Config {
        let path = directory.join("cts.hcl");
        fs::write(&path, text).unwrap();
        let context = LoadContext {
            environment: &BTreeMap::new(),
            current_dir: directory,
            hostname: "host",
            now: SystemClock.now(),
        };
        load(&[path], &context).unwrap().config
    }

    fn config(text: &str) -> Config {
        config_at(tempfile::tempdir().unwrap().path(), text)
    }

    fn uses(command: &str, config: &Config) -> Uses {
        let commands = ServiceCommand::augment_subcommands(clap::Command::new("cts"));
        let words = std::iter::once("cts").chain(command.split(' '));
        let matches = commands.get_matches_from(words);
        let command = ServiceCommand::from_arg_matches(&matches).unwrap();
        Uses::of(Service::of_command(&command, config), config)
    }

    /// The numbers of the commands that report a sentence with this text.
    fn sayers(config: &Config, text: &str) -> Vec<usize> {
        let says = |command: &str| {
            let found = of_settings(uses(command, config), config);
            let count = found.iter().filter(|line| line.contains(text)).count();
            assert!(count < 2, "{command}: {found:?}");
            count == 1
        };
        let numbered = COMMANDS.iter().enumerate();
        let said = numbered.filter(|(_number, command)| says(command));
        said.map(|(number, _command)| number).collect()
    }

    #[test]
    fn each_condition_is_said_by_each_command_that_it_concerns() {
        let all = [&STARTS[..], &[5, 6, 7, 8, 9]].concat();
        let services_tls =
            "services {\n tls {\n ca_cert = \"ca\"\n cert = \"cert\"\n key = \"key\"\n }\n }\n";
        let with = |tls: &str, more: &str| format!("{tls}{more}");
        let cases: [(&str, String, Vec<usize>); 19] = [
            (
                "Consul on another host",
                "consul { address = \"10.0.0.1:8500\" }".into(),
                [&STARTS[..], &[5, 7, 8, 9]].concat(),
            ),
            (
                "certificate of Consul is not verified",
                "consul {\n address = \"https://10.0.0.1:8501\"\n tls {\n enabled = true\n verify = false\n }\n }".into(),
                [&STARTS[..], &[5, 7, 8, 9]].concat(),
            ),
            (
                "Vault on another host",
                "vault { address = \"http://10.0.0.2:8200\" }".into(),
                [&STARTS[..], &[7]].concat(),
            ),
            (
                "certificate of Vault is not verified",
                "vault {\n address = \"https://10.0.0.2:8200\"\n tls { verify = false }\n }".into(),
                [&STARTS[..], &[7]].concat(),
            ),
            (
                "the database on another host",
                "database { url = \"postgres://cts@10.0.0.3/cts?sslmode=require\" }".into(),
                [&STARTS[..], &[6]].concat(),
            ),
            (
                "services talk in plain text",
                "services { plaintext = true }".into(),
                vec![3, 5, 6, 7, 8, 9],
            ),
            (
                "services talk in plain text",
                "services {\n plaintext = true\n listen { scheduler = \"10.0.0.1:8560\" }\n }".into(),
                vec![3, 5, 6, 7, 8, 9],
            ),
            (
                "every certificate of the services' authority",
                services_tls.to_owned(),
                GRPC.to_vec(),
            ),
            (
                "names of any domain",
                with(services_tls, "security { service_roles = true }"),
                GRPC.to_vec(),
            ),
            (
                "everybody who reaches telemetry.listen",
                "telemetry { listen = \"0.0.0.0:9464\" }".into(),
                all.clone(),
            ),
            (
                "tokens travel to telemetry.listen",
                "telemetry { listen = \"0.0.0.0:9464\" }\nsecurity { require_auth = true }".into(),
                all.clone(),
            ),
            (
                "the collector on another host",
                "telemetry {\n otlp {\n endpoint = \"http://10.0.0.4:4317\"\n headers = { Authorization = \"x\" }\n }\n }".into(),
                all,
            ),
            (
                "everybody who reaches the API",
                "port = 8558".into(),
                OPEN_API.to_vec(),
            ),
            (
                "everybody who reaches page.listen",
                "page { listen = \"0.0.0.0:8559\" }".into(),
                [0, 1, 3, 4, 8, 9].to_vec(),
            ),
            (
                "tokens travel to the API in plain text",
                "security { require_auth = true }".into(),
                OPEN_API.to_vec(),
            ),
            (
                "the consent that tasks need",
                "approval = \"destroy\"".into(),
                [&STARTS[..], &[6]].concat(),
            ),
            (
                "the consent that tasks need",
                "task {\n name = \"t\"\n module = \"acme/m/fw\"\n condition \"no-condition\" {}\n approval = \"always\"\n }".into(),
                [&STARTS[..], &[6]].concat(),
            ),
            (
                "sees the values of plans",
                "security { plan_values = \"operate\" }".into(),
                OPEN_API.to_vec(),
            ),
            (
                "Terraform's trace is kept",
                "log_level = \"DEBUG\"\ndriver \"terraform\" { persist_log = true }".into(),
                [&STARTS[..], &[7]].concat(),
            ),
        ];
        for (text, settings, expected) in cases {
            let config = config(&settings);
            assert_eq!(sayers(&config, text), expected, "{text}: {settings}");
        }
    }

    #[test]
    fn certificates_of_clients_are_those_of_one_domain() {
        let mut config = config("security { require_auth = true }");
        config.tls = Some(ApiTls {
            cert: "cert".into(),
            key: "key".into(),
            verify_incoming: true,
            ca_cert: Some("ca".into()),
            ca_path: None,
        });
        assert_eq!(sayers(&config, "names of any domain"), OPEN_API);
        assert_eq!(sayers(&config, "plain text"), Vec::<usize>::new());
        config.security.domain = Some("cts.internal".to_owned());
        for (number, command) in COMMANDS.iter().enumerate() {
            let found = of_settings(uses(command, &config), &config);
            assert_eq!(found, Vec::<String>::new(), "{number}");
        }
    }

    #[test]
    fn safe_settings_are_not_reported() {
        let services_tls =
            "services {\n tls {\n ca_cert = \"ca\"\n cert = \"cert\"\n key = \"key\"\n }\n }";
        for (text, settings) in [
            ("Consul", "consul { address = \"http://[::1]:8500\" }".to_owned()),
            ("telemetry", "telemetry { listen = \"127.0.0.1:9464\" }".to_owned()),
            (
                "telemetry",
                format!("{services_tls}\ntelemetry {{ listen = \"0.0.0.0:9464\" }}\nsecurity {{ require_auth = true }}"),
            ),
            ("page.listen", "page { listen = \"127.0.0.1:8559\" }".to_owned()),
            (
                "page.listen",
                "page {\n enabled = false\n listen = \"0.0.0.0:8559\"\n }".to_owned(),
            ),
            (
                "page.listen",
                "page { listen = \"0.0.0.0:8559\" }\nsecurity { require_auth = true }".to_owned(),
            ),
            (
                "collector",
                "telemetry {\n otlp {\n endpoint = \"http://10.0.0.4:4317\"\n headers = { X-Scope-OrgID = \"a\" }\n }\n }".to_owned(),
            ),
            (
                "collector",
                "telemetry {\n otlp {\n endpoint = \"https://10.0.0.4:4317\"\n headers = { authorization = \"a\" }\n }\n }".to_owned(),
            ),
            (
                "consent",
                "approval = \"always\"\nsecurity { require_auth = true }".to_owned(),
            ),
            ("consent", "approval = \"never\"".to_owned()),
            (
                "API",
                "gateway { trusted_proxies = [\"10.0.0.5\", \"fd00::5\"] }\nsecurity { require_auth = true }".to_owned(),
            ),
            (
                "domain",
                format!("{services_tls}\nsecurity {{\n service_roles = true\n domain = \"cts.internal\"\n }}"),
            ),
        ] {
            assert_eq!(sayers(&config(&settings), text), Vec::<usize>::new(), "{settings}");
        }
        let network =
            "gateway { trusted_proxies = [\"10.0.0.0/8\"] }\nsecurity { require_auth = true }";
        assert_eq!(sayers(&config(network), "API"), OPEN_API);
    }
}
