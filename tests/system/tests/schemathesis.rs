//! schemathesis (`PyPI`) against the `OpenAPI` document that a running system serves: requests made from the
//! document, good and bad, a bounded number of them with a fixed seed. No answer may be a server error or
//! differ from the document.
//!
//! Its options are in `schemathesis.toml` in this directory. `CTS_TEST_SCHEMATHESIS` names its executable;
//! scripts/test sets it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use cts_testkit::ConsulAgent;
use cts_tests::{Backend, Instance, RECORDER, Site, task};
use tokio::process::Command;
use tokio::time::timeout;

/// Requests for each operation in the phase that makes them at random.
const EXAMPLES: &str = "100";

const SEED: &str = "6";

/// Four times the expected duration.
const LIMIT: Duration = Duration::from_mins(8);

/// Checks of every answer.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance";

#[tokio::test]
async fn no_answer_is_a_server_error_or_undocumented() {
    let executable = std::env::var_os("CTS_TEST_SCHEMATHESIS")
        .expect("CTS_TEST_SCHEMATHESIS names the executable schemathesis; scripts/test sets it");
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let site = Site::new();
    site.write("modules/recorder/main.tf", RECORDER);
    let tasks = ["lb", "fw"].map(|name| task(name, "./modules/recorder", &["web"], ""));
    let idle = task("idle", "./modules/recorder", &["web"], "enabled = false");
    site.configure(
        &consul.address(),
        Backend::Shared,
        &(tasks.concat() + &idle),
    );
    let instance = Instance::start(&site).await;
    for name in ["lb", "fw"] {
        instance.api.wait_for_events(name, 1).await;
    }

    let configuration =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemathesis/schemathesis.toml");
    let mut command = Command::new(executable);
    command
        .arg("--config-file")
        .arg(configuration)
        .args(["--no-color", "run", &instance.api.url("/v1/openapi.json")])
        .args(["--checks", CHECKS, "--phases", "examples,coverage,fuzzing"])
        // Several workers would not make the same requests every time.
        .args(["--max-examples", EXAMPLES, "--seed", SEED, "--workers", "1"])
        .args(["--request-timeout", "90", "--suppress-health-check", "all"])
        .args(["--generation-database", "none", "--warnings", "off"])
        .current_dir(site.path())
        .env("NO_PROXY", "127.0.0.1")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = timeout(LIMIT, command.output()).await;
    let output = output
        .unwrap_or_else(|elapsed| panic!("schemathesis goes on: {elapsed}"))
        .unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    instance.stop().await;
}
