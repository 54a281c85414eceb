//! Keys with the values that they set (docs/configuration.md#reference).
//!
//! The snapshot of a minimal configuration in `dump.rs` has the defaults.

use super::{assert_values, task_with};

#[test]
fn keys_of_the_top_level() {
    let cases = r#"
        log_level = "trace" #~ /log_level "TRACE"
        log_level = "Debug" #~ /log_level "DEBUG"
        log_level = "WARN" #~ /log_level "WARN"
        log_level = "err" #~ /log_level "ERR"
        port = "0x10" #~ /port 16
        id = "" #~ /id ""
        client_type = "x" #~ /id "cts-host"
        working_dir = "x/./y/../z" #~ /working_dir "/cwd/x/z"
        working_dir = "/a" #~ /working_dir "/a"
        approval = "destroy" #~ /approval "destroy"
        approval = "always" #~ /approval_expires "24h"
        approval_expires = "1m" #~ /approval_expires "1m"
        approval_expires = "90s" #~ /approval "never"
        buffer_period { } #~ /buffer_period {"enabled": true, "min": "5s", "max": "20s"}
        buffer_period { enabled = true } #~ /buffer_period {"enabled": true, "min": "5s", "max": "20s"}
        buffer_period { min = "10s" } #~ /buffer_period {"enabled": true, "min": "10s", "max": "20s"}
        buffer_period { min = "30s" } #~ /buffer_period {"enabled": true, "min": "30s", "max": "30s"}
        buffer_period { max = "3s" } #~ /buffer_period {"enabled": true, "min": "5s", "max": "5s"}
        buffer_period { min = "10s" max = "60s" } #~ /buffer_period {"enabled": true, "min": "10s", "max": "1m"}
        buffer_period { min = "7s" max = "-1s" } #~ /buffer_period {"enabled": true, "min": "7s", "max": "7s"}
        buffer_period { enabled = false min = "-1s" max = "2s" } #~ /buffer_period {"enabled": false}
        syslog { facility = "" name = "" } #~ /syslog {"enabled": false}
        syslog { enabled = false facility = "nonsense" } #~ /syslog {"enabled": false}
        syslog { enabled = true } #~ /syslog {"enabled": true, "facility": "LOCAL0", "name": "consul-terraform-sync"}
        syslog { facility = "local3" } #~ /syslog {"enabled": true, "facility": "LOCAL3", "name": "consul-terraform-sync"}
        syslog { name = "cts" } #~ /syslog {"enabled": true, "facility": "LOCAL0", "name": "cts"}
        syslog { facility = "AuthPriv" name = "x" } #~ /syslog {"enabled": true, "facility": "AUTHPRIV", "name": "x"}
    "#;
    assert_values(cases, str::to_owned);
}

#[test]
fn keys_of_connections() {
    let cases = r#"
        consul { tls { ca_cert = "x" } } #~ /consul/tls/enabled true
        consul { tls { key = "x" } } #~ /consul/tls/enabled true
        consul { tls { server_name = "x" } } #~ /consul/tls/enabled true
        consul { tls { verify = false } } #~ /consul/tls/enabled true
        consul { tls { verify = true } } #~ /consul/tls/enabled true
        consul { tls { enabled = true } } #~ /consul/tls/enabled true
        consul { tls { } } #~ /consul/tls/enabled false
        consul { tls { ca_cert = "" } } #~ /consul/tls/enabled false
        consul { tls { ca_cert = "x" enabled = false } } #~ /consul/tls/enabled false
        consul { auth { username = "u" } } #~ /consul/auth {"enabled": true, "username": "u", "password": ""}
        consul { auth { } } #~ /consul/auth {"enabled": false}
        consul { auth { enabled = false password = "p" } } #~ /consul/auth {"enabled": false}
        consul { hold_filtered = true } #~ /consul/hold_filtered true
        consul { transport { dial_timeout = "1m" } } #~ /consul/transport/dial_timeout "1m"
        consul { transport { idle_conn_timeout = 5 } } #~ /consul/transport/idle_conn_timeout "5ns"
        consul { transport { max_idle_conns = "7" } } #~ /consul/transport/max_idle_conns 7
        consul { transport { disable_keep_alives = 1 } } #~ /consul/transport/disable_keep_alives true
        consul { address = "http://c:1/" } #~ /consul/address "http://c:1"
        consul { address = "http://c:1/" } #~ /driver/terraform/backend/consul/address "http://c:1"
        vault { } #~ /vault {"enabled": false}
        vault { address = "" token = "x" } #~ /vault {"enabled": false}
        vault { address = "http://v:1" enabled = false } #~ /vault {"enabled": false}
        vault { address = "http://v:1" } #~ /vault/address "http://v:1"
        vault { enabled = true } #~ /vault/address "https://127.0.0.1:8200"
        vault { enabled = true } #~ /vault/token ""
        vault { enabled = true } #~ /vault/namespace ""
        vault { enabled = true } #~ /vault/renew_token false
        vault { enabled = true } #~ /vault/unwrap_token false
        vault { enabled = true } #~ /vault/tls {"enabled": true, "verify": true, "ca_cert": "", "ca_path": "", "cert": "", "key": "", "server_name": ""}
        vault { enabled = true } #~ /vault/transport/max_idle_conns_per_host 100
        vault { enabled = true namespace = "net" } #~ /vault/namespace "net"
        vault { enabled = true token = "s.x" } #~ /vault/renew_token true
        vault { enabled = true unwrap_token = true } #~ /vault/unwrap_token true
        vault { enabled = true tls { enabled = false verify = false ca_cert = "a" } } #~ /vault/tls/enabled false
        vault { enabled = true tls { enabled = false verify = false ca_cert = "a" } } #~ /vault/tls/verify false
        vault { enabled = true tls { ca_cert = "a" } } #~ /vault/tls/ca_cert "a"
        vault { enabled = true tls { ca_path = "b" } } #~ /vault/tls/ca_path "b"
        vault { enabled = true tls { cert = "c" } } #~ /vault/tls/cert "c"
        vault { enabled = true tls { key = "d" } } #~ /vault/tls/key "d"
        vault { enabled = true tls { server_name = "e" } } #~ /vault/tls/server_name "e"
        vault { enabled = true transport { dial_timeout = "1m" } } #~ /vault/transport/dial_timeout "1m"
        database { url = "postgresql:///cts?host=/run/pg" } #~ /database {"url": "postgresql:///cts?host=/run/pg", "max_connections": 16}
        database { url = "POSTGRES://db" max_connections = 3 ca_cert = "tls/ca.pem" } #~ /database {"url": "POSTGRES://db", "max_connections": 3, "ca_cert": "/cwd/tls/ca.pem"}
    "#;
    assert_values(cases, str::to_owned);
}

#[test]
fn keys_of_services_that_run_apart() {
    let cases = r#"
        services { schedulers = ["10.0.0.1:8560", "https://s.example:8560"] } #~ /services/schedulers ["10.0.0.1:8560", "https://s.example:8560"]
        services { watchers = "[::1]:8561" } #~ /services/watchers ["[::1]:8561"]
        services { plaintext = true } #~ /services/plaintext true
        services { listen { scheduler = "10.0.0.1:8560" watcher = "[::]:8561" worker = "" } } #~ /services/listen {"scheduler": "10.0.0.1:8560", "watcher": "[::]:8561"}
        services { tls { ca_cert = "ca.pem" cert = "/b.pem" key = "k/../key.pem" server_name = "" } } #~ /services/tls {"ca_cert": "/cwd/ca.pem", "cert": "/b.pem", "key": "/cwd/key.pem", "verify_incoming": true}
        services { tls { ca_cert = "/a" cert = "/b" key = "/c" server_name = "n" verify_incoming = false } } #~ /services/tls {"ca_cert": "/a", "cert": "/b", "key": "/c", "server_name": "n", "verify_incoming": false}
        services { limits { connections_per_client = 4 } } #~ /services/limits {"connections": 4096, "connections_per_client": 4}
        scheduler { lease_ttl = "3s" } #~ /scheduler/lease_ttl "3s"
        scheduler { lease_ttl = "1m30s" } #~ /scheduler/lease_ttl "90s"
        scheduler { lease_ttl = "10m" } #~ /scheduler/lease_ttl "10m"
        scheduler { runs_kept = 5 } #~ /scheduler/runs_kept 5
        scheduler { runs_kept_for = "1m" } #~ /scheduler/runs_kept_for "1m"
        scheduler { logs_kept = "1MiB" } #~ /scheduler/logs_kept "1MiB"
        scheduler { plans_kept = "1MiB" } #~ /scheduler/plans_kept "1MiB"
        scheduler { logs_kept = "5GB" } #~ /scheduler/logs_kept "5GB"
        scheduler { logs_kept = "1024TiB" } #~ /scheduler/logs_kept "1PiB"
        scheduler { on_takeover = "changed" } #~ /scheduler/on_takeover "changed"
        scheduler { on_takeover = "all" } #~ /scheduler/on_takeover "all"
        worker { slots = 3 } #~ /worker/slots 3
        worker { working_dir = "w/./1" } #~ /worker/working_dir "/cwd/w/1"
        worker { working_dir = "" } #~ /worker/working_dir null
        worker { drain_timeout = "0s" } #~ /worker/drain_timeout "0s"
        worker { environment = ["PATH", "AWS_*", "*"] } #~ /worker/environment ["PATH", "AWS_*", "*"]
        worker { environment = [] } #~ /worker/environment []
        worker { go_gc = 0 } #~ /worker/go_gc 0
        security { plan_values = "operate" } #~ /security/plan_values "operate"
        security { require_auth = true } #~ /security/plan_values "read"
        gateway { mode = "transparent" } #~ /gateway/mode "transparent"
        gateway { mode = "strict-follower" } #~ /gateway/mode "strict-follower"
        gateway { trusted_proxies = ["::1", "10.0.0.0/8"] } #~ /gateway/trusted_proxies ["::1/128", "10.0.0.0/8"]
        gateway { forwarded_header = "X-Forwarded-For" } #~ /gateway/forwarded_header "X-Forwarded-For"
        gateway { forwarded_header = "Forwarded" } #~ /gateway/forwarded_header "Forwarded"
        gateway { limits { streams = 3 } } #~ /gateway/limits/streams 3
        gateway { limits { streams = 3 } } #~ /gateway/limits/streams_per_client 256
        gateway { limits { answer_rate = "2KiB" } } #~ /gateway/limits/answer_rate "2KiB"
        telemetry { listen = "[::1]:9464" } #~ /telemetry/listen "[::1]:9464"
        telemetry { task_names = 0 } #~ /telemetry/task_names 0
        telemetry { traces_kept = 5 } #~ /telemetry/traces_kept 5
        telemetry { otlp { endpoint = "https://o:4317" interval = "10s" } } #~ /telemetry/otlp {"endpoint": "https://o:4317", "interval": "10s", "signals": ["metrics", "traces"]}
    "#;
    assert_values(cases, str::to_owned);
}

#[test]
fn keys_of_the_brake_of_the_fleet() {
    let cases = r#"
        port = 1 #~ /fleet_max_shrink null
        fleet_max_shrink { } #~ /fleet_max_shrink {"share": "20%", "within": "10m", "at_least": 20}
        fleet_max_shrink { share = "1%" } #~ /fleet_max_shrink {"share": "1%", "within": "10m", "at_least": 20}
        fleet_max_shrink { share = "100%" within = "24h" } #~ /fleet_max_shrink {"share": "100%", "within": "24h", "at_least": 20}
        fleet_max_shrink { within = "1m" at_least = 1 } #~ /fleet_max_shrink {"share": "20%", "within": "1m", "at_least": 1}
        fleet_max_shrink { at_least = "1_000_000" } #~ /fleet_max_shrink/at_least 1000000
    "#;
    assert_values(cases, str::to_owned);
}

#[test]
fn keys_of_security() {
    let cases = r#"
        key_file = "k" #~ /key_file "/cwd/k"
        hosts = ["CTS.example"] #~ /hosts ["cts.example"]
        origins = ["https://OPS.example:443"] #~ /origins ["https://ops.example"]
        domain = "cts.example" #~ /domain "cts.example"
        module_sources = [] #~ /module_sources []
        audit { kept_for = "720h" kept = 5000 file = "a.jsonl" } #~ /audit {"kept_for": "720h", "kept": 5000, "file": "/cwd/a.jsonl"}
        oidc { issuer = "http://127.0.0.1:80" audience = "a" roles = { o = "operate" } } #~ /oidc [{"issuer": "http://127.0.0.1:80", "audience": ["a"], "name_claim": "sub", "role_claim": "roles", "roles": {"o": "operate"}, "clock_skew": "1m"}]
        oidc { issuer = "https://i" audience = ["a", "b"] name_claim = "n" role_claim = "r.s" roles = { p = "admin" } clock_skew = "30s" ca_cert = "ca" } #~ /oidc [{"issuer": "https://i", "audience": ["a", "b"], "name_claim": "n", "role_claim": "r.s", "roles": {"p": "admin"}, "clock_skew": "30s", "ca_cert": "/cwd/ca"}]
    "#;
    assert_values(&cases.replace("#~ /", "#~ /security/"), |text| {
        format!("security {{ {text} }}")
    });
}

#[test]
fn keys_of_the_page() {
    let cases = r#"
        port = 1 #~ /page {"enabled": true, "path_prefix": "/ui/", "name": "", "color": "slate", "session": "8h"}
        page { enabled = false } #~ /page/enabled false
        page { listen = "10.0.0.1:8559" path_prefix = "/cts/prod/" } #~ /page {"enabled": true, "listen": "10.0.0.1:8559", "path_prefix": "/cts/prod/", "name": "", "color": "slate", "session": "8h"}
        page { url = "https://CTS.example:443/" } #~ /page/url "https://cts.example"
        page { name = "prod" color = "red" } #~ /page {"enabled": true, "path_prefix": "/ui/", "name": "prod", "color": "red", "session": "8h"}
        page { session = "168h" } #~ /page/session "168h"
        security { oidc { issuer = "https://i" audience = "c" roles = { o = "read" } } } page { login { issuer = "https://i" client_id = "c" } } #~ /page/login {"issuer": "https://i", "client_id": "c", "scopes": ["openid"], "token": "id"}
        security { oidc { issuer = "https://i" audience = "c" roles = { o = "read" } } } page { login { issuer = "https://i" client_id = "c" client_secret_file = "s" scopes = ["a", "b"] token = "access" } } #~ /page/login {"issuer": "https://i", "client_id": "c", "client_secret_file": "/cwd/s", "scopes": ["a", "b"], "token": "access"}
    "#;
    assert_values(cases, str::to_owned);
}

#[test]
fn keys_of_the_driver() {
    let cases = r#"
        engine = "" #~ /engine "terraform"
        engine = "terraform" #~ /engine "terraform"
        engine = "opentofu" version = "v1.10.6" #~ /engine "opentofu"
        engine = "opentofu" version = "v1.10.6" #~ /version "1.10.6"
        version = "1.9.8" #~ /version "1.9.8"
        version = "" #~ /version null
        path = "bin" #~ /path "/cwd/bin"
        path = "" #~ /path null
        releases_url = "http://mirror:8080/tofu/" #~ /releases_url "http://mirror:8080/tofu"
        releases_url = "" #~ /releases_url null
        release_keys = ["keys/a.asc", "/b.asc"] #~ /release_keys ["/cwd/keys/a.asc", "/b.asc"]
        log = true #~ /log true
        persist_log = true #~ /persist_log true
        release_lost_locks = true #~ /release_lost_locks true
        init_timeout = "1s" #~ /init_timeout "1s"
        plan_timeout = "2m" #~ /plan_timeout "2m"
        apply_timeout = "720h" #~ /apply_timeout "720h"
        parallelism = 1 #~ /parallelism 1
        refresh = false #~ /refresh false
        lock_timeout = "90s" #~ /lock_timeout "90s"
        backend "local" { path = "x" } #~ /backend {"local": {"path": "x"}}
        backend "consul" { address = "d:2/" } #~ /backend/consul/address "d:2"
        backend { } #~ /backend/consul/address "localhost:8500"
        previous_backend "consul" { path = "old" access_token = "t" } #~ /previous_backend/consul {"address": "localhost:8500", "path": "old", "gzip": true, "access_token": "(hidden)"}
        required_providers { fw = { source = "a/fw" aliases = ["x"] } dns = "3.4.0" } #~ /required_providers {"fw": {"source": "a/fw", "aliases": "x"}, "dns": "3.4.0"}
    "#;
    // The pointer of a line begins inside of the driver.
    let cases = cases.replace("#~ /", "#~ /driver/terraform/");
    assert_values(&cases, |text| format!("driver \"terraform\" {{ {text} }}"));
}

#[test]
fn keys_of_the_driver_terraform_cloud() {
    let cases = r#"
        hostname = "" #~ /hostname "https://app.terraform.io"
        hostname = "https://tfe.example" #~ /hostname "https://tfe.example"
        hostname = "https://TFE.example:8443/" #~ /hostname "https://TFE.example:8443/"
        hostname = " https://tfe.example " #~ /hostname " https://tfe.example "
        workspaces { } #~ /workspaces {"prefix": "", "tags": [], "tags_allowlist": [], "tags_denylist": []}
        workspaces { prefix = "Net_1-" tags = ["team:network", "a-b_c"] } #~ /workspaces {"prefix": "Net_1-", "tags": ["team:network", "a-b_c"], "tags_allowlist": [], "tags_denylist": []}
        workspaces { tags_allowlist = "c" tags_denylist = ["d"] } #~ /workspaces {"prefix": "", "tags": [], "tags_allowlist": ["c"], "tags_denylist": ["d"]}
        required_providers { fw = { source = "a/fw" } } #~ /required_providers {"fw": {"source": "a/fw"}}
        tls { } #~ /tls/enabled false
        tls { ca_cert = "ca" } #~ /tls/enabled true
    "#;
    let cases = cases.replace("#~ /", "#~ /driver/terraform-cloud/");
    assert_values(&cases, |text| {
        format!("driver \"terraform-cloud\" {{ organization = \"o\" token = \"t\" {text} }}")
    });
}

#[test]
fn keys_of_a_cluster() {
    let cases = r#"
        storage "consul" { } #~ /cluster/storage {"consul": {"parent_path": "consul-terraform-sync/", "session_ttl": "15s"}}
        storage consul { namespace = "" } #~ /cluster/storage/consul/namespace null
        storage "consul" { parent_path = "cts" namespace = "ops" session_ttl = "30s" } #~ /cluster/storage {"consul": {"parent_path": "cts", "namespace": "ops", "session_ttl": "30s"}}
        storage "Postgres" { } #~ /cluster/storage {"postgres": {"session_ttl": "15s"}}
        } instance { address = "cts-1.example.net" #~ /instance {"address": "cts-1.example.net"}
        } instance { #~ /instance {}
    "#;
    let cases = cases.replace("#~ /", "#~ /high_availability/");
    assert_values(&cases, |text| {
        format!("high_availability {{ cluster {{ name = \"edge\" {text} }} }}")
    });
}

#[test]
fn keys_of_tasks() {
    let cases = r#"
        on_delete = "destroy" #~ /on_delete "destroy"
        on_delete = "retain" #~ /on_delete null
        description = "open" #~ /description "open"
        description = "open" #~ /enabled true
        description = "open" #~ /skip_unchanged true
        description = "open" #~ /retry_failed true
        enabled = false #~ /enabled false
        module = "acme/allow/fw" version = "1.2.0" #~ /version "1.2.0"
        providers = ["fw.north", "dns"] #~ /providers ["fw.north", "dns"]
        working_dir = "./own/../d" #~ /working_dir "/cwd/d"
        working_dir = "/d" #~ /working_dir "/d"
        working_dir = "" #~ /working_dir null
        skip_unchanged = false #~ /skip_unchanged false
        retry_failed = false #~ /retry_failed false
        init_timeout = "1m" #~ /init_timeout "1m"
        plan_timeout = "90s" #~ /plan_timeout "90s"
        apply_timeout = "48h" #~ /apply_timeout "48h"
        min_instances = 2 #~ /min_instances 2
        max_shrink = 3 #~ /max_shrink "3"
        max_shrink = "50%" #~ /max_shrink "50%"
        concurrency_group = "fw.north" #~ /concurrency_group "fw.north"
        approval = "never" #~ /approval "never"
        approval = "always" #~ /approval "always"
        enabled = true #~ /approval null
        approval_ignore = ["a.b.c", "module.m.a.b[0].t[\"k\"]"] #~ /approval_ignore ["a.b.c", "module.m.a.b[0].t[\"k\"]"]
        enabled = true #~ /approval_ignore null
        plan = "saved" #~ /plan "saved"
        plan = "direct" #~ /plan null
        outputs = ["address", "to-ken"] #~ /outputs ["address", "to-ken"]
        buffer_period { min = "2s" } #~ /buffer_period {"enabled": true, "min": "2s", "max": "8s"}
        variables { } #~ /variables null
    "#;
    assert_values(&cases.replace("#~ /", "#~ /task/0/"), task_with);
    let cases = r#"
        condition "services" { names = ["b", "a"] datacenter = "lab" namespace = "ns" filter = "x" use_as_module_input = false } #~ {"services": {"names": ["b", "a"], "datacenter": "lab", "namespace": "ns", "filter": "x", "cts_user_defined_meta": {}, "use_as_module_input": false}}
        condition "services" { names = ["a"] cts_user_defined_meta { zone = "dmz" level = 3 } } #~ {"services": {"names": ["a"], "datacenter": "", "namespace": "", "filter": "", "cts_user_defined_meta": {"zone": "dmz", "level": "3"}, "use_as_module_input": true}}
        condition "services" { regexp = "" } #~ {"services": {"regexp": "", "datacenter": "", "namespace": "", "filter": "", "cts_user_defined_meta": {}, "use_as_module_input": true}}
        condition "services" { names = [] regexp = "a" } #~ {"services": {"regexp": "a", "datacenter": "", "namespace": "", "filter": "", "cts_user_defined_meta": {}, "use_as_module_input": true}}
        condition services { names = "a" } #~ {"services": {"names": ["a"], "datacenter": "", "namespace": "", "filter": "", "cts_user_defined_meta": {}, "use_as_module_input": true}}
        condition "catalog-services" { regexp = "^w" datacenter = "dc" namespace = "ns" node_meta { rack = 7 } use_as_module_input = false } #~ {"catalog-services": {"regexp": "^w", "datacenter": "dc", "namespace": "ns", "node_meta": {"rack": "7"}, "use_as_module_input": false}}
        condition "consul-kv" { path = "/a" recurse = 1 datacenter = "dc" namespace = "ns" } #~ {"consul-kv": {"path": "/a", "recurse": true, "datacenter": "dc", "namespace": "ns", "use_as_module_input": true}}
        condition "schedule" { cron = "@daily" } #~ {"schedule": {"cron": "@daily"}}
        condition "no-condition" { } #~ {"no-condition": {}}
    "#;
    assert_values(&cases.replace("#~ ", "#~ /task/0/condition "), |text| {
        format!("task {{ name = \"t\" module = \"./m\" {text} }}")
    });
}

#[test]
fn the_buffer_period_of_a_task_follows_the_global_one() {
    let cases = r#"
        min = "10s" max = "100s" | #~ {"enabled": true, "min": "10s", "max": "100s"}
        min = "10s" max = "100s" | buffer_period { } #~ {"enabled": true, "min": "10s", "max": "100s"}
        min = "10s" max = "100s" | buffer_period { enabled = true } #~ {"enabled": true, "min": "10s", "max": "40s"}
        min = "10s" max = "100s" | buffer_period { max = "3s" } #~ {"enabled": true, "min": "10s", "max": "10s"}
        min = "10s" max = "100s" | buffer_period { min = "7s" } #~ {"enabled": true, "min": "7s", "max": "28s"}
        min = "10s" max = "100s" | buffer_period { min = "7s" max = "3s" } #~ {"enabled": true, "min": "7s", "max": "7s"}
        min = "10s" max = "100s" | buffer_period { min = "0s" } #~ {"enabled": true, "min": "0s", "max": "0s"}
        min = "10s" max = "100s" | buffer_period { enabled = false min = "-1s" } #~ {"enabled": false}
        enabled = false | buffer_period { } #~ {"enabled": false}
        enabled = false | buffer_period { enabled = true } #~ {"enabled": true, "min": "5s", "max": "20s"}
        enabled = false | buffer_period { max = "3s" } #~ {"enabled": true, "min": "5s", "max": "5s"}
        enabled = false | buffer_period { min = "7s" } #~ {"enabled": true, "min": "7s", "max": "28s"}
        enabled = false | buffer_period { enabled = false } #~ {"enabled": false}
    "#;
    let cases = cases.replace("#~ ", "#~ /task/0/buffer_period ");
    assert_values(&cases, |text| {
        let (global, own) = text.split_once('|').unwrap_or((text, ""));
        format!("buffer_period {{ {global} }}\n{}", task_with(own))
    });
}

#[test]
fn keys_of_a_task_for_the_driver_terraform_cloud() {
    let cases = r#"
        { } #~ null
        { execution_mode = "" } #~ null
        { execution_mode = "remote" } #~ {"execution_mode": "remote", "auto_upgrade_tf_version": true}
        { terraform_version = "1.9.8" } #~ {"execution_mode": "remote", "terraform_version": "1.9.8", "auto_upgrade_tf_version": true}
        { execution_mode = "agent" agent_pool_name = "p" auto_upgrade_tf_version = false } #~ {"execution_mode": "agent", "agent_pool_name": "p", "auto_upgrade_tf_version": false}
        { execution_mode = "agent" agent_pool_name = "p" agent_pool_id = "i" } #~ {"execution_mode": "agent", "agent_pool_id": "i", "auto_upgrade_tf_version": true}
    "#;
    let cases = cases.replace("#~ ", "#~ /task/0/terraform_cloud_workspace ");
    assert_values(&cases, |text| {
        let task = task_with(&format!("terraform_cloud_workspace {text}"));
        format!("{task}\ndriver \"terraform-cloud\" {{ organization = \"o\" }}")
    });
}

#[test]
fn keys_of_webhooks() {
    let cases = r#"
        url = "http://hooks" #~ /url "http://hooks"
        url = "http://hooks" #~ /secret null
        url = "http://hooks" #~ /timeout "10s"
        url = "http://hooks" #~ /retries 3
        url = "http://hooks" #~ /tls/verify true
        url = "http://hooks" secret = "s" #~ /secret "(hidden)"
        url = "http://hooks" timeout = "5s" #~ /timeout "5s"
        url = "http://hooks" retries = 0 #~ /retries 0
        url = "http://hooks" tls { ca_cert = "/c.pem" } #~ /tls/ca_cert "/c.pem"
    "#;
    assert_values(&cases.replace("#~ /", "#~ /webhook/0/w/"), |text| {
        format!("webhook \"w\" {{ {text} }}")
    });
}
