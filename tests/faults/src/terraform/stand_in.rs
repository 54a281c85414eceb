//! Stands in for Terraform with the module of the suite: the same journal, the same state, the same lock of the state,
//! and an end in order after an interrupt, without the time that Terraform takes.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, raise};
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep};

use super::Call;
use super::state::{State, resources_before, resources_of};
use crate::conditions::KEYS;
use crate::plan::{Instance, Misbehaviour};
use crate::report::say;
use crate::{journal, module, processes};

const BEAT: Duration = Duration::from_millis(20);
const MOST_BEATS: u64 = 25;
/// Time for which Terraform waits for the lock of the state, by the arguments that cts gives it.
const LOCK_TIMEOUT: Duration = Duration::from_mins(1);
const LOCK_POLL: Duration = Duration::from_millis(20);

pub(super) fn run(call: &Call) -> ExitCode {
    let done = match call.command() {
        "init" => fs::create_dir_all(".terraform").map_err(|error| error.to_string()),
        "validate" => io::stdout()
            .write_all(b"{\"valid\":true,\"diagnostics\":[]}\n")
            .map_err(|error| error.to_string()),
        "apply" => change_in_runtime(call),
        _ => Ok(()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("Error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn change_in_runtime(call: &Call) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let interrupted = async {
            let mut interrupt = signal(SignalKind::interrupt()).ok();
            let mut terminate = signal(SignalKind::terminate()).ok();
            let of = async |signal: &mut Option<tokio::signal::unix::Signal>| match signal {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            };
            tokio::select! {
                _ = of(&mut interrupt) => {}
                _ = of(&mut terminate) => {}
            }
        };
        tokio::select! {
            biased;
            // Nothing is written half: every step is complete when it is left.
            () = interrupted => Err("interrupted".to_owned()),
            done = change(call) => done,
        }
    })
}

async fn change(call: &Call) -> Result<(), String> {
    let directory = call.site.join("state").join(&call.task);
    fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let _lock = lock(&directory.join("lock")).await?;
    let state = State::read(directory.join("terraform.tfstate"));
    let is_destroy = |argument: &OsString| argument == "-destroy";
    if call.arguments.iter().any(is_destroy) {
        destroy(call, &state)
    } else {
        apply(call, state).await
    }
}

fn destroy(call: &Call, state: &State) -> Result<(), String> {
    if !state.has_resources() {
        return Ok(());
    }
    if call.trouble().as_deref() == Some(Misbehaviour::FailMidway.name()) {
        return Err("the fault suite lets this destruction fail".to_owned());
    }
    note(call, "gone", "")?;
    if call.trouble().as_deref() == Some(Misbehaviour::DieMidway.name()) {
        let _never_returns = raise(Signal::SIGKILL);
    }
    state.write(call, &Value::Array(Vec::new()))
}

async fn apply(call: &Call, state: State) -> Result<(), String> {
    let text =
        text_of(&fs::read_to_string("terraform.tfvars").map_err(|error| error.to_string())?)?;
    if state.applied().as_deref() == Some(&text) {
        return Ok(());
    }
    let note = |word: &str, text: &str| note(call, word, text);
    if !state.has_resources() {
        note("made", "")?;
    }
    note("begin", &text)?;
    match call.trouble().as_deref() {
        Some(how) if how == Misbehaviour::FailMidway.name() => {
            note("fails", "")?;
            // Keeps its resources, as Terraform does.
            state.write(call, &resources_before(&state))?;
            return Err("the fault suite lets this apply fail".to_owned());
        }
        Some(how) if how == Misbehaviour::DieMidway.name() => {
            let _never_returns = raise(Signal::SIGKILL);
        }
        _ => {}
    }
    for _ in 0..beats(&text) {
        sleep(BEAT).await;
        note("beat", "")?;
    }
    note("end", &text)?;
    state.write(call, &resources_of(&text))
}

async fn lock(path: &Path) -> Result<Flock<File>, String> {
    let end = Instant::now() + LOCK_TIMEOUT;
    let mut file = File::create(path).map_err(|error| error.to_string())?;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((back, _held)) if Instant::now() < end => file = back,
            Err((_, error)) => return Err(format!("the state is locked: {error}")),
        }
        sleep(LOCK_POLL).await;
    }
}

fn note(call: &Call, word: &str, text: &str) -> Result<(), String> {
    let journal = journal::path(&call.site, &call.task);
    let (pid, started) = (call.process.pid, call.process.started);
    let now = processes::uptime();
    let mut line = format!("{word} {pid} {started} {} ", call.worker);
    // Writing to a string cannot fail.
    _ = writeln!(line, "{}.{:02} {text}", now / 100, now % 100);
    let file = File::options().create(true).append(true).open(journal);
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .map_err(|error| error.to_string())
}

/// Half of the texts take no time, the others up to half a second; always the same for the same text.
fn beats(text: &str) -> u64 {
    let sum = text.bytes().fold(17_u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    (sum % (2 * MOST_BEATS)).saturating_sub(MOST_BEATS)
}

/// The text that the module makes of its variables.
fn text_of(variables: &str) -> Result<String, String> {
    let variables: Value = hcl::from_str(variables).map_err(|error| error.to_string())?;
    let services = variables["services"].as_object().into_iter().flatten();
    let instances: Vec<(String, Instance)> = services
        .map(|(_, service)| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let mut tags: Vec<String> = service["tags"]
                .as_array()
                .into_iter()
                .flatten()
                .map(text)
                .collect();
            tags.sort();
            let instance = Instance {
                port: service["port"].as_u64().unwrap_or_default(),
                tags,
                version: text(&service["meta"]["version"]),
            };
            (text(&service["id"]), instance)
        })
        .collect();
    let instances = instances.iter();
    let instances = instances.map(|(id, instance)| format!("{id}/{}", module::value(instance)));
    let members = |name: &str| variables[name].as_object().cloned().unwrap_or_default();
    let keys = members("consul_kv").into_iter().map(|(key, value)| {
        let id = key.strip_prefix(KEYS).unwrap_or(&key);
        format!("{id}/{}", value.as_str().unwrap_or_default())
    });
    let names = members("catalog_services");
    let names = names.keys().cloned();
    Ok(module::joined(instances.chain(keys).chain(names)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_that_of_the_module() {
        let variables = "# A comment\n\nservices = {\n  \"b.edge.dc1\" = {\n    id   = \"b\"\n    port = 80\n    \
                         meta = {\n      version = \"v1\"\n    }\n    tags = [\"red\", \"blue\"]\n  },\n  \
                         \"a.edge.dc1\" = {\n    id   = \"a\"\n    port = 7\n    meta = {}\n    tags = []\n  },\n}\n";
        assert_eq!(text_of(variables).unwrap(), "a/7//;b/80/blue.red/v1");
        assert_eq!(text_of("services = {\n}\n").unwrap(), "");
        let others = "services = {\n}\nconsul_kv = {\n  \"inst/a\" = \"7//\"\n}\ncatalog_services = {\n  \
                      \"svc-1\" = [\"x\"]\n}\n";
        assert_eq!(text_of(others).unwrap(), "a/7//;svc-1");
        assert!(text_of("services = {").is_err());
    }

    #[test]
    fn some_texts_take_time() {
        let all: Vec<u64> = (0..100)
            .map(|number| beats(&format!("x{number}")))
            .collect();
        assert!(all.contains(&0) && all.iter().any(|&beats| beats > 10));
        assert!(all.iter().all(|&beats| beats < MOST_BEATS));
    }
}
