//! Misbehaviours of Terraform.

use std::process::ExitCode;
use std::time::Duration;

use nix::sys::signal::{Signal, raise};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use super::Call;
use crate::plan::Misbehaviour;
use crate::report::say;

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Memory that is taken piece by piece.
const PIECE: usize = 16 << 20;
const PIECES: usize = 12;

/// Misbehaves from the first moment on, if it is to; the exit code, unless it goes on as if nothing had been.
pub(super) fn misbehave(call: &Call) -> Option<ExitCode> {
    let how = call.trouble()?;
    let is = |one: Misbehaviour| how == one.name();
    if is(Misbehaviour::Fail) {
        say("Error: the fault suite lets this command fail");
        return Some(ExitCode::FAILURE);
    }
    if is(Misbehaviour::Memory) {
        take_memory();
    }
    if is(Misbehaviour::Hang) || is(Misbehaviour::Stubborn) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        return match runtime {
            Ok(runtime) => {
                runtime.block_on(hang(call, is(Misbehaviour::Stubborn)));
                None
            }
            Err(_no_runtime) => Some(ExitCode::FAILURE),
        };
    }
    None
}

/// Waits until the trouble is over. An interrupt ends the process, as it ends every process without a handler
/// for it.
async fn hang(call: &Call, stubborn: bool) {
    // As long as they are there, the signals do nothing else.
    let _deaf = stubborn
        .then(|| [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok()));
    while call.trouble().is_some() {
        sleep(POLL_INTERVAL).await;
    }
}

fn take_memory() {
    let mut taken = Vec::new();
    for number in 0..PIECES {
        taken.push(vec![
            u8::try_from(number % 255).unwrap_or_default() + 1;
            PIECE
        ]);
        std::thread::sleep(Duration::from_millis(20));
    }
    // As the kernel does when memory runs out.
    let _never_returns = raise(Signal::SIGKILL);
    drop(taken);
}
