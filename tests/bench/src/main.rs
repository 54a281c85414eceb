//! Measures cts against the figures to reach (ARCHITECTURE.md#11-speed), with a real Consul, a real Postgres, a
//! real Terraform and the release executable of cts as processes of their own.
//!
//! Starts everything itself and ends everything that it has started, by process id, also after errors and
//! Ctrl-C. Uses cts from outside only: its command line, its files, its gRPC services. Each scenario is a
//! module below [`scenario`]; what they share is a [`stage::Stage`].

mod access;
mod arguments;
mod bare_loop;
mod browser;
mod by_hand;
mod cluster;
mod consul_query;
mod files;
mod http_client;
mod measures;
mod members;
mod played;
mod process;
mod renewals;
mod runs;
mod scenario;
mod shim;
mod site;
mod sockets;
mod stage;
mod strangers;
mod surroundings;
mod telemetry;

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow};
use clap::Parser as _;
use clap::error::ErrorKind;
use cts_runtime::StopSignals;
use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use self::arguments::{Arguments, Scenario};
use self::measures::report::{self, Metric, say};
use self::stage::Stage;
use self::surroundings::Surroundings;

/// As shells report an end by Ctrl-C.
const EXIT_INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    let stop = CancellationToken::new();
    let result = run(&arguments, &stop);
    match result {
        Ok(metrics) => {
            report::print(arguments.scenario.name(), &metrics, arguments.general.json);
            ExitCode::SUCCESS
        }
        Err(_) if stop.is_cancelled() => ExitCode::from(EXIT_INTERRUPTED),
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn refuse(error: &clap::Error) -> ExitCode {
    // There may be no reader any more.
    drop(error.print());
    if matches!(
        error.kind(),
        ErrorKind::InvalidSubcommand | ErrorKind::MissingSubcommand
    ) {
        say(&format!("\nscenarios: {}", Scenario::names().join(", ")));
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn run(arguments: &Arguments, stop: &CancellationToken) -> Result<Vec<Metric>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("no runtime")?;
    runtime.block_on(async {
        let mut signals = StopSignals::take_over(false).context("cannot listen to signals")?;
        let mut stage = Stage::new(Surroundings::of_this_process()?, &arguments.general)?;
        let result = {
            let work = AssertUnwindSafe(scenario::run(&arguments.scenario, &mut stage));
            tokio::select! {
                result = work.catch_unwind() => {
                    result.unwrap_or_else(|panic| Err(anyhow!("{}", panic_text(&*panic))))
                }
                _signal = signals.next() => {
                    stop.cancel();
                    Err(anyhow!("interrupted"))
                }
            }
        };
        if result.is_err() && !stop.is_cancelled() {
            stage.show_logs();
        }
        stage.end().await;
        result
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a part of the benchmark panicked")
        .to_owned()
}
