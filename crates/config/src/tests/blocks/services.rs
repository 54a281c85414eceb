//! `services`, `scheduler`, `worker` and `gateway`.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use super::super::{Sandbox, assert_problem, assert_problems, config, problems};
use crate::{ForwardedHeader, GatewayMode, OnTakeover, ServicesTls};

#[test]
fn services_know_each_other() {
    let sandbox = Sandbox::new();
    let text = r#"services {
      schedulers = ["10.0.0.1:8560", "https://scheduler.example.net:8560"]
      watchers   = "[::1]:8561"
      plaintext  = true
      tls {
        ca_cert = "ca.pem"  cert = "/etc/service.pem"  key = "k/../key.pem"
        server_name = "cts.internal"  verify_incoming = false
      }
    }"#;
    let services = sandbox.config(text).services;
    assert_eq!(
        services.schedulers,
        ["10.0.0.1:8560", "https://scheduler.example.net:8560"]
    );
    assert_eq!(services.watchers, ["[::1]:8561"]);
    assert!(services.plaintext);
    assert_eq!(
        services.tls,
        Some(ServicesTls {
            ca_cert: sandbox.path().join("ca.pem"),
            cert: "/etc/service.pem".into(),
            key: sandbox.path().join("key.pem"),
            server_name: Some("cts.internal".into()),
            verify_incoming: false,
        })
    );
}

#[test]
fn each_service_listens_where_its_key_names() {
    let text = "services { listen { scheduler = \"10.0.0.1:8560\" watcher = \"[::]:8561\" worker = \"\" } }";
    let listen = config(text).services.listen;
    let shown = |address: Option<SocketAddr>| address.map(|address| address.to_string());
    assert_eq!(shown(listen.scheduler).as_deref(), Some("10.0.0.1:8560"));
    assert_eq!(shown(listen.watcher).as_deref(), Some("[::]:8561"));
    assert_eq!((listen.worker, listen.gateway), (None, None));
    assert_problems(
        r#"
        services { listen { watcher = "8561" } } #~ "8561" in `services.listen.watcher` is no address and port such as "10.0.0.1:8561" or "[::]:8561"
        services { listen { scheduler = "scheduler.example.net:8560" } } #~ is no address and port such as "10.0.0.1:8560"
        services { listen { shceduler = "10.0.0.1:8560" } } #~ unknown key `shceduler` in `services.listen`
        services { listen = "10.0.0.1:8560" } #~ must be a block
    "#,
    );
}

#[test]
fn clients_show_certificates_unless_told_otherwise() {
    let text = "services { tls { ca_cert = \"a\" cert = \"b\" key = \"c\" server_name = \"\" } }";
    let services = config(text).services;
    let tls = services.tls.unwrap();
    assert!(tls.verify_incoming && !services.plaintext);
    assert_eq!(tls.server_name, None);
}

#[test]
fn every_bad_address_is_found_where_it_stands() {
    let text = "services {\n schedulers = [\"a:1\",\n\"b\",\n\"ftp://c:1\"]\n watchers = [\"d:1/x\",\n\"u:hunter2@e:1\"]\n}";
    let found = problems(text);
    let expected = [
        (
            3,
            "\"b\" in `services.schedulers` needs a port between 1 and 65535, as in \"10.0.0.1:8560\"",
        ),
        (
            4,
            "\"ftp://c:1\" in `services.schedulers` has another scheme than http:// or https://",
        ),
        (
            5,
            "\"d:1/x\" in `services.watchers` must end after the port",
        ),
        (6, "a user name"),
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for ((line, message), (expected_line, part)) in found.iter().zip(expected) {
        assert_eq!(*line, expected_line);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn tls_needs_all_its_files() {
    let found = problems("services {\n tls {\n key = \"\"\n server = \"x\"\n }\n}");
    let messages: Vec<_> = found
        .iter()
        .map(|(line, text)| (*line, text.as_str()))
        .collect();
    assert_eq!(
        messages,
        [
            (2, "`services.tls` needs a `ca_cert`"),
            (2, "`services.tls` needs a `cert`"),
            (2, "`services.tls` needs a `key`"),
            (4, "unknown key `server` in `services.tls`"),
        ]
    );
    assert_problem(
        "services { tls { ca_cert = \"a\" cert = \"b\"\n key = [] } }",
        2,
        "`services.tls.key` must be text, not an empty list",
    );
    assert_problem("services {\n tls = true }", 2, "must be a block");
}

#[test]
fn the_scheduler_has_a_lease_time_and_a_habit() {
    let scheduler = config("scheduler { }").scheduler;
    assert_eq!(scheduler.lease_ttl, Duration::from_secs(30));
    assert_eq!(scheduler.on_takeover, None);
    for (text, expected) in [("3s", 3), ("1m30s", 90), ("10m", 600)] {
        let scheduler = config(&format!("scheduler {{ lease_ttl = \"{text}\" }}")).scheduler;
        assert_eq!(scheduler.lease_ttl, Duration::from_secs(expected));
    }
    assert_eq!(
        (scheduler.runs_kept, scheduler.runs_kept_for),
        (500, Duration::from_hours(2160))
    );
    let kept = config("scheduler { runs_kept = 5\n runs_kept_for = \"1m\" }").scheduler;
    assert_eq!(
        (kept.runs_kept, kept.runs_kept_for),
        (5, Duration::from_mins(1))
    );
    assert_eq!(scheduler.logs_kept, 20 << 30);
    for (text, expected) in [
        ("1MiB", 1 << 20),
        ("5GB", 5_000_000_000),
        ("1024TiB", 1 << 50),
    ] {
        let scheduler = config(&format!("scheduler {{ logs_kept = \"{text}\" }}")).scheduler;
        assert_eq!(scheduler.logs_kept, expected);
    }
    for (text, expected) in [("changed", OnTakeover::Changed), ("all", OnTakeover::All)] {
        let config = config(&format!("scheduler {{ on_takeover = \"{text}\" }}"));
        assert_eq!(config.scheduler.on_takeover, Some(expected));
        assert_eq!(config.on_takeover(), expected);
    }
}

#[test]
fn limits_and_words_are_checked() {
    let cases = r#"
        scheduler { runs_kept = 4 } #~ `scheduler.runs_kept` must be between 5 and 100000, not 4
        scheduler { logs_kept = "1023KiB" } #~ `scheduler.logs_kept` must be between 1MiB and 1PiB, not 1023KiB
        scheduler { logs_kept = "20" } #~ must be a size such as "512MiB" or "20GiB", not "20"
        scheduler { logs_kept = 20 } #~ must be a size such as "512MiB" or "20GiB", not a number
        scheduler { runs_kept_for = "59s" } #~ `scheduler.runs_kept_for` must be between 1m and 87600h, not 59s
        scheduler { lease_ttl = "2.9s" } #~ `scheduler.lease_ttl` must be between 3s and 10m, not 2.9s
        scheduler { lease_ttl = "601s" } #~ must be between 3s and 10m, not 601s
        scheduler { lease_ttl = "-30s" } #~ must be between 3s and 10m, not -30s
        scheduler { lease_ttl = 30 } #~ must be between 3s and 10m, not 30ns
        scheduler { lease_ttl = "30" } #~ must be a duration
        scheduler { on_takeover = "none" } #~ `scheduler.on_takeover` must be "changed" or "all", not "none"
        scheduler { session_ttl = "15s" } #~ unknown key `session_ttl` in `scheduler`
        worker { drain_timeout = "25h" } #~ `worker.drain_timeout` must be between 0s and 24h
        worker { slot = 3 } #~ unknown key `slot` in `worker`
        worker { environment = ["HOME", "*_TOKEN"] } #~ such as "AWS_*", not "*_TOKEN"
        worker { environment = ["A=b"] } #~ not "A=b"
        worker { environment = [""] } #~ not ""
        worker { go_gc = -1 } #~ `worker.go_gc` must be between 0 and 10000
        gateway { mode = "strict" } #~ must be "transparent" or "strict-follower", not "strict"
        gateway { port = 1 } #~ unknown key `port` in `gateway`
        gateway { trusted_proxies = ["10.0.0.1", "proxy"] } #~ "proxy" in `gateway.trusted_proxies` is no address
        gateway { forwarded_header = "X-Real-IP" } #~ `gateway.forwarded_header` must be "X-Forwarded-For" or "Forwarded", not "X-Real-IP"
        gateway { limits { streams = 0 } } #~ `gateway.limits.streams` must be between 1 and 1000000
        gateway { limits { request_time = "10ms" } } #~ `gateway.limits.request_time` must be between 1s and 1h
        gateway { limits { answer_size = "1KiB" } } #~ `gateway.limits.answer_size` must be between 1MiB and 4GiB
        services { limits { conections = 7 } } #~ unknown key `conections` in `services.limits`
    "#;
    assert_problems(cases);
}

#[test]
fn remedies_are_suggested() {
    for (text, help) in [
        (
            "scheduler { lease_ttl = 30 }",
            "a bare number is in nanoseconds; give a unit, as in \"30s\"",
        ),
        (
            "gateway { mode = \"Transparent\" }",
            "did you mean `transparent`?",
        ),
        ("worker { slot = 3 }", "did you mean `slots`?"),
        ("shceduler { }", "did you mean `scheduler`?"),
        ("high_availibility { }", "did you mean `high_availability`?"),
    ] {
        let report = Sandbox::new().refused(text);
        assert_eq!(report.problems()[0].help(), Some(help), "{text}");
    }
}

#[test]
fn a_worker_has_a_directory_and_drains() {
    let sandbox = Sandbox::new();
    let worker = sandbox
        .config("worker { working_dir = \"w/./1\" drain_timeout = \"0s\" }")
        .worker;
    assert_eq!(worker.working_dir, Some(sandbox.path().join("w/1")));
    assert_eq!(worker.drain_timeout, Duration::ZERO);
    let worker = sandbox
        .config("worker { working_dir = \"\" slots = 1 }")
        .worker;
    assert_eq!(worker.working_dir, None);
    assert_eq!(worker.drain_timeout, Duration::from_mins(10));
    assert_eq!(worker.environment, None);
    assert_eq!(worker.go_gc.map(NonZeroU32::get), Some(400));
    let worker = sandbox.config("worker { go_gc = 0 }").worker;
    assert_eq!(worker.go_gc, None);
}

#[test]
fn a_worker_may_narrow_the_environment_of_terraform() {
    let names = |text: &str| config(text).worker.environment.unwrap();
    let text = "worker { environment = [\"PATH\", \"AWS_*\", \"*\"] }";
    assert_eq!(names(text), ["PATH", "AWS_*", "*"]);
    assert!(names("worker { environment = [] }").is_empty());
}

#[test]
fn clients_have_limits() {
    let limits = config("").gateway.limits;
    assert_eq!(
        (limits.streams.total, limits.streams.per_client),
        (1024, 256)
    );
    let text = "gateway { trusted_proxies = [\"::1\", \"10.0.0.0/8\"]
        limits { streams = 3 answer_rate = \"2KiB\" } }
        services { limits { connections_per_client = 4 } }";
    let config = config(text);
    let limits = config.gateway.limits;
    assert_eq!((limits.streams.total, limits.streams.per_client), (3, 256));
    assert_eq!(limits.answer_rate, 2048);
    let proxies: Vec<String> = config
        .gateway
        .trusted_proxies
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(proxies, ["::1/128", "10.0.0.0/8"]);
    let connections = config.services.limits.connections;
    assert_eq!((connections.total, connections.per_client), (4096, 4));
}

#[test]
fn a_gateway_has_a_mode_and_one_header_of_proxies_counts() {
    let gateway = |text: &str| {
        let gateway = config(&format!("gateway {{ {text} }}")).gateway;
        (gateway.mode, gateway.forwarded_header)
    };
    let usual = (GatewayMode::Transparent, ForwardedHeader::XForwardedFor);
    let other = (GatewayMode::StrictFollower, ForwardedHeader::Forwarded);
    for (text, expected) in [
        ("", usual),
        (
            r#"mode = "transparent" forwarded_header = "X-Forwarded-For""#,
            usual,
        ),
        (
            r#"mode = "strict-follower" forwarded_header = "Forwarded""#,
            other,
        ),
    ] {
        assert_eq!(gateway(text), expected, "{text}");
    }
}

#[test]
fn worker_configurations_need_no_tasks() {
    let config = config("services { schedulers = [\"a:1\"] }\nworker { slots = 2 }");
    assert!(config.tasks.is_empty());
}
