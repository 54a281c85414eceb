//! Top level and `consul` (docs/configuration.md#top-level, docs/configuration.md#consul).

use std::time::Duration;

use cts_core::{BufferPeriod, LogLevel};

use super::{Sandbox, assert_one, assert_problem, assert_problems, config};
use crate::{Config, WorkerConfig};

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
    let cases = r#"
        port = 65536 #~ between 0 and 65535
        port = -1 #~ between 0 and 65535
        port = "http" #~ `port` must be a whole number, not "http"
    "#;
    assert_problems(cases);
}

#[test]
fn an_empty_id_is_kept() {
    assert_eq!(config("id = \"\"").id, "");
    assert_eq!(config("client_type = \"x\"").id, "cts-host");
    assert!(Sandbox::new().warnings("client_type = \"x\"").is_empty());
    assert_problem(
        "client_type { }",
        1,
        "`client_type` must be text, not a block",
    );
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
        ("", seconds(5, 20)),
        ("enabled = true", seconds(5, 20)),
        ("min = \"10s\"", seconds(10, 20)),
        ("min = \"30s\"", seconds(30, 30)),
        ("max = \"3s\"", seconds(5, 5)),
        ("min = \"10s\" max = \"60s\"", seconds(10, 60)),
        ("enabled = false", BufferPeriod::DISABLED),
        (
            "enabled = false min = \"1s\" max = \"2s\"",
            BufferPeriod::DISABLED,
        ),
        ("enabled = false min = \"-1s\"", BufferPeriod::DISABLED),
    ];
    for (text, expected) in cases {
        let config = config(&format!("buffer_period {{ {text} }}"));
        assert_eq!(config.buffer_period, expected, "{text}");
    }
    assert_problem("buffer_period { min = \"-1s\" }", 1, "cannot be negative");
    let negative = "buffer_period { min = \"7s\" max = \"-1s\" }";
    assert_eq!(
        Sandbox::new().warnings(negative),
        ["`max` of the `buffer_period` is negative, so `min` counts in its place"]
    );
    let period = config(negative).buffer_period;
    assert_eq!((period.min, period.max), (period.min, period.min));
}

#[test]
fn buffering_that_one_file_switches_off_stays_off() {
    let sandbox = Sandbox::new();
    sandbox.write("1.hcl", "buffer_period { enabled = false }");
    sandbox.write("2.hcl", "buffer_period { min = \"1s\" max = \"2s\" }");
    for order in [["1.hcl", "2.hcl"], ["2.hcl", "1.hcl"]] {
        let config = sandbox.load(&order).unwrap().config;
        assert_eq!(config.buffer_period, BufferPeriod::DISABLED, "{order:?}");
    }
}

#[test]
fn parts_of_consul_are_switched_on_by_values_in_the_files() {
    type Switch = fn(&Config) -> bool;
    let tls = |config: &Config| config.consul.tls.enabled;
    let https = |config: &Config| config.consul.https;
    let auth = |config: &Config| config.consul.auth.is_some();
    let cases: [(&str, Switch, bool); 15] = [
        ("tls { ca_cert = \"x\" }", tls, true),
        ("tls { key = \"x\" }", tls, true),
        ("tls { server_name = \"x\" }", tls, true),
        ("tls { verify = false }", tls, true),
        ("tls { verify = true }", tls, true),
        ("tls { enabled = true }", tls, true),
        ("tls { }", tls, false),
        ("tls { ca_cert = \"\" }", tls, false),
        ("tls { ca_cert = \"x\" enabled = false }", tls, false),
        ("tls { verify = true }", https, true),
        ("address = \"https://c:1\"", https, true),
        ("address = \"http://c:1\"", https, false),
        ("auth { username = \"u\" }", auth, true),
        ("auth { }", auth, false),
        ("auth { enabled = false password = \"p\" }", auth, false),
    ];
    for (text, is_on, expected) in cases {
        let config = config(&format!("consul {{ {text} }}"));
        assert_eq!(is_on(&config), expected, "{text}");
    }
}

#[test]
fn a_namespace_for_keys_has_no_effect() {
    let warnings = |text: &str| Sandbox::new().warnings(&format!("consul {{ {text} }}"));
    let found = warnings("kv_namespace = \"ns\"");
    assert_one(&found, "`consul.kv_namespace` has no effect");
    assert!(warnings("kv_namespace = \"\"").is_empty());
}

#[test]
fn consul_knows_no_other_keys() {
    for key in ["retry", "namespace", "datacenter", "partition"] {
        assert_problem(
            &format!("consul {{\n {key} = \"x\" }}"),
            2,
            &format!("unknown key `{key}` in `consul`"),
        );
    }
}

#[test]
fn licenses_are_read_and_of_no_use() {
    let warnings = |text: &str| Sandbox::new().warnings(text);
    assert_eq!(
        warnings("license { path = \"x\" auto_retrieval { enabled = false } }"),
        ["`license` has no effect: cts needs no license"]
    );
    let found = warnings("license_path = \"x\"");
    assert_one(
        &found,
        "`license_path` is deprecated, its place is `path` in a `license` block",
    );
    let cases = r#"
        license {
          pth = "x" } #~ unknown key `pth` in `license`

        license { auto_retrieval { enabled = "yes" } } #~ `license.auto_retrieval.enabled` must be true or false
    "#;
    assert_problems(cases);
}

#[test]
fn transport_values_are_typed() {
    let text = "consul { transport { dial_timeout = \"1m\" idle_conn_timeout = 5 max_idle_conns = \"7\" disable_keep_alives = 1 } }";
    let transport = config(text).consul.transport;
    assert_eq!(transport.dial_timeout, Duration::from_mins(1));
    assert_eq!(transport.idle_conn_timeout, Duration::from_nanos(5));
    assert_eq!(transport.max_idle_conns, 7);
    assert!(transport.disable_keep_alives);
    let cases = r#"
        consul { transport { dial_timeout = "-1s" } } #~ cannot be negative
    "#;
    assert_problems(cases);
}

#[test]
fn a_negative_number_of_unused_connections_keeps_none() {
    for key in ["max_idle_conns", "max_idle_conns_per_host"] {
        let text = format!("consul {{ transport {{ {key} = -1 }} }}");
        let warnings = Sandbox::new().warnings(&text);
        let expected =
            format!("`consul.transport.{key}` is negative, so no unused connection is kept");
        assert_eq!(warnings, [expected]);
        assert_eq!(config(&text).consul.transport.unused_connections(), 0);
    }
}

#[test]
fn unused_connections_are_counted_as_in_go() {
    for (keys, expected) in [
        ("", 100),
        ("max_idle_conns = 7", 7),
        ("max_idle_conns = 7 max_idle_conns_per_host = 3", 3),
        ("max_idle_conns_per_host = 0", 2),
    ] {
        let text = format!("consul {{ transport {{ {keys} }} }}");
        let transport = config(&text).consul.transport;
        assert_eq!(transport.unused_connections(), expected, "{keys}");
    }
}

#[test]
fn only_the_last_of_repeated_values_must_have_the_type() {
    let sandbox = Sandbox::new();
    let warnings = sandbox.warnings("port = \"x\"\nport = 2\nport = 3");
    assert_eq!(sandbox.config("port = \"x\"\nport = 3").port, 3);
    assert_eq!(
        warnings,
        [
            "`port` must be a whole number, not \"x\"; it has no effect, because it is repeated below"
        ]
    );
    assert_problem("port = 2\nport = \"x\"", 2, "`port` must be a whole number");
}

#[test]
fn a_bare_number_as_a_duration_is_not_taken_in_silence() {
    let warnings = |text: &str| Sandbox::new().warnings(text);
    for (text, expected) in [
        (
            "buffer_period { min = 5 }",
            "`buffer_period.min` is 5ns: a bare number is in nanoseconds; give a unit, as in \"30s\"",
        ),
        (
            "buffer_period { enabled = false min = -5 }",
            "`buffer_period.min` is -5ns: a bare number is in nanoseconds; give a unit, as in \"30s\"",
        ),
        (
            "consul { transport { dial_timeout = 30 } }",
            "`consul.transport.dial_timeout` is 30ns: a bare number",
        ),
        (
            "worker { drain_timeout = true }",
            "`worker.drain_timeout` is 1ns: a bare number",
        ),
    ] {
        let found = warnings(text);
        assert_eq!(found.len(), 1, "{text}");
        assert!(found[0].starts_with(expected), "{found:?}");
    }
    for text in [
        "buffer_period { min = 0 }",
        "buffer_period { min = 5000000000 }",
        "buffer_period { min = \"5ns\" }",
    ] {
        assert!(warnings(text).is_empty(), "{text}");
    }
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
    for accepted in [
        "http://h:",
        "http://[::1]:8558/x",
        "http://u:p@h:1",
        "http://h/%7Ea?x=%z",
    ] {
        assert_eq!(address(&check(accepted)), accepted);
    }
    let unreadable = "error with address for default check: ";
    for (written, message) in [
        (
            "10.0.0.1:8558",
            "default check address must include scheme".to_owned(),
        ),
        ("http:// x", format!("{unreadable}it is no URL")),
        (
            "http-host:1",
            format!("{unreadable}it must be an absolute URL"),
        ),
        (
            "http://h:port",
            format!("{unreadable}invalid port \":port\" after host"),
        ),
        ("http://h:99999", format!("{unreadable}invalid port")),
        (
            "http://h/%zz",
            format!("{unreadable}invalid URL escape \"%zz\""),
        ),
        ("http://h/%4", format!("{unreadable}invalid URL escape")),
    ] {
        assert_problem(&check(written), 1, &message);
    }
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
