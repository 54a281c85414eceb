//! Everything that runs: Consul, Postgres, and all processes of cts.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use cts_testkit::{ConsulAgent, Postgres};
use cts_tests::{Backend, Cluster, Plan as ClusterPlan, Site, task};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::sync::Mutex;

use crate::audit::Audit;
use crate::module;
use crate::plan::Plan;
use crate::wanted::Wanted;

/// Name of the database.
const DATABASE: &str = "cts_faults";

/// See the module. What is declared first is dropped first.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) cluster: Cluster,
    pub(crate) wanted: Wanted,
    pub(crate) consul: Arc<Mutex<ConsulAgent>>,
    pub(crate) postgres: Arc<Mutex<Postgres>>,
    pub(crate) database: String,
    pub(crate) backend: Backend,
    pub(crate) site: Site,
}

impl Scene {
    /// Starts everything; all processes are healthy when this returns.
    pub(crate) async fn start(plan: &Plan, backend: Backend) -> Self {
        let consul = ConsulAgent::start_durable().await;
        let postgres = Postgres::start().await;
        postgres
            .execute(&format!("CREATE DATABASE {DATABASE}"))
            .await;
        let database = postgres.url(DATABASE);
        let site = Site::new();
        site.write_database(&database);
        site.migrate().await;
        Audit::install(&database).await.unwrap();
        configure(&site, plan, &consul.address(), backend);
        let services = ClusterPlan {
            session_ttl: Duration::from_secs(3),
            lease_ttl: Duration::from_secs(6),
            slots: 3,
            database: Some(database.clone()),
            ..ClusterPlan::of(2, 2, 3, 2)
        };
        let mut cluster = Cluster::lay_out(&site, services).await;
        let mut wanted = Wanted::new(&consul.address());
        for (service, place, instance) in &plan.initial {
            let change = crate::plan::Change::Register {
                service: *service,
                place: *place,
                instance: instance.clone(),
            };
            wanted.order(&change).await;
        }
        cluster.launch_all();
        cluster.wait_until_all_healthy().await;
        Self {
            cluster,
            wanted,
            consul: Arc::new(Mutex::new(consul)),
            postgres: Arc::new(Mutex::new(postgres)),
            database,
            backend,
            site,
        }
    }

    /// What the modules of a task wrote down.
    pub(crate) fn journal(&self, task: usize) -> String {
        std::fs::read_to_string(journal(&self.site, task)).unwrap_or_default()
    }

    /// What Terraform's state says that a task has applied.
    pub(crate) async fn applied(&self, task: usize) -> Result<String, String> {
        let name = Plan::task(task);
        let state = if self.backend == Backend::Consul {
            let key = format!("consul-terraform-sync/terraform-env:{name}");
            unpacked(self.wanted.key(&key).await?).await?
        } else {
            std::fs::read(self.site.state_path(&name)).map_err(|error| error.to_string())?
        };
        let text = cts_tests::recorded_services(&state)?;
        text.as_str()
            .map(str::to_owned)
            .ok_or_else(|| format!("recorded {text}"))
    }
}

/// What cts tells Terraform to compress.
async fn unpacked(packed: Vec<u8>) -> Result<Vec<u8>, String> {
    let mut gzip = Command::new("gzip");
    gzip.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut gzip = gzip.spawn().map_err(|error| format!("gzip: {error}"))?;
    let mut input = gzip.stdin.take().unwrap();
    // At the same time: neither may wait for a pipe that is full.
    let (written, output) = tokio::join!(
        async move { input.write_all(&packed).await },
        gzip.wait_with_output()
    );
    written.map_err(|error| error.to_string())?;
    output
        .map(|output| output.stdout)
        .map_err(|error| error.to_string())
}

fn journal(site: &Site, task: usize) -> PathBuf {
    site.path().join(format!("{}.journal", Plan::task(task)))
}

fn configure(site: &Site, plan: &Plan, consul: &str, backend: Backend) {
    let mut tasks = String::from("worker { drain_timeout = \"15s\" }\n");
    for (number, watched) in plan.tasks.iter().enumerate() {
        let name = Plan::task(number);
        let path = journal(site, number);
        for (file, text) in module::files(&path.to_string_lossy()) {
            site.write(&format!("modules/{name}/{file}"), &text);
        }
        let services: Vec<String> = watched.iter().copied().map(Plan::service).collect();
        let services: Vec<&str> = services.iter().map(String::as_str).collect();
        let more = if plan.disabled.contains(&number) {
            "enabled = false"
        } else {
            ""
        };
        // Writing to a string cannot fail.
        _ = write!(
            tasks,
            "{}",
            task(&name, &format!("./modules/{name}"), &services, more)
        );
    }
    site.configure(consul, backend, &tasks);
}
