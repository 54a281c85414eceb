//! Top level and `consul` (spec/config.md 2, 3, 5, 7).

use std::time::Duration;

use cts_core::BufferPeriod;
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::{Sandbox, assert_problem, config};
use crate::{GatewayMode, LogLevel, OnTakeover, SchedulerConfig, ServicesConfig, WorkerConfig};

#[test]
fn an_almost_empty_file_gives_the_defaults() {
    let sandbox = Sandbox::new();
    let config = sandbox.config("# nothing");
    assert_eq!(config.log_level, LogLevel::Info);
    assert_eq!(config.port, 8558);
    assert_eq!(config.id, "cts-host");
    assert_eq!(config.working_dir, sandbox.path().join("sync-tasks"));
    assert_eq!(config.buffer_period, BufferPeriod::BUILT_IN);
    let consul = &config.consul;
    assert_eq!(consul.address, "localhost:8500");
    assert!(!consul.https && consul.token.is_none() && consul.auth.is_none());
    assert!(!consul.tls.enabled && consul.tls.verify);
    assert_eq!(consul.transport.dial_timeout, Duration::from_secs(30));
    assert_eq!(consul.transport.idle_conn_timeout, Duration::from_secs(5));
    assert_eq!(consul.transport.max_idle_conns_per_host, 100);
    let registration = &consul.service_registration;
    assert!(registration.enabled && registration.default_check.enabled);
    assert_eq!(registration.service_name, "consul-terraform-sync");
    assert_eq!(registration.default_check.address, "http://localhost:8558");
    assert_eq!(config.driver.version, None);
    assert_eq!(config.driver.path, None);
    assert_eq!(config.driver.backend.kind, "consul");
    assert_eq!(
        Value::Object(config.driver.backend.arguments.clone()),
        json!({ "address": "localhost:8500", "path": "consul-terraform-sync/terraform", "gzip": true })
    );
    assert!(config.tasks.is_empty() && config.providers.is_empty());
    assert!(config.database.is_none() && config.high_availability.is_none());
    assert_eq!(config.services, ServicesConfig::default());
    assert_eq!(config.scheduler, SchedulerConfig::default());
    assert_eq!(config.worker, WorkerConfig::default());
    assert_eq!(config.gateway.mode, GatewayMode::Transparent);
    assert_eq!(config.on_takeover(), OnTakeover::Changed);
}

#[test]
fn log_levels_are_read_in_any_case() {
    for (text, level) in [
        ("trace", LogLevel::Trace),
        ("Debug", LogLevel::Debug),
        ("WARN", LogLevel::Warn),
        ("err", LogLevel::Error),
    ] {
        assert_eq!(config(&format!("log_level = \"{text}\"")).log_level, level);
    }
    for bad in ["", "ERROR", " INFO"] {
        let expected = "`log_level` must be one of TRACE, DEBUG, INFO, WARN, ERR";
        assert_problem(&format!("log_level = \"{bad}\""), 1, expected);
    }
}

#[test]
fn the_port_is_a_port() {
    assert_eq!(config("port = \"0x10\"").port, 16);
    assert_problem("port = 65536", 1, "between 0 and 65535");
    assert_problem("port = -1", 1, "between 0 and 65535");
    assert_problem(
        "port = \"http\"",
        1,
        "`port` must be a whole number, not \"http\"",
    );
}

#[test]
fn an_empty_id_is_kept() {
    assert_eq!(config("id = \"\"").id, "");
    assert_eq!(config("client_type = \"x\"").id, "cts-host");
}

#[test]
fn the_working_directory_is_made_absolute() {
    let sandbox = Sandbox::new();
    let text = "working_dir = \"../x/./y\"";
    let parent = sandbox.path().parent().unwrap();
    assert_eq!(sandbox.config(text).working_dir, parent.join("x/y"));
    assert_eq!(
        config("working_dir = \"/a\"").working_dir.to_str(),
        Some("/a")
    );
}

#[test]
fn buffer_periods_are_resolved_by_the_core() {
    let seconds = |min, max| BufferPeriod {
        enabled: true,
        min: Duration::from_secs(min),
        max: Duration::from_secs(max),
    };
    let cases = [
        ("min = \"10s\"", seconds(10, 20)),
        ("min = \"30s\"", seconds(30, 30)),
        ("max = \"3s\"", seconds(5, 5)),
        ("enabled = false min = \"-1s\"", BufferPeriod::DISABLED),
    ];
    for (text, expected) in cases {
        let config = config(&format!("buffer_period {{ {text} }}"));
        assert_eq!(config.buffer_period, expected, "{text}");
    }
    assert_problem("buffer_period { max = \"-1s\" }", 1, "cannot be negative");
}

#[test]
fn the_environment_fills_what_the_files_leave_open() {
    let mut sandbox = Sandbox::new();
    for (name, value) in [
        ("CONSUL_HTTP_ADDR", " env:8500 "),
        ("CONSUL_TOKEN", ""),
        ("CONSUL_HTTP_TOKEN", "second"),
        ("CONSUL_CACERT", "ca.pem"),
        ("CONSUL_HTTP_AUTH", "user:pa:ss"),
        ("CONSUL_NAMESPACE", "ns"),
        ("CONSUL_PARTITION", "part"),
    ] {
        sandbox.set(name, value);
    }
    let consul = sandbox.config("# nothing").consul;
    assert_eq!(consul.address, "env:8500");
    assert_eq!(consul.token.unwrap().expose_secret(), "second");
    assert_eq!(consul.tls.ca_cert, "ca.pem");
    assert!(
        !consul.tls.enabled,
        "the environment must not switch on TLS"
    );
    let auth = consul.auth.unwrap();
    assert_eq!(
        (auth.username.as_str(), auth.password.expose_secret()),
        ("user", "pa:ss")
    );
    assert_eq!(consul.namespace.as_deref(), Some("ns"));
    assert_eq!(consul.partition.as_deref(), Some("part"));

    sandbox.set("CONSUL_TOKEN", "first");
    let consul = sandbox.config("consul { address = \"file:1\" }").consul;
    assert_eq!(consul.address, "file:1");
    assert_eq!(consul.token.unwrap().expose_secret(), "first");
    let consul = sandbox
        .config("consul { token = \"file\" address = \"\" }")
        .consul;
    assert_eq!(consul.token.unwrap().expose_secret(), "file");
    assert_eq!(consul.address, "env:8500");
}

#[test]
fn a_token_file_beats_the_configured_token() {
    let mut sandbox = Sandbox::new();
    sandbox.write("token", " from-file\n");
    sandbox.set("CONSUL_HTTP_TOKEN_FILE", "token");
    let consul = sandbox.config("consul { token = \"x\" }").consul;
    assert_eq!(consul.token.unwrap().expose_secret(), "from-file");

    sandbox.set("CONSUL_HTTP_TOKEN_FILE", "absent");
    let report = sandbox.refused("port = 1");
    let message = report.problems()[0].message();
    assert!(
        message.contains("absent, which CONSUL_HTTP_TOKEN_FILE names"),
        "{message}"
    );
}

#[test]
fn tls_is_switched_on_by_values_in_the_files() {
    for text in [
        "ca_cert = \"x\"",
        "key = \"x\"",
        "server_name = \"x\"",
        "verify = false",
        "verify = true",
        "enabled = true",
    ] {
        assert!(
            config(&format!("consul {{ tls {{ {text} }} }}"))
                .consul
                .tls
                .enabled,
            "{text}"
        );
    }
    for text in ["", "ca_cert = \"\"", "ca_cert = \"x\" enabled = false"] {
        assert!(
            !config(&format!("consul {{ tls {{ {text} }} }}"))
                .consul
                .tls
                .enabled,
            "{text}"
        );
    }
}

#[test]
fn https_follows_from_tls_address_or_environment() {
    assert!(config("consul { tls { verify = true } }").consul.https);
    assert!(config("consul { address = \"https://c:1\" }").consul.https);
    assert!(!config("consul { address = \"http://c:1\" }").consul.https);
    let mut sandbox = Sandbox::new();
    sandbox.set("CONSUL_HTTP_SSL", "true");
    assert!(sandbox.config("# nothing").consul.https);
    sandbox.set("CONSUL_HTTP_SSL", "maybe");
    sandbox.write("a.hcl", "port = 1");
    let loaded = sandbox.load(&["a.hcl"]).unwrap();
    assert!(!loaded.config.consul.https);
    assert!(
        loaded.warnings.problems()[0]
            .message()
            .contains("CONSUL_HTTP_SSL")
    );
}

#[test]
fn basic_authentication_is_on_if_given() {
    assert!(
        config("consul { auth { username = \"u\" } }")
            .consul
            .auth
            .is_some()
    );
    assert!(config("consul { auth { } }").consul.auth.is_none());
    assert!(
        config("consul { auth { enabled = false password = \"p\" } }")
            .consul
            .auth
            .is_none()
    );
}

#[test]
fn transport_values_are_typed() {
    let text = "consul { transport { dial_timeout = \"1m\" idle_conn_timeout = 5 max_idle_conns = \"7\" disable_keep_alives = 1 } }";
    let transport = config(text).consul.transport;
    assert_eq!(transport.dial_timeout, Duration::from_mins(1));
    assert_eq!(transport.idle_conn_timeout, Duration::from_nanos(5));
    assert_eq!(transport.max_idle_conns, 7);
    assert!(transport.disable_keep_alives);
    assert_problem(
        "consul { transport { max_idle_conns = -1 } }",
        1,
        "cannot be negative",
    );
    assert_problem(
        "consul { transport { dial_timeout = \"-1s\" } }",
        1,
        "cannot be negative",
    );
}

#[test]
fn the_address_of_the_check_is_a_url() {
    let check = |address: &str| {
        format!(
            "consul {{ service_registration {{ default_check {{ enabled = false address = \"{address}\" }} }} }}"
        )
    };
    let address = |text: &str| {
        config(text)
            .consul
            .service_registration
            .default_check
            .address
    };
    assert_eq!(address(&check("HTTPS://h:1/x")), "HTTPS://h:1/x");
    assert_eq!(
        address(&format!("port = 7\n{}", check(""))),
        "http://localhost:7"
    );
    assert_problem(&check("10.0.0.1:8558"), 1, "must include the scheme");
    assert_problem(&check("http:// x"), 1, "is no URL");
    assert_problem(&check("http-host:1"), 1, "absolute URL");
}

#[test]
fn the_worker_block_says_how_many_runs_go_on_at_a_time() {
    assert_eq!(config("worker { }").worker, WorkerConfig::default());
    let three = config("worker { slots = 3 }").worker.slots;
    assert_eq!(three.map(std::num::NonZero::get), Some(3));
    for wrong in ["0", "-1", "1025", "\"many\""] {
        let text = format!("worker {{ slots = {wrong} }}");
        let report = Sandbox::new().refused(&text);
        assert_eq!(report.problems().len(), 1, "{wrong}");
    }
}
