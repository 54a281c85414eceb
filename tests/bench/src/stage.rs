//! Everything that runs during a scenario, and its end.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use cts_testkit::{ConsulAgent, free_port, terraform_path};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use tempfile::TempDir;

use crate::arguments::{General, Modules};
use crate::by_hand::Terraform;
use crate::clock::Moment;
use crate::cts::{self, Cts, Usage};
use crate::report::say;
use crate::runs::Runs;
use crate::shim::TerraformShim;
use crate::site::{SERVICE, Settings, Site};

/// Lines of cts's log that are shown after a failure.
const LOG_LINES_SHOWN: usize = 30;

/// Variables that would make Terraform or cts do something else here than elsewhere.
const UNWANTED_PREFIXES: [&str; 4] = ["CONSUL_", "CTS_", "TF_", "VAULT_"];

/// What this process finds around itself.
#[derive(Debug)]
pub(crate) struct Surroundings {
    executable: PathBuf,
    environment: BTreeMap<OsString, OsString>,
}

impl Surroundings {
    pub(crate) fn of_this_process() -> Result<Self> {
        Ok(Self {
            executable: std::env::current_exe().context("this executable cannot be found")?,
            environment: std::env::vars_os().collect(),
        })
    }

    /// For cts, and through it for Terraform.
    fn clean_environment(&self) -> BTreeMap<OsString, OsString> {
        let wanted = |name: &OsString| {
            let name = name.to_string_lossy();
            !UNWANTED_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix))
        };
        let inherited = self.environment.iter().filter(|(name, _)| wanted(name));
        let mut environment: BTreeMap<OsString, OsString> = inherited
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        for (name, value) in [
            // It would ask the vendor's server for news and wait for the answer.
            ("CHECKPOINT_DISABLE", "1"),
            ("NO_PROXY", "127.0.0.1,localhost"),
            ("no_proxy", "127.0.0.1,localhost"),
        ] {
            environment.insert(name.into(), value.into());
        }
        environment
    }
}

#[derive(Debug)]
struct Tools {
    cts: PathBuf,
    shim: TerraformShim,
}

/// See the module. Dropping it kills what [`Stage::end`] did not end.
#[derive(Debug)]
pub(crate) struct Stage {
    surroundings: Surroundings,
    given_cts: Option<PathBuf>,
    keep: bool,
    work: TempDir,
    tools: Option<Tools>,
    consul: Option<ConsulAgent>,
    running: Option<(Cts, PathBuf)>,
}

impl Stage {
    /// Nothing runs yet.
    pub(crate) fn new(surroundings: Surroundings, general: &General) -> Result<Self> {
        let work = tempfile::Builder::new()
            .prefix("cts-bench.")
            .tempdir()
            .context("no directory for temporary files")?;
        Ok(Self {
            surroundings,
            given_cts: general.cts.clone(),
            keep: general.keep,
            work,
            tools: None,
            consul: None,
            running: None,
        })
    }

    /// Gets the executables and starts Consul.
    pub(crate) async fn set_up(&mut self) -> Result<()> {
        say("making sure that the release executables are up to date");
        let cts = match &self.given_cts {
            Some(path) => {
                fs::canonicalize(path).with_context(|| format!("there is no {}", path.display()))?
            }
            None => self.build("cts", "cts").await?,
        };
        let shim = self.build("cts-bench", "cts-bench-terraform").await?;
        let directory = self.work.path().join("terraform");
        let shim = TerraformShim::install(directory, &shim, &terraform_path())?;
        self.tools = Some(Tools { cts, shim });
        say("starting Consul");
        self.consul = Some(ConsulAgent::start().await);
        Ok(())
    }

    async fn build(&self, package: &str, binary: &str) -> Result<PathBuf> {
        let cargo = self.surroundings.environment.get(OsStr::new("CARGO"));
        let cargo = cargo.map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
        let target = self.surroundings.executable.ancestors().nth(2);
        let target = target.context("this executable is in no target directory")?;
        cts::build(&cargo, target, package, binary).await
    }

    fn tools(&self) -> Result<&Tools> {
        self.tools.as_ref().context("the stage is not set up")
    }

    pub(crate) fn shim(&self) -> Result<&TerraformShim> {
        Ok(&self.tools()?.shim)
    }

    /// Removes the states of all tasks, and whatever else cts keeps in Consul's KV store.
    pub(crate) async fn forget_states(&self) -> Result<()> {
        self.consul()?
            .kv_delete("consul-terraform-sync?recurse")
            .await;
        Ok(())
    }

    pub(crate) fn consul(&self) -> Result<&ConsulAgent> {
        self.consul.as_ref().context("Consul was not started")
    }

    /// A new directory for cts.
    pub(crate) fn new_site(&self, name: &str, tasks: u32, modules: Modules) -> Result<Site> {
        let settings = Settings {
            consul: &self.consul()?.address(),
            api_port: free_port(),
            terraform: self.shim()?.directory(),
        };
        Site::create(self.work.path().join(name), settings, tasks, modules)
    }

    /// Starts cts; gives the moment just before, and its runs as soon as it tells about them.
    pub(crate) async fn start_cts(&mut self, site: &Site) -> Result<(Moment, Runs)> {
        let executable = &self.tools()?.cts;
        let address = format!("127.0.0.1:{}", free_port());
        let environment = self.surroundings.clean_environment();
        let before = Moment::now();
        let cts = Cts::start(executable, site, &environment, &address)?;
        self.running = Some((cts, cts::log_file(site)));
        let runs = Runs::follow(&format!("http://{address}")).await?;
        Ok((before, runs))
    }

    pub(crate) async fn stop_cts(&mut self) -> Result<()> {
        let Some((cts, log)) = self.running.take() else {
            return Ok(());
        };
        let stopped = cts.stop().await;
        if stopped.is_err() {
            show_log(&log);
        }
        stopped
    }

    pub(crate) fn usage(&self) -> Result<Usage> {
        let (cts, _log) = self.running.as_ref().context("cts does not run")?;
        cts.usage()
    }

    /// Terraform with the environment that cts gives it (spec/runtime-terraform.md 5.3), through the
    /// same shim.
    pub(crate) fn terraform_by_hand(&self) -> Result<Terraform> {
        let mut environment = self.surroundings.clean_environment();
        let consul = self.consul()?.address();
        for (name, value) in [
            ("CONSUL_HTTP_ADDR", consul.as_str()),
            ("TF_APPEND_USER_AGENT", "cts-bench"),
            ("TF_IN_AUTOMATION", "1"),
        ] {
            environment.insert(name.into(), value.into());
        }
        Ok(Terraform {
            executable: self.shim()?.executable(),
            environment,
        })
    }

    /// Registers an instance of the service whose port and metadata tell `version`; gives the moment
    /// just before the request.
    pub(crate) async fn register(&self, instance: u32, version: Version) -> Result<Moment> {
        let port = 1024 + version.0 % 60_000;
        let body = json!({
            "ID": format!("{SERVICE}-{instance}"),
            "Name": SERVICE,
            "Address": format!("10.20.{}.{}", instance / 250, instance % 250 + 1),
            "Port": port,
            "Meta": {"version": version.text(), "zone": "a"},
            "Tags": ["bench"],
        });
        let consul = self.consul()?;
        let before = Moment::now();
        consul.register(body).await;
        Ok(before)
    }

    /// The end of the log of a running cts, on standard error.
    pub(crate) fn show_log(&self) {
        if let Some((_cts, log)) = &self.running {
            show_log(log);
        }
    }

    /// Ends everything: cts first, which still needs Consul to stop cleanly.
    pub(crate) async fn end(mut self) {
        if let Err(error) = self.stop_cts().await {
            say(&format!("cts did not stop well: {error:#}"));
        }
        self.kill_leftovers();
        if let Some(mut consul) = self.consul.take() {
            consul.stop().await;
        }
        if self.keep {
            say(&format!("files kept in {}", self.work.keep().display()));
        }
    }

    /// A killed cts leaves its Terraform behind.
    fn kill_leftovers(&self) {
        let starts = self.shim().and_then(TerraformShim::starts);
        for start in starts.unwrap_or_default() {
            let Ok(pid) = i32::try_from(start.pid) else {
                continue;
            };
            // The number may belong to somebody else by now.
            let directory = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
            if is_below(&directory, self.work.path())
                && kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok()
            {
                say(&format!("killed a Terraform that was left ({pid})"));
            }
        }
    }
}

fn show_log(log: &Path) {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let shown = &lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..];
    say(&format!(
        "the last lines of the log of cts:\n{}",
        shown.join("\n")
    ));
}

fn is_below(path: &Path, directory: &Path) -> bool {
    fs::canonicalize(directory).is_ok_and(|directory| path.starts_with(directory))
}

/// Numbers changes, so that each differs from every other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version(u32);

impl Version {
    pub(crate) const FIRST: Self = Self(0);

    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// As it appears in the metadata.
    pub(crate) fn text(self) -> String {
        format!("v{:06}", self.0)
    }
}
