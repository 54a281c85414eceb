//! The top level of the configuration (spec/config.md 3).

use std::path::PathBuf;

use cts_core::BufferPeriod;

use crate::block::Block;
use crate::buffer::decode_buffer;
use crate::coerce;
use crate::config::{Config, LogLevel};
use crate::consul::decode_consul;
use crate::database::decode_database;
use crate::driver::decode_driver;
use crate::environment::Environment;
use crate::gateway::decode_gateway;
use crate::high_availability::decode_high_availability;
use crate::load::LoadContext;
use crate::module_source::clean;
use crate::provider::decode_providers;
use crate::scheduler::decode_scheduler;
use crate::services::decode_services;
use crate::sink::Sink;
use crate::task::{TaskDecoder, refuse_shared_commits};
use crate::tree::Part;
use crate::worker::decode_worker;

const DEFAULT_PORT: u16 = 8558;
const DEFAULT_WORKING_DIR: &str = "sync-tasks";

/// Parts of the original format that mean nothing here yet.
const UNSUPPORTED: [&str; 6] = [
    "syslog",
    "tls",
    "vault",
    "service",
    "license",
    "license_path",
];

/// Reads everything that the files say.
pub(crate) fn decode(parts: Vec<Part<'_>>, context: &LoadContext<'_>, sink: &Sink) -> Config {
    let mut top = Block::new("", parts, sink);
    let environment = Environment::new(context.environment);

    let log_level = decode_log_level(&mut top);
    let port = decode_port(&mut top);
    let default_id = || format!("cts-{}", context.hostname);
    let id = top.text("id").unwrap_or_else(default_id);
    let working_dir = top.text("working_dir");
    let working_dir = working_dir.as_deref().unwrap_or(DEFAULT_WORKING_DIR);
    let working_dir = clean(&context.current_dir.join(working_dir));
    let buffer_setting = decode_buffer(&mut top).unwrap_or_default();
    let buffer_period = BufferPeriod::global(buffer_setting);
    let consul = decode_consul(
        top.block("consul"),
        environment,
        context.current_dir,
        port,
        sink,
    );
    let driver = decode_driver(top.block("driver"), &consul, context.current_dir);
    let providers = without_lone_empty(
        top.repeated("terraform_provider"),
        "terraform_provider",
        sink,
    );
    let providers = decode_providers(providers, sink);

    let database = decode_database(
        top.block("database"),
        environment,
        context.current_dir,
        sink,
    );
    let services = decode_services(top.block("services"), context.current_dir);
    let scheduler = decode_scheduler(top.block("scheduler"));
    let worker = decode_worker(top.block("worker"), context.current_dir);
    let gateway = decode_gateway(top.block("gateway"));
    let high_availability = decode_high_availability(top.block("high_availability"));

    let working_dirs: Vec<PathBuf> = [Some(&working_dir), worker.working_dir.as_ref()]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    let mut decoder = TaskDecoder::new(context.current_dir, &working_dirs, buffer_period, sink);
    if database.is_some() {
        decoder.modules_may_be_elsewhere();
    }
    for block in without_lone_empty(top.repeated("task"), "task", sink) {
        decoder.decode(block);
    }
    let tasks = decoder.finish();
    refuse_shared_commits(&tasks, &providers, sink);

    top.ignored("client_type");
    for name in UNSUPPORTED {
        top.unsupported(name);
    }
    top.finish();
    Config {
        log_level,
        port,
        id,
        working_dir,
        buffer_period,
        consul,
        driver,
        providers,
        database,
        services,
        scheduler,
        worker,
        gateway,
        high_availability,
        tasks: tasks.into_iter().filter_map(|task| task.spec).collect(),
    }
}

fn decode_log_level(top: &mut Block<'_>) -> LogLevel {
    let Some(written) = top.take("log_level", coerce::text) else {
        return LogLevel::default();
    };
    LogLevel::from_name(&written.value).unwrap_or_else(|| {
        let names = LogLevel::NAMES.join(", ");
        let message = format!(
            "`log_level` must be one of {names}, not {:?}",
            written.value
        );
        let is_error = written.value.eq_ignore_ascii_case("error");
        let help = is_error.then(|| "did you mean `ERR`?".to_owned());
        top.sink().error_with_help(&written.place, message, help);
        LogLevel::default()
    })
}

fn decode_port(top: &mut Block<'_>) -> u16 {
    let Some(written) = top.take("port", coerce::integer) else {
        return DEFAULT_PORT;
    };
    u16::try_from(written.value).unwrap_or_else(|_out_of_range| {
        let message = format!("`port` must be between 0 and 65535, not {}", written.value);
        top.sink().error(&written.place, message);
        DEFAULT_PORT
    })
}

/// An empty block that is the only one of its kind counts as absent (spec/config.md 1.4); beside
/// others it is incomplete. Who writes one at least hears of it.
fn without_lone_empty<'a>(mut blocks: Vec<Block<'a>>, name: &str, sink: &Sink) -> Vec<Block<'a>> {
    if let [only] = blocks.as_slice()
        && only.is_empty()
    {
        if let Some(place) = only.place() {
            sink.warning(place, format!("an empty `{name}` block has no effect"));
        }
        blocks.clear();
    }
    blocks
}
