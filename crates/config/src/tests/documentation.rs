//! The configuration blocks that docs/configuration.md shows are valid.

use cts_core::ApprovalDefaults;

use super::{Sandbox, config};
use crate::blocks::fleet_max_shrink;
use crate::keys::names;
use crate::{
    AuditConfig, ClientTls, CloudWorkspaces, GatewayConfig, GatewayLimits, ListenConfig,
    OidcConfig, OtlpConfig, PageConfig, PageLoginConfig, SchedulerConfig, SecurityConfig,
    ServicesConfig, ServicesLimits, ServicesTls, TelemetryConfig, TerraformCloudDriver, Transport,
    WorkerConfig, file_only_keys,
};

const DOCUMENTATION: &str = include_str!("../../../../docs/configuration.md");
const ACCESS: &str = include_str!("../../../../docs/access.md");
const TELEMETRY: &str = include_str!("../../../../docs/telemetry.md");

/// The blocks of HCL in the documentation.
fn examples() -> Vec<&'static str> {
    let behind_fences = DOCUMENTATION.split("```hcl\n").skip(1);
    behind_fences
        .map(|rest| rest.split("```").next().unwrap())
        .collect()
}

/// The text below a heading, with the headings below it.
fn section(document: &'static str, heading: &str) -> &'static str {
    let (_, rest) = document.split_once(&format!("\n{heading}\n")).unwrap();
    let level = heading.split(' ').next().unwrap();
    let ends = (2..=level.len()).map(|level| format!("\n{} ", "#".repeat(level)));
    let end = ends.filter_map(|end| rest.find(&end)).min();
    &rest[..end.unwrap_or(rest.len())]
}

/// The keys in the tables of a section.
fn keys_in_tables(section: &str) -> Vec<&str> {
    let mut keys = Vec::new();
    for table in section
        .split("\n\n")
        .filter(|table| table.starts_with("| key |"))
    {
        let cells = table
            .lines()
            .skip(2)
            .map(|line| line.split('|').nth(1).unwrap());
        let codes = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
        keys.extend(codes.flat_map(|code| code.split('.')));
    }
    keys
}

#[test]
fn the_documentation_has_each_key_in_the_section_of_its_block_and_no_other_key() {
    let config = config("vault { enabled = true }");
    let (consul, here) = (config.consul, DOCUMENTATION);
    let registration = [
        names(consul.service_registration.clone()),
        names(consul.service_registration.default_check.clone()),
    ];
    let cloud = [
        names(TerraformCloudDriver::default()),
        names(CloudWorkspaces::default()),
    ];
    let services = [
        names(ServicesConfig::default()),
        names(ListenConfig::default()),
    ];
    let limits = [
        names(ServicesLimits::default()),
        names(GatewayLimits::default()),
    ];
    let security = [
        names(SecurityConfig::default()),
        names(AuditConfig::default()),
    ];
    let page = [
        names(PageConfig::default()),
        names(PageLoginConfig::default()),
    ];
    let telemetry = [
        names(TelemetryConfig::default()),
        names(OtlpConfig::default()),
    ];
    for (document, heading, keys, without_row) in [
        (here, "### `consul`", names(consul), &["kv_namespace"][..]),
        (
            here,
            "### `consul.service_registration`",
            registration.concat(),
            &[],
        ),
        (
            here,
            "#### `tls` of `consul` and `vault`",
            names(ClientTls::default()),
            &[],
        ),
        (here, "#### `transport`", names(Transport::default()), &[]),
        (
            here,
            "### `vault`",
            names(config.vault.unwrap()),
            &["enabled"],
        ),
        (
            here,
            "### `driver \"terraform\"`",
            names(config.driver),
            &["backend", "previous_backend"],
        ),
        (
            here,
            "### `driver \"terraform-cloud\"`",
            cloud.concat(),
            &["previous_backend", "workspace_prefix"],
        ),
        (here, "### `services`", services.concat(), &[]),
        (
            here,
            "## TLS between the services",
            names(ServicesTls::default()),
            &[],
        ),
        (
            here,
            "### `scheduler`",
            names(SchedulerConfig::default()),
            &[],
        ),
        (
            here,
            "### `fleet_max_shrink`",
            names(fleet_max_shrink::DEFAULT),
            &[],
        ),
        (
            here,
            "### `approval`",
            names(ApprovalDefaults::default()),
            &[],
        ),
        (here, "### `worker`", names(WorkerConfig::default()), &[]),
        (here, "### `security`", security.concat(), &[]),
        (ACCESS, "## OIDC", names(OidcConfig::default()), &[]),
        (here, "### `gateway`", names(GatewayConfig::default()), &[]),
        (here, "### `page`", page.concat(), &[]),
        (here, "### Limits", limits.concat(), &[]),
        (TELEMETRY, "## Configuration", telemetry.concat(), &[]),
    ] {
        let section = section(document, heading);
        let codes = section.split('`').flat_map(|code| code.split('.'));
        let named: Vec<&str> = codes.collect();
        for key in &keys {
            assert!(named.contains(key), "{heading} lacks {key}");
        }
        let own = section.split("\n#").next().unwrap();
        for key in keys_in_tables(own) {
            let is_known = keys.contains(&key) || without_row.contains(&key);
            assert!(is_known, "{heading} has {key}");
        }
    }
    let named: Vec<&str> = section(here, "### `task`").split('`').collect();
    for key in file_only_keys() {
        assert!(named.contains(&key), "### `task` lacks {key}");
    }
}

#[test]
fn every_example_is_a_valid_configuration() {
    let mut sandbox = Sandbox::new();
    sandbox.set("CTS_DATABASE_URL", "postgres://cts@db/cts");
    let api = rcgen::generate_simple_self_signed(["cts.example.net".to_owned()]).unwrap();
    sandbox.write("tls/api.pem", api.cert.pem());
    sandbox.write("tls/api-key.pem", api.signing_key.serialize_pem());
    let examples = examples();
    assert!(examples.len() > 5, "{}", examples.len());
    for example in examples {
        sandbox.config(example);
    }
}

#[test]
fn the_four_files_of_the_large_example_belong_together() {
    let sandbox = Sandbox::new();
    for example in examples() {
        let name = example.lines().next().unwrap().trim_start_matches("# ");
        if name.starts_with("/etc/cts/") {
            sandbox.write(&name[1..], example);
        }
    }
    let load = |role: &str| {
        let files = [
            "etc/cts/services.hcl".to_owned(),
            format!("etc/cts/{role}.hcl"),
        ];
        sandbox.load(&[&files[0], &files[1]]).unwrap()
    };
    let scheduler = load("scheduler").config;
    assert!(scheduler.database.is_some() && scheduler.high_availability.is_some());
    assert_eq!(scheduler.tasks.len(), 1);
    let worker = load("worker").config;
    assert!(worker.database.is_none() && worker.tasks.is_empty());
    assert_eq!(worker.driver.require_shared_backend(), Ok(()));
    for role in ["scheduler", "watcher", "worker", "gateway"] {
        let loaded = load(role);
        assert!(
            loaded.warnings.is_empty(),
            "{role}: {}",
            loaded.warnings.render()
        );
        let services = loaded.config.services;
        assert!(
            services.tls.is_some() && services.schedulers.len() == 2,
            "{role}"
        );
    }
}
