//! `services`, `scheduler`, `worker` and `gateway`.

use super::super::{Sandbox, assert_problem, assert_problems, problems};

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
fn limits_and_words_are_checked() {
    let cases = r#"
        scheduler { runs_kept = 4 } #~ `scheduler.runs_kept` must be between 5 and 100000, not 4
        scheduler { logs_kept = "1023KiB" } #~ `scheduler.logs_kept` must be between 1MiB and 1PiB, not 1023KiB
        scheduler { logs_kept = "20" } #~ must be a size such as "512MiB" or "20GiB", not "20"
        scheduler { logs_kept = 20 } #~ must be a size such as "512MiB" or "20GiB", not a number
        scheduler { plans_kept = "1023KiB" } #~ `scheduler.plans_kept` must be between 1MiB and 1PiB, not 1023KiB
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
        services { listen { watcher = "8561" } } #~ "8561" in `services.listen.watcher` is no address and port such as "10.0.0.1:8561" or "[::]:8561"
        services { listen { scheduler = "scheduler.example.net:8560" } } #~ is no address and port such as "10.0.0.1:8560"
        services { listen { shceduler = "10.0.0.1:8560" } } #~ unknown key `shceduler` in `services.listen`
        services { listen = "10.0.0.1:8560" } #~ must be a block
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
        ("fleet_max_shrnk { }", "did you mean `fleet_max_shrink`?"),
    ] {
        let report = Sandbox::new().refused(text);
        assert_eq!(report.problems()[0].help(), Some(help), "{text}");
    }
}
