//! One supervised process: started in its own group, drained, and stopped gently (promise P5).

mod group;

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nix::fcntl::{FcntlArg, fcntl};
use nix::unistd::Pid;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until, timeout};

use crate::output::{OutputSink, OutputStream, Pump};
use crate::processes::signal_group;
use crate::stop::{StopSequence, StopSignal, StopStep};

/// How much of standard error is kept for an error text, in bytes.
const STDERR_KEPT: usize = 256 * 1024;

/// How much of a captured standard output is kept, in bytes: far more than any plan.
const STDOUT_KEPT: usize = 16 * 1024 * 1024;

/// Room in a pipe, in bytes: the most that the kernel gives without privileges.
const PIPE_ROOM: i32 = 1024 * 1024;

/// How long pipes are read after the process has ended. Only a grandchild that stayed holds them open then,
/// and the output of Terraform itself has long been read.
pub(crate) const PIPE_GRACE: Duration = Duration::from_secs(2);

/// Use of standard output.
#[derive(Debug)]
pub(crate) enum StdoutUse {
    /// Line by line to the sink.
    Live,
    /// Kept and returned.
    Captured,
    /// Passed on and captured.
    LiveAndCaptured,
    /// Written into this file, whatever its length.
    File(File),
}

/// A process to be run.
pub(crate) struct Job {
    pub(crate) command: Command,
    /// The task directory, as the environment of the command names it.
    pub(crate) directory: PathBuf,
    pub(crate) output: Arc<dyn OutputSink>,
    pub(crate) stdout: StdoutUse,
    pub(crate) stop: StopSignal,
    /// The greatest exit code of a command that has not crashed.
    pub(crate) last_orderly_code: i32,
}

/// A process that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// Captured standard output, empty if it was not to be kept.
    pub(crate) stdout: String,
    /// The end of standard error.
    pub(crate) stderr: String,
    /// Whether a stop was requested.
    pub(crate) interrupted: bool,
    /// The process group, if some of its processes have not ended although they were killed.
    pub(crate) left_behind: Option<i32>,
}

/// Runs a process to its end, or stops it on request.
///
/// When the process has ended, its group is ended too, unless the process ended by itself and in order: processes that
/// it then left running were meant to outlive it. After a crash, a kill from outside or a stop the group is terminated
/// and killed.
///
/// Dropping this future leaves the process running without supervision, so it belongs in a task of its own.
/// "Kill on drop" is deliberately not used: a killed Terraform loses its state lock.
pub(crate) async fn run(job: Job) -> io::Result<Ended> {
    let Job {
        mut command,
        directory,
        output,
        stdout: stdout_use,
        stop,
        last_orderly_code,
    } = job;
    let (stdout, mut child_stdout) = lasting_pipe()?;
    let (stderr, child_stderr) = lasting_pipe()?;
    let live = |stream| Some((stream, Arc::clone(&output)));
    let (stdout_sink, stdout_kept) = match stdout_use {
        StdoutUse::Live => (live(OutputStream::Stdout), 0),
        StdoutUse::Captured => (None, STDOUT_KEPT),
        StdoutUse::LiveAndCaptured => (live(OutputStream::Stdout), STDOUT_KEPT),
        StdoutUse::File(file) => {
            // The pipe ends at once.
            child_stdout = Stdio::from(file);
            (None, 0)
        }
    };
    // Without a pre-exec hook the standard library can start the child with posix_spawn, which does not copy
    // the page tables of this process.
    let mut child = command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(child_stdout)
        .stderr(child_stderr)
        .spawn()?;
    // The command holds the child's ends of the pipes, which would otherwise never be closed.
    drop(command);
    let group = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .map(Pid::from_raw)
        .ok_or_else(|| io::Error::other("a new process has no id"))?;

    let mut stdout = Pump::new(stdout, stdout_sink, stdout_kept);
    let mut stderr = Pump::new(stderr, live(OutputStream::Stderr), STDERR_KEPT);

    let (status, interrupted, left_behind) = {
        let mut drain = std::pin::pin!(async { tokio::join!(stdout.run(), stderr.run()) });
        let mut ending = std::pin::pin!(async {
            let (status, interrupted) = wait_or_stop(&mut child, group, &stop).await?;
            let code = status.code();
            let orderly = !interrupted && code.is_some_and(|code| code <= last_orderly_code);
            let left_behind = !orderly && !group::end(group, &directory, &stop).await;
            io::Result::Ok((status, interrupted, left_behind))
        });
        let mut drained = false;
        let ended = loop {
            tokio::select! {
                ended = &mut ending => break ended?,
                results = &mut drain, if !drained => {
                    drained = true;
                    report_unread(results);
                }
            }
        };
        if !drained {
            match timeout(PIPE_GRACE, drain).await {
                Ok(results) => report_unread(results),
                Err(_elapsed) => tracing::warn!("a child of terraform keeps its output open"),
            }
        }
        ended
    };
    let captured = stdout.finish();
    Ok(Ended {
        status,
        stdout: if stdout_kept == 0 {
            String::new()
        } else {
            captured
        },
        stderr: stderr.finish(),
        interrupted,
        left_behind: left_behind.then_some(group.as_raw()),
    })
}

/// A pipe whose writer may outlive this process.
///
/// If cts is killed, the pipe has no reader. Terraform's next line would then end it with SIGPIPE at once, in the
/// middle of its work and with the state lock held. Therefore the child's end is opened for both directions: while that
/// end is open, the pipe has a reader, and written bytes stay in the pipe. With the enlarged pipe an orphan continues
/// for a megabyte of output.
fn lasting_pipe() -> io::Result<(pipe::Receiver, Stdio)> {
    let (reader, writer) = std::io::pipe()?;
    let both_ways = File::options()
        .read(true)
        .write(true)
        .open(format!("/proc/self/fd/{}", writer.as_raw_fd()));
    let child_end = match both_ways {
        Ok(file) => OwnedFd::from(file),
        // A system without `/proc`: everything else works, but a writer that outlives this process gets
        // SIGPIPE.
        Err(_unsupported) => OwnedFd::from(writer),
    };
    // A user with very many pipes gets no more room; the usual room will do then.
    let _room = fcntl(&child_end, FcntlArg::F_SETPIPE_SZ(PIPE_ROOM));
    let receiver = pipe::Receiver::from_owned_fd(reader.into())?;
    Ok((receiver, Stdio::from(child_end)))
}

fn report_unread((stdout, stderr): (io::Result<()>, io::Result<()>)) {
    for error in [stdout.err(), stderr.err()].into_iter().flatten() {
        tracing::warn!(%error, "could not read terraform's output");
    }
}

/// Waits for the process; on request, stops its group step by step. Returns its status and whether a stop was
/// requested.
async fn wait_or_stop(
    child: &mut Child,
    group: Pid,
    order: &StopSignal,
) -> io::Result<(ExitStatus, bool)> {
    tokio::select! {
        biased;
        status = child.wait() => return Ok((status?, false)),
        () = order.cancelled() => {}
    }
    let begun = Instant::now();
    let mut terms = order.terms();
    let mut course = if terms.borrow().patient {
        StopSequence::patient(order.policy())
    } else {
        StopSequence::new(order.policy())
    };
    let mut taken = None;
    loop {
        let now = begun.elapsed();
        course.follow(*terms.borrow_and_update(), begun, now);
        let due = course.due(now);
        if taken != Some(due) {
            take_step(group, due);
            taken = Some(due);
        }
        let Some(next) = course.next(now) else {
            return Ok((child.wait().await?, true));
        };
        tokio::select! {
            biased;
            status = child.wait() => return Ok((status?, true)),
            Ok(()) = terms.changed() => {}
            () = order.parent_cancelled(), if course.is_patient() => course.end_patience(begun.elapsed()),
            () = sleep_until(begun + next) => {}
        }
    }
}

fn take_step(group: Pid, step: StopStep) {
    let signal = step.signal();
    if step == StopStep::Kill {
        tracing::warn!(%group, "terraform did not stop and is killed; it may leave a state lock");
    } else {
        tracing::info!(%group, %signal, "stopping terraform");
    }
    signal_group(group, signal);
}
