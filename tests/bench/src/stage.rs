//! Everything that runs during a scenario, and its end.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use cts_testkit::{ConsulAgent, Postgres, free_port, terraform_path};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use tempfile::TempDir;

use crate::access::Access;
use crate::arguments::{General, Modules};
use crate::by_hand::Terraform;
use crate::cluster::{Cluster, ClusterSettings};
use crate::measures::clock::Moment;
use crate::measures::report::say;
use crate::measures::usage::{Usage, executable_of, with_twins};
use crate::process::{Launch, Process};
use crate::runs::Runs;
use crate::shim::TerraformShim;
use crate::site::{CONFIGURATION, SERVICE, Settings, Site};
use crate::surroundings::Surroundings;
use crate::telemetry::Telemetry;

/// Things that a scenario needs besides cts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Needs {
    /// Needed by every scenario that runs tasks.
    pub(crate) consul: bool,
    /// Consul with its default limits.
    pub(crate) default_limits: bool,
    /// The cluster shape.
    pub(crate) postgres: bool,
    /// A Terraform that does nothing in place of the real one.
    pub(crate) pretended_terraform: bool,
}

/// The properties of a site.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub(crate) name: &'a str,
    pub(crate) tasks: u32,
    pub(crate) modules: Modules,
    /// Absent for the embedded shape.
    pub(crate) cluster: Option<ClusterSettings>,
    pub(crate) access: Access,
}

#[derive(Debug)]
struct Tools {
    cts: PathBuf,
    shim: TerraformShim,
}

/// Dropping it kills all processes that [`Stage::end`] did not end.
#[derive(Debug)]
pub(crate) struct Stage {
    surroundings: Surroundings,
    given_cts: Option<PathBuf>,
    keep: bool,
    with_telemetry: bool,
    telemetry: Option<Telemetry>,
    work: TempDir,
    tools: Option<Tools>,
    consul: Option<ConsulAgent>,
    postgres: Option<Postgres>,
    /// Running processes in the order of their start.
    running: Vec<Process>,
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
            with_telemetry: general.telemetry,
            telemetry: None,
            work,
            tools: None,
            consul: None,
            postgres: None,
            running: Vec::new(),
        })
    }

    /// Gets the executables and starts Consul and, if need be, Postgres.
    pub(crate) async fn set_up(&mut self, needs: Needs) -> Result<()> {
        say("making sure that the release executables are up to date");
        let cts = match &self.given_cts {
            Some(path) => {
                fs::canonicalize(path).with_context(|| format!("there is no {}", path.display()))?
            }
            None => self.surroundings.build("cts", "cts").await?,
        };
        let shim = self.helper("cts-bench-terraform").await?;
        let directory = self.work.path().join("terraform");
        let real = (!needs.pretended_terraform).then(terraform_path);
        let shim = TerraformShim::install(directory, &shim, real.as_deref())?;
        self.tools = Some(Tools { cts, shim });
        if needs.consul {
            say("starting Consul");
            // Consul counts the connections of a cts that has ended for minutes.
            let limits = if needs.default_limits {
                json!({})
            } else {
                json!({"limits": {"http_max_conns_per_client": 10_000}})
            };
            self.consul = Some(ConsulAgent::start_with(limits).await);
        }
        if self.with_telemetry {
            self.telemetry = Some(Telemetry::start().await?);
        }
        if needs.postgres {
            say("starting Postgres");
            self.postgres = Some(Postgres::start().await);
        }
        Ok(())
    }

    /// An executable of the benchmark. Nothing is built beside a given cts.
    async fn helper(&self, binary: &str) -> Result<PathBuf> {
        let ready = self.surroundings.beside_this(binary);
        match ready.filter(|_| self.given_cts.is_some()) {
            Some(ready) => Ok(ready),
            None => self.surroundings.build("cts-bench", binary).await,
        }
    }

    /// Builds and starts a helper of the benchmark, which ends with the processes of cts.
    pub(crate) async fn launch_helper(
        &mut self,
        site: &Site,
        binary: &str,
        launch: &Launch,
    ) -> Result<()> {
        let executable = self.helper(binary).await?;
        let environment = self.surroundings.clean_environment();
        let helper = Process::start(&executable, launch, site.path(), &environment)?;
        self.running.push(helper);
        Ok(())
    }

    fn tools(&self) -> Result<&Tools> {
        self.tools.as_ref().context("the stage is not set up")
    }

    pub(crate) fn shim(&self) -> Result<&TerraformShim> {
        Ok(&self.tools()?.shim)
    }

    /// Removes the states of all tasks, and all other keys of cts in Consul's KV store.
    pub(crate) async fn forget_states(&self) -> Result<()> {
        self.consul()?
            .kv_delete("consul-terraform-sync?recurse")
            .await;
        Ok(())
    }

    pub(crate) fn consul(&self) -> Result<&ConsulAgent> {
        self.consul.as_ref().context("Consul was not started")
    }

    /// Replaces the running Consul by one that also speaks HTTPS, with this certificate.
    pub(crate) async fn restart_consul_with_tls(
        &mut self,
        port: u16,
        cert: &Path,
        key: &Path,
    ) -> Result<()> {
        if let Some(mut consul) = self.consul.take() {
            consul.stop().await;
        }
        let tls = json!({"ports": {"https": port}, "cert_file": cert, "key_file": key});
        self.consul = Some(ConsulAgent::start_with(tls).await);
        Ok(())
    }

    /// Usage of Consul.
    pub(crate) fn consul_usage(&self) -> Result<Usage> {
        let pid = self.consul()?.pid();
        Usage::of(Pid::from_raw(pid.try_into().context("strange process id")?))
    }

    /// A new directory for cts, and a new database where it needs one. All tasks watch one service.
    pub(crate) async fn new_site(&self, plan: Plan<'_>) -> Result<Site> {
        self.new_site_on(plan, 1).await
    }

    /// A new site like that of [`Self::new_site`], with tasks on so many services in turn.
    pub(crate) async fn new_site_on(&self, plan: Plan<'_>, services: u32) -> Result<Site> {
        let cluster = match plan.cluster {
            None => None,
            Some(settings) => {
                let postgres = self.postgres.as_ref().context("Postgres was not started")?;
                Some(Cluster::new(settings, postgres.create_database().await))
            }
        };
        let settings = Settings {
            consul: &self.consul()?.address(),
            api_port: free_port(),
            terraform: self.shim()?.directory(),
            cluster,
        };
        let directory = self.work.path().join(plan.name);
        let site = Site::create(directory, settings, plan.tasks, plan.modules, services)?;
        plan.access.set_up(site.path(), CONFIGURATION)?;
        Ok(site.with_access(plan.access))
    }

    /// Starts cts in the shape of the site, one process of each service in a cluster; returns the moment just
    /// before, and the stream of its runs as soon as cts offers it.
    pub(crate) async fn start_cts(&mut self, site: &Site) -> Result<(Moment, Runs)> {
        self.start_cts_with(site, &Cluster::gateway()).await
    }

    /// As [`Self::start_cts`], with this gateway in a cluster.
    pub(crate) async fn start_cts_with(
        &mut self,
        site: &Site,
        gateway: &Launch,
    ) -> Result<(Moment, Runs)> {
        if site.is_cluster() {
            self.migrate(site).await?;
        }
        let before = Moment::now();
        let address = if site.is_cluster() {
            let cluster = site.cluster()?;
            self.launch(site, &cluster.watcher())?;
            self.launch(site, &cluster.scheduler(site, 0)?)?;
            self.launch(site, &Cluster::worker())?;
            self.launch(site, gateway)?;
            cluster.scheduler_address(0).to_owned()
        } else {
            let address = format!("127.0.0.1:{}", free_port());
            let api = ["-bind-address", "127.0.0.1", "-grpc-address", &address];
            let words = [&["start", "-config-file", CONFIGURATION], &api[..]].concat();
            self.launch(site, &Launch::new("cts", &words))?;
            address
        };
        let channel = site.access().connect(site.path(), &address).await?;
        Ok((before, Runs::follow(channel).await?))
    }

    /// Makes the tables.
    pub(crate) async fn migrate(&mut self, site: &Site) -> Result<()> {
        self.start_process(site, &Cluster::migrate())?
            .ended()
            .await
            .context("the database cannot be set up")
    }

    /// A token with the right to read, where the API demands one.
    pub(crate) async fn token(&self, site: &Site) -> Result<Option<String>> {
        if site.access() != Access::Auth {
            return Ok(None);
        }
        let token = self.new_token(site, "bench", &["-role", "read"]).await;
        token.map(Some)
    }

    /// A token of this name, with the rights that the `options` of its command give.
    pub(crate) async fn new_token(
        &self,
        site: &Site,
        name: &str,
        options: &[&str],
    ) -> Result<String> {
        let create = ["token", "create", name, "-config-file", CONFIGURATION];
        let launch = Launch::new(&format!("token-{name}"), &[&create, options].concat());
        self.start_process(site, &launch)?.ended().await?;
        let log = fs::read_to_string(site.path().join(format!("{}.log", launch.name)))?;
        let token = log.lines().find(|line| line.starts_with("cts_"));
        Ok(token.context("no token was made")?.to_owned())
    }

    /// Starts one process.
    pub(crate) fn launch(&mut self, site: &Site, launch: &Launch) -> Result<()> {
        let process = match &mut self.telemetry {
            Some(telemetry) => {
                let observed = telemetry.observe(site.path(), launch)?;
                self.start_process(site, &observed)?
            }
            None => self.start_process(site, launch)?,
        };
        self.running.push(process);
        Ok(())
    }

    /// A new directory below that of this stage.
    pub(crate) fn new_directory(&self, name: &str) -> Result<PathBuf> {
        let directory = self.work.path().join(name);
        fs::create_dir(&directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        Ok(directory)
    }

    /// Starts a process of cts in a directory that is no site.
    pub(crate) fn start_in(&self, directory: &Path, launch: &Launch) -> Result<Process> {
        let environment = self.surroundings.clean_environment();
        Process::start(&self.tools()?.cts, launch, directory, &environment)
    }

    fn start_process(&self, site: &Site, launch: &Launch) -> Result<Process> {
        self.start_in(site.path(), launch)
    }

    /// The running process of this name, which is no longer this stage's to end.
    pub(crate) fn take(&mut self, name: &str) -> Result<Process> {
        let index = self.running.iter().position(|known| known.name() == name);
        let index = index.with_context(|| format!("{name} does not run"))?;
        Ok(self.running.remove(index))
    }

    /// Ends all processes of cts, the last one first; fails if one does not end well.
    pub(crate) async fn stop_cts(&mut self) -> Result<()> {
        let mut result = Ok(());
        while let Some(process) = self.running.pop() {
            let stopped = process.stop().await;
            result = result.and(stopped);
        }
        result
    }

    /// Usage of all processes of cts together.
    pub(crate) fn usage(&self) -> Result<Usage> {
        self.running.iter().map(Process::usage).sum()
    }

    /// Usage of each process of cts, with its name.
    pub(crate) fn usages(&self) -> Result<Vec<(&str, Usage)>> {
        let processes = self.running.iter();
        processes
            .map(|process| Ok((process.name(), process.usage()?)))
            .collect()
    }

    /// Usage of the server and its living backends.
    pub(crate) fn postgres_usage(&self) -> Result<Usage> {
        let postgres = self.postgres.as_ref().context("Postgres was not started")?;
        let pid = Pid::from_raw(postgres.pid().try_into().context("strange process id")?);
        let executable = executable_of(pid).context("Postgres has ended")?;
        with_twins(pid, &executable)
    }

    /// Transactions that the server counts in the databases of sites; this query is not counted.
    pub(crate) async fn transactions(&self) -> Result<i64> {
        let postgres = self.postgres.as_ref().context("Postgres was not started")?;
        let count = "SELECT sum(xact_commit + xact_rollback)::BIGINT FROM pg_stat_database \
                     WHERE datname LIKE 'cts\\_%'";
        Ok(postgres.number(count).await)
    }

    /// Terraform with the environment that cts gives it (docs/terraform.md#the-environment-of-terraform), through the
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

    /// Registers an instance of the service whose port and metadata have `version`; returns the moment just
    /// before the request.
    pub(crate) async fn register(&self, instance: u32, version: Version) -> Result<Moment> {
        self.register_for(SERVICE, instance, version).await
    }

    /// Registers for another service.
    pub(crate) async fn register_for(
        &self,
        service: &str,
        instance: u32,
        version: Version,
    ) -> Result<Moment> {
        let port = 1024 + version.0 % 60_000;
        let body = json!({
            "ID": format!("{service}-{instance}"),
            "Name": service,
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

    /// Shows the ends of the logs of all running processes, on standard error.
    pub(crate) fn show_logs(&self) {
        for process in &self.running {
            process.show_log();
        }
    }

    /// Ends everything: cts first, which still needs Consul and Postgres to stop cleanly.
    pub(crate) async fn end(mut self) {
        if let Err(error) = self.stop_cts().await {
            say(&format!("cts did not stop well: {error:#}"));
        }
        self.kill_leftovers();
        if let Some(mut postgres) = self.postgres.take() {
            postgres.stop().await;
        }
        if let Some(mut consul) = self.consul.take() {
            consul.stop().await;
        }
        if self.keep {
            say(&format!("files kept in {}", self.work.keep().display()));
        }
    }

    /// Kills the Terraform processes that a killed cts leaves running.
    fn kill_leftovers(&self) {
        let starts = self.shim().and_then(TerraformShim::starts);
        for start in starts.unwrap_or_default() {
            let Ok(pid) = i32::try_from(start.pid) else {
                continue;
            };
            // The number may belong to another process by now.
            let directory = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
            if is_below(&directory, self.work.path())
                && kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok()
            {
                say(&format!("killed a Terraform that was left ({pid})"));
            }
        }
    }
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

    /// The version as it appears in the metadata.
    pub(crate) fn text(self) -> String {
        format!("v{:06}", self.0)
    }
}
