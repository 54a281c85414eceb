//! The top level, and the small blocks.

use std::num::NonZeroU32;

use cts_core::size_text;
use secrecy::ExposeSecret;
use serde_json::Value;

use crate::blocks::client_limits::{CONNECTIONS, ClientLimit, STREAMS, WAITING};
use crate::blocks::database::{DatabaseConfig, DatabaseUrl};
use crate::blocks::gateway::{ForwardedHeader, GatewayConfig, GatewayMode};
use crate::blocks::high_availability::{HaStorage, HighAvailability};
use crate::blocks::scheduler::OnTakeover;
use crate::blocks::security::{AuditConfig, OidcConfig, SecurityConfig};
use crate::blocks::services::{ListenConfig, ServicesConfig};
use crate::blocks::syslog::SyslogConfig;
use crate::blocks::tls::ApiTls;
use crate::blocks::worker::WorkerConfig;
use crate::config::Config;
use crate::decode::units::duration;
use crate::dump::connections::{consul, vault};
use crate::dump::drivers::{driver, providers, webhooks};
use crate::dump::tasks::tasks;
use crate::dump::telemetry::telemetry;
use crate::dump::tree::Body;
use crate::dump::values::{buffer_period, path};
use crate::top_level::LOG_LEVELS;

pub(super) fn tree(config: &Config) -> Body {
    let mut top = Body::default();
    top.set("log_level", LOG_LEVELS[config.log_level as usize].1);
    top.set("port", config.port);
    top.set("id", config.id.as_str());
    top.set("working_dir", path(&config.working_dir));
    let roots = &config.module_roots.named;
    if !roots.is_empty() {
        let roots: Vec<String> = roots.iter().map(|root| path(root)).collect();
        top.set("module_roots", roots);
    }
    top.block("syslog", syslog(config.syslog.as_ref()));
    top.block("tls", tls(config.tls.as_ref()));
    top.block("buffer_period", buffer_period(config.buffer_period));
    top.block("consul", consul(&config.consul));
    top.block("vault", vault(config.vault.as_ref()));
    driver(&mut top, config);
    providers(&mut top, &config.providers);
    webhooks(&mut top, &config.webhooks);
    if let Some(block) = &config.database {
        top.block("database", database(block));
    }
    top.block("services", services(&config.services));
    top.block("scheduler", scheduler(config));
    top.block("worker", worker(&config.worker));
    top.block("security", security(&config.security));
    top.block("gateway", gateway(&config.gateway));
    top.block("telemetry", telemetry(&config.telemetry));
    if let Some(block) = &config.high_availability {
        top.block("high_availability", high_availability(block));
    }
    tasks(&mut top, &config.tasks);
    top
}

fn syslog(syslog: Option<&SyslogConfig>) -> Body {
    let mut body = Body::default();
    body.set("enabled", syslog.is_some());
    if let Some(syslog) = syslog {
        body.set("facility", syslog.facility.name());
        body.set("name", syslog.name.as_str());
    }
    body
}

fn tls(tls: Option<&ApiTls>) -> Body {
    let mut body = Body::default();
    body.set("enabled", tls.is_some());
    if let Some(tls) = tls {
        body.set("cert", path(&tls.cert));
        body.set("key", path(&tls.key));
        body.set("verify_incoming", tls.verify_incoming);
        body.set_some("ca_cert", tls.ca_cert.as_deref().map(path));
        body.set_some("ca_path", tls.ca_path.as_deref().map(path));
    }
    body
}

fn database(database: &DatabaseConfig) -> Body {
    let mut body = Body::default();
    match &database.url {
        DatabaseUrl::Text(url) => body.set("url", url.expose_secret()),
        DatabaseUrl::File(file) => body.set("url_file", path(file)),
    }
    body.set("max_connections", database.max_connections);
    body.set_some("ca_cert", database.ca_cert.as_deref().map(path));
    body
}

fn services(services: &ServicesConfig) -> Body {
    let mut body = Body::default();
    body.set("schedulers", services.schedulers.clone());
    body.set("watchers", services.watchers.clone());
    body.set("plaintext", services.plaintext);
    let ListenConfig {
        watcher,
        scheduler,
        worker,
        gateway,
    } = services.listen;
    let listeners = [
        ("watcher", watcher),
        ("scheduler", scheduler),
        ("worker", worker),
        ("gateway", gateway),
    ];
    let mut listen = Body::default();
    for (role, address) in listeners {
        listen.set_some(role, address.map(|address| address.to_string()));
    }
    if services.listen != ListenConfig::default() {
        body.block("listen", listen);
    }
    if let Some(tls) = &services.tls {
        let mut block = Body::default();
        block.set("ca_cert", path(&tls.ca_cert));
        block.set("cert", path(&tls.cert));
        block.set("key", path(&tls.key));
        block.set_some("server_name", tls.server_name.as_deref());
        block.set("verify_incoming", tls.verify_incoming);
        body.block("tls", block);
    }
    let mut limits = Body::default();
    client_limit(&mut limits, CONNECTIONS, services.limits.connections);
    body.block("limits", limits);
    body
}

fn scheduler(config: &Config) -> Body {
    let mut body = Body::default();
    body.set("lease_ttl", duration(config.scheduler.lease_ttl));
    let on_takeover = match config.on_takeover() {
        OnTakeover::Changed => "changed",
        OnTakeover::All => "all",
    };
    body.set("on_takeover", on_takeover);
    body.set("runs_kept", config.scheduler.runs_kept);
    body.set("runs_kept_for", duration(config.scheduler.runs_kept_for));
    body.set("logs_kept", size_text(config.scheduler.logs_kept));
    body
}

fn worker(worker: &WorkerConfig) -> Body {
    let mut body = Body::default();
    match worker.slots {
        Some(slots) => body.set("slots", slots.get()),
        None => body.note("slots: twice the number of processors"),
    }
    body.set_some("working_dir", worker.working_dir.as_deref().map(path));
    body.set("drain_timeout", duration(worker.drain_timeout));
    match &worker.environment {
        Some(names) => body.set("environment", names.clone()),
        None => body.note("environment: everything but the credentials of cts"),
    }
    body.set("go_gc", worker.go_gc.map_or(0, NonZeroU32::get));
    body
}

fn security(security: &SecurityConfig) -> Body {
    let mut body = Body::default();
    match &security.key_file {
        Some(file) => body.set("key_file", path(file)),
        None => body.note("key_file: the key of the cluster is in the database"),
    }
    for (key, list) in [("hosts", &security.hosts), ("origins", &security.origins)] {
        if !list.is_empty() {
            body.set(key, list.clone());
        }
    }
    body.set("require_auth", security.require_auth);
    body.set("service_roles", security.service_roles);
    body.set("server_roles", security.server_roles);
    body.set("strict", security.strict);
    body.set_some("domain", security.domain.clone());
    match &security.module_sources {
        Some(sources) => body.set("module_sources", sources.clone()),
        None => body.note("module_sources: tasks of the API may use any module"),
    }
    for issuer in &security.issuers {
        body.repeated("oidc", None, oidc(issuer));
    }
    body.block("audit", audit(&security.audit));
    body
}

fn oidc(issuer: &OidcConfig) -> Body {
    let mut body = Body::default();
    body.set("issuer", issuer.issuer.clone());
    body.set("audience", issuer.audience.clone());
    body.set("name_claim", issuer.name_claim.clone());
    body.set("role_claim", issuer.role_claim.clone());
    let roles = issuer.roles.iter();
    let roles = roles.map(|(value, role)| (value.clone(), role.as_str().into()));
    body.set("roles", Value::Object(roles.collect()));
    body.set("clock_skew", duration(issuer.clock_skew));
    body.set_some("ca_cert", issuer.ca_cert.as_deref().map(path));
    body
}

fn audit(audit: &AuditConfig) -> Body {
    let mut body = Body::default();
    body.set("kept_for", duration(audit.kept_for));
    body.set("kept", audit.kept);
    body.set_some("file", audit.file.as_deref().map(path));
    body
}

fn gateway(gateway: &GatewayConfig) -> Body {
    let mut body = Body::default();
    let mode = match gateway.mode {
        GatewayMode::Transparent => "transparent",
        GatewayMode::StrictFollower => "strict-follower",
    };
    body.set("mode", mode);
    if !gateway.trusted_proxies.is_empty() {
        let proxies = gateway.trusted_proxies.iter();
        let proxies: Vec<String> = proxies.map(ToString::to_string).collect();
        body.set("trusted_proxies", proxies);
    }
    let header = match gateway.forwarded_header {
        ForwardedHeader::XForwardedFor => "X-Forwarded-For",
        ForwardedHeader::Forwarded => "Forwarded",
    };
    body.set("forwarded_header", header);
    let limits = &gateway.limits;
    let mut block = Body::default();
    client_limit(&mut block, CONNECTIONS, limits.connections);
    client_limit(&mut block, STREAMS, limits.streams);
    client_limit(&mut block, WAITING, limits.waiting);
    block.set("request_time", duration(limits.request_time));
    block.set("answer_rate", size_text(limits.answer_rate.into()));
    block.set("answer_size", size_text(limits.answer_size));
    block.set("names", limits.names);
    body.block("limits", block);
    body
}

fn client_limit(body: &mut Body, [total, per_client]: [&'static str; 2], limit: ClientLimit) {
    body.set(total, limit.total);
    body.set(per_client, limit.per_client);
}

fn high_availability(block: &HighAvailability) -> Body {
    let mut storage = Body::default();
    let kind = match &block.storage {
        HaStorage::Consul {
            parent_path,
            namespace,
        } => {
            storage.set("parent_path", parent_path.as_str());
            storage.set_some("namespace", namespace.as_deref());
            "consul"
        }
        HaStorage::Postgres => "postgres",
    };
    storage.set("session_ttl", duration(block.session_ttl));
    let mut cluster = Body::default();
    cluster.set("name", block.cluster_name.as_str());
    cluster.labelled("storage", kind, storage);
    let mut instance = Body::default();
    instance.set_some("address", block.address.as_deref());
    let mut body = Body::default();
    body.block("cluster", cluster);
    body.block("instance", instance);
    body
}
