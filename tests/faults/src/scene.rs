//! Everything that runs: Consul, the database, and all processes of cts.

mod configuration;
mod past;
mod states;
mod wires;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cts_testkit::{ConsulAgent, LimitedDisk, Postgres, PostgresSettings};
use cts_tests::{Backend, Cluster, Driver, Plan as ClusterPlan, Site};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

pub(crate) use self::configuration::{Configuration, Versions};
pub(crate) use self::wires::Wires;
use self::wires::{DATABASE_FILE, SERVICES_FILE};
use crate::audit::Audit;
use crate::campaign::Outside;
use crate::clock;
use crate::database::Database;
use crate::plan::{Change, Member, Place, Plan, Shape};
use crate::report::say;
use crate::server::Server;
use crate::system::{System, Whole};
use crate::terraform;
use crate::wanted::Wanted;

/// Name of the database.
const DATABASE: &str = "cts_faults";
/// Room for it, where a disk of its own can be had.
const DISK: u64 = 512 << 20;
/// So that the log of a long run fits, too.
const LITTLE_LOG: [(&str, &str); 2] = [("max_wal_size", "96MB"), ("min_wal_size", "32MB")];

const TIMEOUT: Duration = Duration::from_secs(30);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Life of the leadership.
pub(crate) const SESSION_TTL: Duration = Duration::from_secs(3);
/// Life of a run's lease.
pub(crate) const LEASE_TTL: Duration = Duration::from_secs(6);
/// Runs that one worker works on at a time.
pub(crate) const SLOTS: usize = 3;

/// The system under test. Fields are dropped in the order of their declaration.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) system: System,
    pub(crate) outside: Outside,
    pub(crate) members: Vec<Member>,
    pub(crate) backend: Backend,
    /// The present place of the states.
    pub(crate) place: Place,
    /// Directory of the executable.
    pub(crate) terraform: PathBuf,
    /// Address of Consul for processes without a proxy before it.
    pub(crate) consul: SocketAddr,
    pub(crate) site: Site,
}

impl Scene {
    /// Starts everything; all processes are healthy when this returns.
    pub(crate) async fn start(plan: &Plan, previous: Option<&Path>) -> Self {
        let consul = ConsulAgent::start_durable().await;
        let mut site = Site::new();
        if let Some(previous) = previous {
            site.mix_versions(previous.to_owned(), plan.seed);
        }
        let members = plan.setup.members();
        clock::install(&mut site, &members).await;
        let terraform = terraform::install(site.path(), plan.setup.engine).unwrap();
        let mut wanted = Wanted::new(&consul.address());
        for (service, place, instance) in &plan.initial {
            let change = Change::Register {
                service: *service,
                place: *place,
                instance: instance.clone(),
            };
            wanted.order(&change).await;
        }
        let server = match plan.setup.driver {
            Driver::Terraform => None,
            Driver::TerraformCloud => Some(Arc::new(Server::start(&site).await)),
        };
        let configuration = Configuration {
            plan,
            terraform: &terraform,
            server: server.as_deref(),
            versions: Versions::default(),
        };
        configuration.write_modules(&site);
        let address: SocketAddr = consul.address().parse().unwrap();
        let (system, database, wires) = match plan.setup.shape {
            Shape::Cluster => cluster(plan, &site, &configuration, &members, address).await,
            Shape::Embedded => whole(&site, &configuration, address).await,
        };
        Self {
            system,
            outside: Outside {
                consul: Arc::new(Mutex::new(consul)),
                database,
                wanted: Arc::new(Mutex::new(wanted)),
                wires: Arc::new(wires),
                site: site.path().to_owned(),
                all_tasks: plan.all_tasks(),
                server,
            },
            members,
            backend: plan.setup.backend,
            place: Place::First,
            consul: address,
            terraform,
            site,
        }
    }
}

async fn cluster(
    plan: &Plan,
    site: &Site,
    configuration: &Configuration<'_>,
    members: &[Member],
    consul: SocketAddr,
) -> (System, Database, Wires) {
    let limited = PostgresSettings {
        parameters: &LITTLE_LOG,
        ..PostgresSettings::default()
    };
    let postgres = match Postgres::start_limited(DISK, limited).await {
        Ok(postgres) => postgres,
        Err(error) => {
            say(&format!(
                "no disk for the database that could be full: {error}"
            ));
            Postgres::start().await
        }
    };
    postgres
        .execute(&format!("CREATE DATABASE {DATABASE}"))
        .await;
    let url = postgres.url(DATABASE);
    let port = postgres.port();
    let database = Database::Postgres {
        url: url.clone(),
        server: Arc::new(Mutex::new(postgres)),
    };
    site.write_database(&url);
    site.migrate().await;
    let services = ClusterPlan {
        session_ttl: SESSION_TTL,
        lease_ttl: LEASE_TTL,
        slots: SLOTS,
        database: Some(url.clone()),
        files: vec![(None, configuration::FILE.to_owned())],
        addresses: [SERVICES_FILE.to_owned(), DATABASE_FILE.to_owned()],
        on_takeover: plan.setup.takeover_runs_all.then_some("all"),
        ..ClusterPlan::of(2, 2, 3, 2)
    };
    let cluster = Cluster::lay_out(site, services).await;
    let server = SocketAddr::from(([127, 0, 0, 1], port));
    let proxied =
        |proxy: SocketAddr| url.replace(&format!(":{port}/"), &format!(":{}/", proxy.port()));
    let wires = Wires::of_cluster(site, &cluster, members, server, consul, proxied).await;
    for &member in members {
        let consul = wires.consul(member).unwrap_or(consul);
        configuration.write(site, member, consul);
    }
    let mut system = System::Cluster(Box::new(cluster));
    past::make(plan, &mut system, &url, plan.setup.past).await;
    Audit::install(&database, plan.setup.brake).await.unwrap();
    // The file of the first leader is in force.
    let (later, first): (Vec<Member>, Vec<Member>) = members
        .iter()
        .partition(|member| plan.setup.is_stale(**member));
    for group in [first, later] {
        system.start(&group).await;
        if let System::Cluster(cluster) = &system {
            cluster.wait_for_leader().await;
        }
    }
    if plan.setup.stale_file {
        // A leader whose database stands still would not count as a member, and the stale file be put in force.
        let decided = format!(
            "SELECT count(*) = 2 AND max(registered_at) + {} < cts_now() FROM member_configurations",
            2 * SESSION_TTL.as_micros()
        );
        wait_until(&url, &decided).await;
    }
    (system, database, wires)
}

/// Waits until the database answers a question with yes.
async fn wait_until(url: &str, question: &str) {
    let options: PgConnectOptions = url.parse().unwrap();
    let mut connection = PgConnection::connect_with(&options).await.unwrap();
    let end = Instant::now() + TIMEOUT;
    loop {
        let answer: bool = sqlx::query_scalar(AssertSqlSafe(question.to_owned()))
            .fetch_one(&mut connection)
            .await
            .unwrap();
        if answer {
            break;
        }
        assert!(Instant::now() < end, "not true for long: {question}");
        sleep(BETWEEN_LOOKS).await;
    }
    connection.close().await.unwrap();
}

async fn whole(
    site: &Site,
    configuration: &Configuration<'_>,
    consul: SocketAddr,
) -> (System, Database, Wires) {
    let work = site.work();
    std::fs::create_dir(&work).unwrap();
    let disk = LimitedDisk::mount(&work, DISK);
    if let Err(error) = &disk {
        say(&format!(
            "no disk for the database that could be full: {error}"
        ));
    }
    let database = Database::Sqlite {
        path: work.join("cts.db"),
        disk: disk.ok().map(Arc::new),
    };
    let wires = Wires::of_whole(consul).await;
    let consul = wires.consul(Member::Whole).unwrap_or(consul);
    let mut system = System::Whole(Box::new(Whole::lay_out(site)));
    // A first start makes the database.
    configuration.write_without_tasks(site, consul);
    system.start(&[Member::Whole]).await;
    if let Some(process) = system.take(Member::Whole) {
        process.terminate().await;
    }
    Audit::install(&database, configuration.plan.setup.brake)
        .await
        .unwrap();
    configuration.write(site, Member::Whole, consul);
    system.start(&[Member::Whole]).await;
    (system, database, wires)
}
