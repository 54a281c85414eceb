//! The configuration blocks that docs/configuration.md shows are valid.

use super::Sandbox;

const DOCUMENTATION: &str = include_str!("../../../../docs/configuration.md");

/// The blocks of HCL in the documentation.
fn examples() -> Vec<&'static str> {
    let behind_fences = DOCUMENTATION.split("```hcl\n").skip(1);
    behind_fences
        .map(|rest| rest.split("```").next().unwrap())
        .collect()
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
