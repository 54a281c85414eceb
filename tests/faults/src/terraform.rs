//! The executable that cts runs as `terraform`: notes every start, misbehaves where it should, and then becomes
//! the real one, or stands in for it.
//!
//! All files are in the directory `terraform` of the site: the executable as `terraform`, the real one as
//! `real`, and `starts`, to which every start adds a line. A file in `trouble` with the name of a task makes
//! the executable misbehave for that task while the file exists; its text is the name of a [`Misbehaviour`].

mod misbehaving;
mod stand_in;
mod state;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::journal::ProcessKey;
use crate::observed::sightings::{self, Sighting};
use crate::plan::{Engine, Misbehaviour};
use crate::processes;
use crate::report::say;

const DIRECTORY: &str = "terraform";
const REAL: &str = "real";
const STARTS: &str = "starts";
const TROUBLE: &str = "trouble";

/// Version of the stand-in.
const VERSION: &str = "1.11.4";

/// Sets the directory up and returns its path, for `driver.terraform.path`.
pub(crate) fn install(site: &Path, engine: Engine) -> io::Result<PathBuf> {
    let directory = site.join(DIRECTORY);
    fs::create_dir_all(&directory)?;
    fs::create_dir_all(site.join(TROUBLE))?;
    fs::write(directory.join(STARTS), "")?;
    symlink(
        cts_tests::executable("cts-faults-terraform"),
        directory.join("terraform"),
    )?;
    if engine == Engine::Real {
        symlink(cts_testkit::terraform_path(), directory.join(REAL))?;
    }
    Ok(directory)
}

/// The file that makes Terraform misbehave for a task.
pub(crate) fn trouble(site: &Path, task: &str) -> PathBuf {
    site.join(TROUBLE).join(task)
}

/// Lets Terraform misbehave for a task from now on, or stops that.
pub(crate) fn set_trouble(site: &Path, task: &str, how: Option<Misbehaviour>) -> io::Result<()> {
    let path = trouble(site, task);
    match how {
        // Its readers must see all of it or nothing.
        Some(how) => {
            let new = path.with_extension("new");
            fs::write(&new, format!("{}\n", how.name()))?;
            fs::rename(new, path)
        }
        None => match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _removed_or_absent => Ok(()),
        },
    }
}

/// A command of Terraform that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Which process.
    pub process: ProcessKey,
    /// Id of the worker, [`sightings::NO_WORKER`] without one.
    pub worker: String,
    /// When, in hundredths of a second since the machine was started.
    pub at: u64,
    /// Name of the task.
    pub task: String,
    /// The command, such as `apply`.
    pub command: String,
}

impl Start {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        Some(Self {
            process: ProcessKey {
                pid: words.next()?.parse().ok()?,
                started: words.next()?.parse().ok()?,
            },
            worker: words.next()?.to_owned(),
            at: words.next()?.parse().ok()?,
            task: words.next()?.to_owned(),
            command: words.next()?.to_owned(),
        })
    }

    /// As something that was seen for a moment.
    pub(crate) fn sighting(&self) -> Sighting {
        Sighting {
            task: self.task.clone(),
            worker: self.worker.clone(),
            group: self.process.pid,
            from: self.process.started.min(self.at),
            until: self.at,
        }
    }
}

/// All starts so far, in order.
pub(crate) fn starts(site: &Path) -> Result<Vec<Start>, String> {
    let text = fs::read_to_string(site.join(DIRECTORY).join(STARTS));
    let text = text.map_err(|error| format!("starts of Terraform: {error}"))?;
    text.lines()
        .map(|line| Start::parse(line).ok_or_else(|| format!("strange start {line:?}")))
        .collect()
}

/// One call of the executable, as cts makes it.
struct Call {
    site: PathBuf,
    task: String,
    worker: String,
    process: ProcessKey,
    arguments: Vec<OsString>,
}

impl Call {
    fn of_this_process() -> Option<Self> {
        let variable = |name: &str| std::env::var_os(name)?.into_string().ok();
        let directory = variable("CTS_TASK_DIR").unwrap_or_default();
        let task = Path::new(&directory).file_name()?.to_str()?.to_owned();
        let pid = std::process::id();
        Some(Self {
            site: variable("TEST_SITE")?.into(),
            task,
            worker: variable("CTS_WORKER").unwrap_or_else(|| sightings::NO_WORKER.to_owned()),
            process: ProcessKey {
                pid,
                started: processes::start_of(pid)?,
            },
            arguments: std::env::args_os().skip(1).collect(),
        })
    }

    fn command(&self) -> &str {
        let command = self.arguments.first();
        command.and_then(|word| word.to_str()).unwrap_or_default()
    }

    /// One write at the end of the file, so that lines of several processes stay whole.
    fn note(&self) -> io::Result<()> {
        let ProcessKey { pid, started } = self.process;
        let line = format!(
            "{pid} {started} {} {} {} {}\n",
            self.worker,
            processes::uptime(),
            self.task,
            self.command()
        );
        let starts = self.site.join(DIRECTORY).join(STARTS);
        File::options()
            .append(true)
            .open(starts)?
            .write_all(line.as_bytes())
    }

    fn trouble(&self) -> Option<String> {
        let text = fs::read_to_string(trouble(&self.site, &self.task)).ok()?;
        Some(text.trim_end().to_owned())
    }
}

/// The executable.
pub fn run() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let site = std::env::var_os("TEST_SITE").map(PathBuf::from);
    let real = site.map(|site| site.join(DIRECTORY).join(REAL));
    let real = real.filter(|real| real.exists());
    if arguments.first().is_some_and(|word| word == "version") && real.is_none() {
        let version = format!("{{\"terraform_version\":\"{VERSION}\"}}\n");
        return exit(io::stdout().write_all(version.as_bytes()));
    }
    if let Some(call) = Call::of_this_process() {
        if let Err(error) = call.note() {
            say(&format!("cannot note a start: {error}"));
            return ExitCode::FAILURE;
        }
        if let Some(code) = misbehaving::misbehave(&call) {
            return code;
        }
        if real.is_none() {
            return stand_in::run(&call);
        }
    }
    match real {
        Some(real) => become_real(&real, arguments),
        None => ExitCode::SUCCESS,
    }
}

#[expect(clippy::disallowed_methods, reason = "it becomes that process")]
fn become_real(real: &Path, arguments: Vec<OsString>) -> ExitCode {
    let error = Command::new(real).args(arguments).exec();
    say(&format!("cannot become {}: {error}", real.display()));
    ExitCode::FAILURE
}

fn exit(result: io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_was_noted_is_read() {
        let start = Start {
            process: ProcessKey {
                pid: 7,
                started: 100,
            },
            worker: "w".to_owned(),
            at: 102,
            task: "task-1".to_owned(),
            command: "apply".to_owned(),
        };
        assert_eq!(Start::parse("7 100 w 102 task-1 apply"), Some(start));
        assert_eq!(Start::parse("7 100 w 102 task-1"), None);
    }
}
