//! The guard process.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::Pid;
use tokio::time::Instant;

use crate::guard::line::Line;
use crate::guard::watch::{Due, MarkedGroup, Watch};
use crate::markers::{TASK_DIRECTORY_MARKER, WORKER_MARKER};
use crate::processes::{Environment, each_process, job_group};
use crate::stop::StopPolicy;

/// Stack of a thread, in bytes; the threads do next to nothing.
const STACK: usize = 128 * 1024;

/// Most messages that wait to be written.
const MESSAGES: usize = 64;

/// How long the last messages may take to be written.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Pause after a failed scan.
const AFTER_FAILURE: Duration = Duration::from_millis(200);

/// Settings of a guard process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardSettings {
    /// The worker's id, as in [`EnvironmentSources::worker`](crate::EnvironmentSources::worker).
    pub worker: String,
    /// How Terraform is stopped if enough time is left.
    pub stop: StopPolicy,
    /// How long the stop of a Terraform may take that a dead worker had not reported.
    pub unknown_grace: Duration,
}

impl GuardSettings {
    /// The usual settings for a worker's guard.
    pub fn new(worker: impl Into<String>) -> Self {
        Self {
            worker: worker.into(),
            stop: StopPolicy::default(),
            unknown_grace: Duration::from_secs(10),
        }
    }
}

/// A guard could not start.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The signals that must not end the guard could not be blocked.
    #[error("could not block signals")]
    Signals(#[source] Errno),
    /// A thread could not be started.
    #[error("could not start a thread")]
    Thread(#[source] io::Error),
}

/// Events that the guard handles.
enum Event {
    Line(String, Instant),
    /// The worker's end of the pipe is closed.
    End(Instant),
}

/// Guards a worker until it has ended and none of its processes is left to be stopped.
///
/// `input` is the pipe from its [`Guard`](crate::guard::Guard); `log` takes messages for people, a line
/// each, and loses them rather than wait.
///
/// Must be called on the main thread, before any other thread or runtime is started: blocks SIGINT, SIGTERM and SIGHUP
/// for this thread and the threads that it starts.
pub fn serve(
    input: impl Read + Send + 'static,
    log: impl Write + Send + 'static,
    settings: GuardSettings,
) -> Result<(), GuardError> {
    let mut deaf_to = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        deaf_to.add(signal);
    }
    deaf_to.thread_block().map_err(GuardError::Signals)?;

    let (sender, events) = mpsc::channel();
    thread::Builder::new()
        .name("guard-input".into())
        .stack_size(STACK)
        .spawn(move || read(input, &sender))
        .map_err(GuardError::Thread)?;
    let log = Log::start(log).map_err(GuardError::Thread)?;
    Loop {
        watch: Watch::new(settings.stop, settings.unknown_grace),
        worker: settings.worker,
        events: Some(events),
        log: &log,
    }
    .run();
    log.finish();
    Ok(())
}

/// Reads until the pipe is closed. An error counts as the end: no further line comes.
fn read(input: impl Read, events: &Sender<Event>) {
    let mut input = BufReader::new(input);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = input.read_until(b'\n', &mut bytes);
        // A last line without its end was cut off in the middle.
        let event = match read {
            Ok(_) if bytes.pop() == Some(b'\n') => {
                Event::Line(String::from_utf8_lossy(&bytes).into_owned(), Instant::now())
            }
            Ok(_) | Err(_) => Event::End(Instant::now()),
        };
        let is_last = matches!(event, Event::End(_));
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

struct Loop<'a> {
    watch: Watch,
    worker: String,
    /// `None` after the end of the input.
    events: Option<Receiver<Event>>,
    log: &'a Log,
}

impl Loop<'_> {
    fn run(mut self) {
        loop {
            let now = Instant::now();
            if self.watch.is_done(now) {
                return;
            }
            match self.watch.next_look(now) {
                Some(at) if at <= now => self.check(),
                at => self.wait(at.map(|at| at - now)),
            }
        }
    }

    /// Waits for a line of the worker, at most for this long.
    fn wait(&mut self, longest: Option<Duration>) {
        let Some(events) = &self.events else {
            thread::sleep(longest.unwrap_or(AFTER_FAILURE));
            return;
        };
        let event = match longest {
            Some(longest) => events.recv_timeout(longest),
            None => events.recv().map_err(RecvTimeoutError::from),
        };
        match event {
            Ok(Event::Line(text, at)) => match Line::parse(&text) {
                Ok(line) => self.watch.hear(line, at),
                Err(error) => self.log.write(format_args!("{error}: {text:?}")),
            },
            Ok(Event::End(at)) => self.lose_worker(at),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.lose_worker(Instant::now()),
        }
    }

    fn lose_worker(&mut self, at: Instant) {
        self.events = None;
        if !self.watch.is_alone() {
            self.log.write(format_args!("the worker has died"));
        }
        self.watch.lose_worker(at);
    }

    fn check(&mut self) {
        let found = match groups_of(&self.worker) {
            Ok(found) => found,
            Err(error) => {
                self.log
                    .write(format_args!("could not list processes: {error}"));
                thread::sleep(AFTER_FAILURE);
                return;
            }
        };
        for due in self.watch.check(&found, Instant::now()) {
            self.signal(&due);
        }
    }

    fn signal(&self, due: &Due) {
        let Due {
            group,
            signal,
            directory,
            is_new,
        } = due;
        let sent = match killpg(Pid::from_raw(*group), *signal) {
            Err(Errno::ESRCH) => return,
            sent => sent,
        };
        if *is_new {
            let directory = directory.display();
            self.log.write(format_args!(
                "stopping terraform in {directory}: {signal} to group {group}"
            ));
        }
        if let Err(error) = sent {
            self.log
                .write(format_args!("could not signal group {group}: {error}"));
        }
    }
}

/// All process groups with the mark of `worker`.
fn groups_of(worker: &str) -> io::Result<Vec<MarkedGroup>> {
    let mut found = Vec::new();
    each_process(|_id, process| {
        found.extend(marked_group(process, worker));
        true
    })?;
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn marked_group(process: &Path, worker: &str) -> Option<MarkedGroup> {
    let environment = Environment::of(process)?;
    if environment.get(WORKER_MARKER)? != worker.as_bytes() {
        return None;
    }
    let directory = environment.get(TASK_DIRECTORY_MARKER)?;
    Some(MarkedGroup {
        directory: OsString::from_vec(directory.to_vec()).into(),
        group: job_group(process)?,
    })
}

/// Writes messages in a thread of its own: a stalled reader must not block the guard.
struct Log {
    messages: SyncSender<String>,
    done: Receiver<()>,
}

impl Log {
    fn start(mut output: impl Write + Send + 'static) -> io::Result<Self> {
        let (messages, waiting) = mpsc::sync_channel::<String>(MESSAGES);
        let (finished, done) = mpsc::channel();
        thread::Builder::new()
            .name("guard-log".into())
            .stack_size(STACK)
            .spawn(move || {
                for message in waiting {
                    // Without a reader the message is lost.
                    let _written = writeln!(output, "{message}");
                }
                drop(finished);
            })?;
        Ok(Self { messages, done })
    }

    fn write(&self, message: fmt::Arguments<'_>) {
        let _lost_when_full = self.messages.try_send(message.to_string());
    }

    fn finish(self) {
        drop(self.messages);
        let _ended_or_slow = self.done.recv_timeout(LAST_WORDS);
    }
}
