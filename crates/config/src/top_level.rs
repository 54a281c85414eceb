//! The top level of the configuration (docs/configuration.md#top-level).

use std::path::PathBuf;

use cts_bundle::ModuleRoots;
use cts_core::{BufferPeriod, LogLevel};

use crate::blocks::approvals::decode_approvals;
use crate::blocks::buffer::decode_buffer;
use crate::blocks::consul::decode_consul;
use crate::blocks::database::decode_database;
use crate::blocks::driver::decode_driver;
use crate::blocks::environment::Environment;
use crate::blocks::fleet_max_shrink::decode_fleet_max_shrink;
use crate::blocks::gateway::decode_page;
use crate::blocks::high_availability::decode_high_availability;
use crate::blocks::license::ignore_license;
use crate::blocks::provider::decode_providers;
use crate::blocks::security::SecurityConfig;
use crate::blocks::syslog::decode_syslog;
use crate::blocks::tls::decode_tls;
use crate::blocks::vault::decode_vault;
use crate::blocks::webhook::decode_webhooks;
use crate::blocks::worker::WorkerConfig;
use crate::config::Config;
use crate::context::LoadContext;
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::decode::tree::Part;
use crate::keys::{Keyed, read};
use crate::report::original::ProblemKind;
use crate::report::sink::Sink;
use crate::tasks::decoder::{DecodedTasks, TaskDecoder};
use crate::tasks::pinned::RequiredPins;
use crate::tasks::references::{check_webhooks, refuse_shared_commits, warn_of_unknown_providers};

const DEFAULT_PORT: u16 = 8558;
const DEFAULT_WORKING_DIR: &str = "sync-tasks";

/// Reads everything that the files say, which are in these directories.
pub(crate) fn decode(
    parts: Vec<Part<'_>>,
    directories: Vec<PathBuf>,
    context: &LoadContext<'_>,
    sink: &Sink,
) -> Config {
    let mut top = Block::new("", parts, sink);
    let config = decode_keys(&mut top, directories, context, sink);
    top.finish();
    config
}

/// The names of all keys and blocks.
pub(crate) fn names(context: &LoadContext<'_>) -> Vec<&'static str> {
    let sink = Sink::default();
    let mut top = Block::new("", Vec::new(), &sink);
    decode_keys(&mut top, Vec::new(), context, &sink);
    top.asked().to_vec()
}

fn decode_keys(
    top: &mut Block<'_>,
    directories: Vec<PathBuf>,
    context: &LoadContext<'_>,
    sink: &Sink,
) -> Config {
    let environment = Environment::new(context.environment);

    let log_level = decode_log_level(top);
    let port = top.number_within("port", &(0..=u16::MAX));
    let port = port.map_or(DEFAULT_PORT, |port| port.value);
    let default_id = || format!("cts-{}", context.hostname);
    let id = top.text("id").unwrap_or_else(default_id);
    let working_dir = top.text("working_dir");
    let working_dir = working_dir.as_deref().unwrap_or(DEFAULT_WORKING_DIR);
    let working_dir = sink.absolute(working_dir);
    let module_roots = decode_module_roots(top, directories, context);
    let buffer_setting = decode_buffer(top).unwrap_or_default();
    let buffer_period = BufferPeriod::global(buffer_setting);
    let tls = decode_tls(top.block("tls"));
    let syslog = decode_syslog(top.block("syslog"));
    let consul = top.block("consul");
    let consul_place = consul.as_ref().and_then(Block::place).cloned();
    let consul = decode_consul(
        consul,
        environment,
        &format!(
            "{}://localhost:{port}",
            tls.as_ref().map_or("http", |_| "https")
        ),
        sink,
    );
    let vault = decode_vault(top.block("vault"), environment, sink);
    let driver = top.block("driver");
    let in_cloud = driver
        .as_ref()
        .is_some_and(|driver| driver.has("terraform-cloud"));
    let driver_place = driver.as_ref().and_then(Block::place).cloned();
    let (driver, terraform_cloud) = decode_driver(driver, &consul, environment);
    let providers = decode_providers(top.repeated("terraform_provider"), environment, sink);
    let webhooks = decode_webhooks(top.repeated("webhook"));

    let database = decode_database(top.block("database"), environment, sink);
    let services = read_block(top, "services");
    let scheduler = read_block(top, "scheduler");
    let worker: WorkerConfig = read_block(top, "worker");
    let security: SecurityConfig = read_block(top, "security");
    let gateway = read_block(top, "gateway");
    let page = decode_page(top.block_or_empty("page"), &security);
    let telemetry = read_block(top, "telemetry");
    let fleet_max_shrink = decode_fleet_max_shrink(top.block("fleet_max_shrink"));
    let approvals = decode_approvals(top, in_cloud);
    let high_availability = top.block("high_availability");
    if let Some(place) = high_availability.as_ref().and_then(Block::place)
        && let Err(refusal) = driver.require_shared_backend()
    {
        sink.error(place, refusal.to_string());
    }
    let high_availability = decode_high_availability(high_availability);

    let working_dirs: Vec<PathBuf> = [Some(&working_dir), worker.working_dir.as_ref()]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    let mut decoder = TaskDecoder::new(
        context,
        &working_dirs,
        module_roots.clone(),
        buffer_period,
        sink,
    );
    if database.is_some() {
        decoder.modules_may_be_elsewhere();
    }
    if in_cloud {
        decoder.run_in_cloud();
    }
    if security.strict {
        let required = match &terraform_cloud {
            Some(cloud) => &cloud.required_providers,
            None => &driver.required_providers,
        };
        decoder.require_pins(RequiredPins::new(required));
    }
    decoder.declare_services(top.repeated("service"));
    for block in top.repeated("task") {
        decoder.decode(block);
    }
    let DecodedTasks {
        tasks,
        overridden_buffers,
        secret_files,
    } = decoder.finish();
    // Watchers and gateways have no use for a backend.
    let needs_backend = !in_cloud && (driver_place.is_some() || !tasks.is_empty());
    if needs_backend && let Err(refusal) = driver.require_reachable_backend() {
        match consul_place.or(driver_place) {
            Some(place) => sink.error(&place, refusal.to_string()),
            None => sink.error_outside(refusal.to_string()),
        }
    }
    refuse_shared_commits(&tasks, &providers, sink);
    warn_of_unknown_providers(&tasks, &providers, sink);
    check_webhooks(&tasks, &webhooks, database.is_some(), sink);

    // Typed, but of no effect in the original either.
    top.text("client_type");
    top.removed(
        "provider",
        "it was removed in 0.1: use `terraform_provider`",
    );
    ignore_license(top);
    Config {
        log_level,
        port,
        id,
        working_dir,
        module_roots,
        tls,
        syslog,
        buffer_period,
        consul,
        vault,
        driver,
        terraform_cloud,
        providers,
        webhooks,
        database,
        services,
        scheduler,
        worker,
        security,
        gateway,
        page,
        telemetry,
        fleet_max_shrink,
        approvals,
        high_availability,
        tasks: tasks.into_iter().filter_map(|task| task.spec).collect(),
        overridden_buffers,
        secret_variable_files: secret_files,
    }
}

fn read_block<T: Keyed + Default>(top: &mut Block<'_>, name: &'static str) -> T {
    read(T::default(), top.block_or_empty(name))
}

fn decode_module_roots(
    top: &mut Block<'_>,
    directories: Vec<PathBuf>,
    context: &LoadContext<'_>,
) -> ModuleRoots {
    let named = top.items("module_roots").into_iter();
    let usual = std::iter::once(context.current_dir.to_owned()).chain(directories);
    ModuleRoots {
        named: named.map(|root| top.sink().absolute(root.value)).collect(),
        usual: usual.collect(),
    }
}

/// The levels with their names in the files, in their order. The original takes the word `ERR` but logs as for
/// `INFO`; here it means errors only.
pub(crate) const LOG_LEVELS: [(LogLevel, &str); 5] = [
    (LogLevel::Trace, "TRACE"),
    (LogLevel::Debug, "DEBUG"),
    (LogLevel::Info, "INFO"),
    (LogLevel::Warn, "WARN"),
    (LogLevel::Error, "ERR"),
];

fn decode_log_level(top: &mut Block<'_>) -> LogLevel {
    let Some(written) = top.take("log_level", coerce::text) else {
        return LogLevel::default();
    };
    let mut levels = LOG_LEVELS.into_iter();
    let level = levels.find(|(_, name)| name.eq_ignore_ascii_case(&written.value));
    if let Some((level, _)) = level {
        return level;
    }
    let names = LOG_LEVELS.map(|(_, name)| name).join(", ");
    let message = format!(
        "`log_level` must be one of {names}, not {:?}",
        written.value
    );
    let is_error = written.value.eq_ignore_ascii_case("error");
    let help = is_error.then(|| "did you mean `ERR`?".to_owned());
    top.sink().error_with_help(&written.place, message, help);
    top.sink().classify(ProblemKind::LogLevel(written.value));
    LogLevel::default()
}
