//! The top level, and the small blocks.

use secrecy::ExposeSecret;

use crate::blocks::database::{DatabaseConfig, DatabaseUrl};
use crate::blocks::high_availability::{HaStorage, HighAvailability};
use crate::blocks::scheduler::SchedulerConfig;
use crate::blocks::syslog::SyslogConfig;
use crate::blocks::tls::ApiTls;
use crate::blocks::vault::VaultConfig;
use crate::config::Config;
use crate::decode::units::duration;
use crate::dump::drivers::{driver, providers, webhooks};
use crate::dump::tasks::tasks;
use crate::dump_body::Body;
use crate::dump_values::{buffer_period, path};
use crate::keys::{Keyed as _, Keys, dumped};
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
    let mut approvals = config.approvals;
    approvals.keys(&mut Keys::Dump(&mut top));
    top.block("syslog", syslog(config.syslog.as_ref()));
    top.block("tls", tls(config.tls.as_ref()));
    top.block("buffer_period", buffer_period(config.buffer_period));
    top.block("consul", dumped(&config.consul));
    top.block("vault", VaultConfig::dumped(config.vault.as_ref()));
    driver(&mut top, config);
    providers(&mut top, &config.providers);
    webhooks(&mut top, &config.webhooks);
    if let Some(block) = &config.database {
        top.block("database", database(block));
    }
    let scheduler = SchedulerConfig {
        on_takeover: Some(config.on_takeover()),
        ..config.scheduler
    };
    top.block("services", dumped(&config.services));
    top.block("scheduler", dumped(&scheduler));
    top.block("worker", dumped(&config.worker));
    top.block("security", dumped(&config.security));
    top.block("gateway", dumped(&config.gateway));
    top.block("page", dumped(&config.page));
    top.block("telemetry", dumped(&config.telemetry));
    if let Some(block) = &config.fleet_max_shrink {
        top.block("fleet_max_shrink", dumped(block));
    }
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
