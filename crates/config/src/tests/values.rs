//! Top level and `consul` (docs/configuration.md#top-level, docs/configuration.md#consul).

use cts_core::BufferPeriod;

use super::{Sandbox, assert_one, assert_problem, assert_problems, config};

#[test]
fn wrong_values_are_refused() {
    let cases = r#"
        log_level = "" #~ `log_level` must be one of TRACE, DEBUG, INFO, WARN, ERR
        log_level = "ERROR" #~ `log_level` must be one of TRACE, DEBUG, INFO, WARN, ERR
        log_level = " INFO" #~ `log_level` must be one of TRACE, DEBUG, INFO, WARN, ERR
        port = 65536 #~ between 0 and 65535
        port = -1 #~ between 0 and 65535
        port = "http" #~ `port` must be a whole number, not "http"
        client_type { } #~ `client_type` must be text, not a block
        buffer_period { min = "-1s" } #~ cannot be negative
        consul { retry = "x" } #~ unknown key `retry` in `consul`
        consul { namespace = "x" } #~ unknown key `namespace` in `consul`
        consul { datacenter = "x" } #~ unknown key `datacenter` in `consul`
        consul { partition = "x" } #~ unknown key `partition` in `consul`
        consul { transport { dial_timeout = "-1s" } } #~ cannot be negative
        worker { slots = 0 } #~ `worker.slots` must be between 1 and 1024
        worker { slots = -1 } #~ `worker.slots` must be between 1 and 1024
        worker { slots = 1025 } #~ `worker.slots` must be between 1 and 1024
        worker { slots = "many" } #~ `worker.slots` must be a whole number
    "#;
    assert_problems(cases);
    assert!(Sandbox::new().warnings("client_type = \"x\"").is_empty());
    assert_eq!(
        Sandbox::new().warnings("buffer_period { min = \"7s\" max = \"-1s\" }"),
        ["`max` of the `buffer_period` is negative, so `min` counts in its place"]
    );
}

#[test]
fn an_address_or_tls_switches_on_encryption() {
    for (text, expected) in [
        ("tls { verify = true }", true),
        ("address = \"https://c:1\"", true),
        ("address = \"http://c:1\"", false),
    ] {
        let config = config(&format!("consul {{ {text} }}"));
        assert_eq!(config.consul.https, expected, "{text}");
    }
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
fn a_namespace_for_keys_has_no_effect() {
    let warnings = |text: &str| Sandbox::new().warnings(&format!("consul {{ {text} }}"));
    let found = warnings("kv_namespace = \"ns\"");
    assert_one(&found, "`consul.kv_namespace` has no effect");
    assert!(warnings("kv_namespace = \"\"").is_empty());
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
