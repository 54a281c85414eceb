//! The directory of one test.

use std::fs;
use std::path::{Path, PathBuf};

use cts_testkit::{Postgres, eventually, terraform_path};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::DEADLINE;
use crate::driver::Driver;
use crate::launcher::{Clocks, Launcher, Versions};
use crate::leftovers::{SITE_MARKER, end_processes_of_site, processes_below};
use crate::met;
use crate::modules::{STEP_SCRIPT, STEPS};
use crate::other_user::OtherUser;
use crate::process::Process;
use crate::shape::Shape;
use crate::state::{ids_of, recorded_keys, recorded_services};
use crate::workspaces::Workspaces;

/// The content of a driver block that makes [`Backend::Local`].
pub const LOCAL_BACKEND: &str = "backend \"local\" {}";

/// The place of Terraform's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// The default: Consul's key/value store.
    Consul,
    /// The task's directory, where [`Site::recorded`] can read it. For one worker.
    Local,
    /// A directory of the site, where [`Site::recorded`] can read it. For any number of workers.
    Shared,
}

/// A directory with configuration (`cts.hcl`), modules (`modules/…`) and working directory (`work`).
/// When dropped, it ends every Terraform that is still at work in it, and is removed.
///
/// Declare it before the processes that run in it: they must be dropped first.
#[derive(Debug)]
pub struct Site {
    path: PathBuf,
    environment: Vec<(String, String)>,
    clocks: Option<Clocks>,
    user: Option<OtherUser>,
    versions: Option<Versions>,
    database: OnceCell<String>,
    workspaces: Option<Workspaces>,
    _directory: TempDir,
}

impl Site {
    /// An empty directory.
    pub fn new() -> Self {
        let mut builder = tempfile::Builder::new();
        let directory = builder.prefix("cts-system.").tempdir().unwrap();
        let path = fs::canonicalize(directory.path()).unwrap();
        fs::create_dir(path.join("tmp")).unwrap();
        Self {
            path,
            environment: Vec::new(),
            clocks: None,
            user: None,
            versions: None,
            database: OnceCell::new(),
            workspaces: None,
            _directory: directory,
        }
    }

    /// An empty directory, for tasks of this driver whose Terraform works on this machine.
    pub async fn with_driver(driver: Driver) -> Self {
        let mut site = Self::new();
        if driver == Driver::TerraformCloud {
            site.workspaces = Some(Workspaces::on_stub(&site.path).await);
        }
        site
    }

    /// An empty directory, for tasks of this driver whose Terraform works anywhere: on the server that is given to the
    /// test run (CONTRIBUTING.md), if there is one.
    pub async fn with_driver_anywhere(driver: Driver) -> Self {
        let mut site = Self::new();
        if driver == Driver::TerraformCloud {
            site.workspaces = Some(Workspaces::on_any(&site.path).await);
        }
        site
    }

    /// Its absolute path without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The working directory of cts.
    pub fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    /// Sets an environment variable of the processes started after this.
    pub fn set_environment(&mut self, name: &str, value: impl Into<String>) {
        self.environment.push((name.to_owned(), value.into()));
    }

    /// Loads a library into the processes started after this, and names a file to each in an environment
    /// variable: that in `directory` with the name of its log, without the ending.
    pub(crate) fn set_clocks(&mut self, library: &Path, variable: &str, directory: &Path) {
        self.clocks = Some(Clocks {
            library: library.to_owned(),
            variable: variable.to_owned(),
            directory: directory.to_owned(),
        });
    }

    /// Runs the processes started after this as a user without privileges, as in production. A test that runs
    /// without privileges is such a user already.
    ///
    /// Files that the test writes later still belong to the test.
    pub fn give_up_privileges(&mut self) {
        self.user = OtherUser::of_site(&self.path, &["tmp", "work"]);
    }

    /// Writes a file below the site.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes `cts.hcl`: no buffering, Consul's address, the backend and `more`, usually tasks. Workspaces on a server
    /// take the place of the backend.
    pub fn configure(&self, consul: &str, backend: Backend, more: &str) {
        if let Some(workspaces) = &self.workspaces {
            return self.write_configuration(consul, &workspaces.driver(), more);
        }
        let driver = match backend {
            Backend::Consul => String::new(),
            Backend::Local => LOCAL_BACKEND.to_owned(),
            Backend::Shared => self.shared_backend(),
        };
        self.configure_driver(consul, &driver, more);
    }

    /// The content of a driver block that makes [`Backend::Shared`].
    pub fn shared_backend(&self) -> String {
        format!(
            "shared_local_backend = true\n  backend \"local\" {{ workspace_dir = \"{}\" }}",
            self.path.join("state").display()
        )
    }

    /// Writes the configuration with `driver` as the further content of the driver block. If that begins with
    /// [`LOCAL_BACKEND`], it is allowed explicitly where the shape demands it.
    pub fn configure_driver(&self, consul: &str, driver: &str, more: &str) {
        let clustered = Shape::of_this_run() == Shape::Cluster;
        let allowed = if clustered && driver.starts_with(LOCAL_BACKEND) {
            "shared_local_backend = true"
        } else {
            ""
        };
        let block = format!("driver \"terraform\" {{\n  log = true\n  {allowed}\n  {driver}\n}}");
        self.write_configuration(consul, &block, more);
    }

    /// Writes the configuration with this driver block.
    pub fn write_configuration(&self, consul: &str, driver: &str, more: &str) {
        let text = format!(
            "log_level = \"DEBUG\"\nworking_dir = \"work\"\nbuffer_period {{ enabled = false }}\n\
             consul {{ address = \"{consul}\" }}\n{driver}\n{more}"
        );
        self.write("cts.hcl", &text);
    }

    /// Address of the site's own database in the shared Postgres, with the current schema; `database.hcl`
    /// names it.
    pub async fn database(&self) -> &str {
        let make = async || {
            let url = Postgres::shared().await.create_database().await;
            self.write_database(&url);
            self.migrate().await;
            url
        };
        self.database.get_or_init(make).await
    }

    /// Writes `database.hcl`.
    pub fn write_database(&self, url: &str) {
        let text = format!("database {{\n  url = \"{url}\"\n  max_connections = 8\n}}\n");
        self.write("database.hcl", &text);
    }

    /// Brings the schema of the database in `database.hcl` up to date.
    pub async fn migrate(&self) {
        let arguments = ["migrate", "-config-file", "database.hcl"];
        let migrating = self.run("cts", &arguments, "migrate.log");
        migrating.wait().await.assert_code(0);
    }

    /// Writes the module [`STEPS`] for one task; its name is that of the task.
    pub fn write_steps(&self, task: &str) {
        let site = self.path.to_str().unwrap();
        let text = STEPS.replace("@SITE@", site).replace("@TASK@", task);
        self.write(&format!("modules/{task}/main.tf"), &text);
        self.write(&format!("modules/{task}/step.sh"), STEP_SCRIPT);
    }

    /// Makes steps wait after their beginning, until [`Site::release`].
    pub fn hold(&self) {
        self.write("hold", "");
    }

    /// Lets waiting steps go on.
    pub fn release(&self) {
        fs::remove_file(self.path.join("hold")).unwrap();
    }

    /// Lines that the steps of a task have written.
    pub fn journal(&self, task: &str) -> Vec<String> {
        let path = self.path.join(format!("{task}.journal"));
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until the journal of a task has a line `word PID ids`, and returns the PID.
    pub async fn wait_for_step(&self, task: &str, word: &str, ids: &str) -> i32 {
        eventually(DEADLINE, async || {
            let journal = self.journal(task);
            journal
                .iter()
                .find_map(|line| {
                    let rest = line.strip_prefix(word)?.strip_suffix(ids)?;
                    rest.trim().parse().ok()
                })
                .ok_or_else(|| format!("no {word} of <{ids}> in {journal:?}"))
        })
        .await
    }

    /// The services that arrived in a task's module, by its state in the local backend.
    pub fn recorded(&self, task: &str) -> Result<Value, String> {
        let state = fs::read(self.state_path(task)).map_err(|error| error.to_string())?;
        recorded_services(&state)
    }

    /// State of a task: that of its workspace, or else the one at [`Site::state_path`].
    pub async fn state(&self, task: &str) -> Result<Vec<u8>, String> {
        match &self.workspaces {
            Some(workspaces) => workspaces.state(task).await,
            None => fs::read(self.state_path(task)).map_err(|error| error.to_string()),
        }
    }

    /// State of a task in backend [`Backend::Local`] or [`Backend::Shared`].
    pub fn state_path(&self, task: &str) -> PathBuf {
        let shared = self.path.join("state");
        if shared.exists() {
            return shared.join(task).join("terraform.tfstate");
        }
        let path = format!("{task}/terraform.tfstate.d/{task}/terraform.tfstate");
        self.work().join(path)
    }

    /// Waits until exactly the instances with these ids have arrived, and returns them.
    pub async fn wait_for_ids(&self, task: &str, ids: &[&str]) -> Value {
        eventually(DEADLINE, async || {
            let services = recorded_services(&self.state(task).await?)?;
            let arrived = ids_of(&services);
            if arrived == ids {
                Ok(services)
            } else {
                Err(format!("{task} has {arrived:?}, not {ids:?}"))
            }
        })
        .await
    }

    /// Waits until the module has these keys.
    pub async fn wait_for_keys(&self, task: &str, keys: &Value) {
        eventually(DEADLINE, async || {
            let recorded = recorded_keys(&self.state(task).await?)?;
            met(
                recorded == *keys,
                format!("{task} has {recorded}, not {keys}"),
            )
        })
        .await;
    }

    /// Ids of living Terraform processes, and of processes that they started, in task directories of the site.
    pub fn terraform_processes(&self) -> Vec<i32> {
        let processes = processes_below(&self.path);
        processes.into_iter().map(Pid::as_raw).collect()
    }

    /// Kills every Terraform of the site and the processes that it started, also those that are started meanwhile.
    pub async fn kill_terraform(&self) {
        self.until_quiet(|process| {
            let _gone = kill(process, Signal::SIGKILL);
        })
        .await;
    }

    /// Waits until Terraform and everything that it started have ended.
    pub async fn wait_until_quiet(&self) {
        self.until_quiet(|_process| {}).await;
    }

    /// Waits until no such process is left, and does this with each one that is seen.
    async fn until_quiet(&self, with_each: impl Fn(Pid)) {
        eventually(DEADLINE, async || {
            let left = processes_below(&self.path);
            left.iter().copied().for_each(&with_each);
            met(left.is_empty(), format!("still at work: {left:?}"))
        })
        .await;
    }

    /// Starts `cts start` with `cts.hcl`, on 127.0.0.1 unless `arguments` name another address; output goes to `cts.log`.
    pub fn run_cts(&self, port: u16, arguments: &[&str]) -> Process {
        self.write("port.hcl", &format!("port = {port}\n"));
        let mut all = vec![
            "start",
            "-config-file",
            "cts.hcl",
            "-config-file",
            "port.hcl",
        ];
        if !arguments.contains(&"-bind-address") {
            all.extend(["-bind-address", "127.0.0.1"]);
        }
        all.extend(arguments);
        self.run("cts", &all, "cts.log")
    }

    /// Starts `cts`, called as `name`, in the site's directory; output goes to the file `log`.
    pub fn run(&self, name: &str, arguments: &[&str], log: &str) -> Process {
        self.launcher().run(name, arguments, log)
    }

    /// Lets each start of a service be one of this version or of the executable `previous`, by the seed; the first start
    /// is one of `previous`.
    pub fn mix_versions(&mut self, previous: PathBuf, seed: u64) {
        self.versions = Some(Versions::new(previous, seed));
    }

    /// A launcher for processes like those of this site.
    pub fn launcher(&self) -> Launcher {
        Launcher::new(
            &self.path,
            self.surrounding_environment(),
            self.clocks.clone(),
            self.user.clone(),
            self.versions.clone(),
        )
    }

    /// Environment of the processes: nothing of the caller's Terraform and Consul leaks in.
    pub fn surrounding_environment(&self) -> Vec<(String, String)> {
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let terraform = match &self.user {
            Some(user) => user.programs.join("terraform"),
            None => terraform_path(),
        };
        let directories = std::iter::once(terraform.parent().unwrap().to_owned())
            .chain(std::env::split_paths(&inherited));
        let path = std::env::join_paths(directories).unwrap();
        let text = |path: PathBuf| path.into_os_string().into_string().unwrap();
        let mut all = vec![
            ("PATH".to_owned(), path.into_string().unwrap()),
            ("HOME".to_owned(), text(self.path.clone())),
            ("TMPDIR".to_owned(), text(self.path.join("tmp"))),
            ("CHECKPOINT_DISABLE".to_owned(), "1".to_owned()),
            (SITE_MARKER.to_owned(), text(self.path.clone())),
        ];
        all.extend(self.environment.iter().cloned());
        all
    }
}

impl Default for Site {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        end_processes_of_site(&self.path);
    }
}
