//! Faults of the dependencies of cts: database, catalog, connections, disk, Terraform.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cts_testkit::{ConsulAgent, Link, Postgres};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::audit::postgres as audited;
use crate::clock;
use crate::database::Database;
use crate::plan::{Blow, Fault, Lock, Plan, Target, Tasks};
use crate::report::say;
use crate::scene::Wires;
use crate::server::Server;
use crate::terraform;
use crate::wanted::Wanted;

/// How long a catalog that has forgotten something may take until it can be written to again.
const RESTORE_TRIES: usize = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(500);

/// Targets outside of cts; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Outside {
    pub(crate) consul: Arc<Mutex<ConsulAgent>>,
    pub(crate) database: Database,
    pub(crate) wanted: Arc<Mutex<Wanted>>,
    pub(crate) wires: Arc<Wires>,
    pub(crate) site: PathBuf,
    pub(crate) all_tasks: usize,
    /// The server that makes the runs.
    pub(crate) server: Option<Arc<Server>>,
}

/// The consequences of a fault.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Aftermath {
    /// The database has forgotten the writes that were confirmed since then.
    pub(crate) forgotten_since: Option<Instant>,
}

impl Outside {
    /// Carries out the fault and returns when it is over; `None` if it cannot be carried out.
    pub(crate) async fn suffer(self, fault: Fault) -> Option<Aftermath> {
        let blow = fault.blow;
        match fault.target {
            Target::Postgres => return self.of_postgres(blow).await,
            Target::Consul => self.of_consul(blow).await?,
            Target::Wire(wire) => {
                let Blow::Link(link, time) = blow else {
                    return None;
                };
                if !self.wires.set(wire, link) {
                    return None;
                }
                sleep(time).await;
                self.wires.set(wire, Link::Open);
            }
            Target::Disk => self.fill(blow.lasts()).await?,
            Target::Terraform(tasks) => {
                let Blow::Misbehave(how, time) = blow else {
                    return None;
                };
                self.set_trouble(tasks, Some(how));
                sleep(time).await;
                self.set_trouble(tasks, None);
            }
            Target::Server => {
                let Blow::BreakServer(how, time) = blow else {
                    return None;
                };
                self.server.as_ref()?.misbehave(how, time).await;
            }
            Target::Persons(tasks) => {
                let Blow::Decide(decision, time) = blow else {
                    return None;
                };
                let tasks = self.names(tasks);
                self.server.as_ref()?.decide(decision, &tasks, time).await;
            }
            Target::Clock(member) => {
                let Blow::Jump(days, time) = blow else {
                    return None;
                };
                clock::set(&self.site, member, days).unwrap();
                sleep(time).await;
                clock::set(&self.site, member, 0).unwrap();
            }
            Target::Member(_)
            | Target::Guard(_)
            | Target::WorkerWithGuard(_)
            | Target::Files
            | Target::Blocks => {
                return None;
            }
        }
        Some(Aftermath::default())
    }

    async fn of_postgres(self, blow: Blow) -> Option<Aftermath> {
        let Database::Postgres { url, server } = &self.database else {
            return None;
        };
        let mut postgres = Arc::clone(server).try_lock_owned().ok()?;
        match blow {
            Blow::Kill(down_for) => {
                postgres.kill().await;
                sleep(down_for).await;
                postgres.start_again().await;
            }
            Blow::Pause(time) => {
                postgres.pause();
                sleep(time).await;
                postgres.resume();
            }
            Blow::Terminate(down_for) => {
                postgres.stop().await;
                sleep(down_for).await;
                postgres.start_again().await;
            }
            Blow::SlowWrites(each, time) => {
                log(audited::drag(url, Some(each)).await);
                sleep(time).await;
                log(audited::drag(url, None).await);
            }
            Blow::Lock(lock, time) => log(audited::lock(url, statement(lock), time).await),
            Blow::Failover(misses) => return Some(fail_over(&mut postgres, misses).await),
            _ => return None,
        }
        Some(Aftermath::default())
    }

    async fn of_consul(&self, blow: Blow) -> Option<()> {
        let mut consul = Arc::clone(&self.consul).try_lock_owned().ok()?;
        match blow {
            Blow::Kill(down_for) => {
                consul.kill().await;
                sleep(down_for).await;
                consul.restart().await;
            }
            Blow::Pause(time) => {
                consul.pause();
                sleep(time).await;
                consul.resume();
            }
            Blow::Terminate(down_for) => {
                consul.stop().await;
                sleep(down_for).await;
                consul.restart().await;
            }
            Blow::LoseData(down_for) => {
                // No order is confirmed that is then forgotten.
                let mut wanted = self.wanted.lock().await;
                consul.kill().await;
                sleep(down_for).await;
                consul.restart_empty().await;
                restore(&mut wanted).await;
            }
            Blow::TurnBack(time) => {
                let before = {
                    let _no_orders = self.wanted.lock().await;
                    consul.snapshot().await
                };
                sleep(time).await;
                let mut wanted = self.wanted.lock().await;
                consul.restore(before).await;
                restore(&mut wanted).await;
            }
            _ => return None,
        }
        Some(())
    }

    async fn fill(&self, time: Duration) -> Option<()> {
        match &self.database {
            Database::Sqlite { disk, .. } => {
                let disk = disk.as_ref()?;
                disk.fill();
                sleep(time).await;
                disk.free();
            }
            Database::Postgres { server, .. } => {
                let mut postgres = Arc::clone(server).try_lock_owned().ok()?;
                postgres.disk()?.fill();
                sleep(time).await;
                postgres.disk()?.free();
                postgres.recover().await;
            }
        }
        Some(())
    }

    fn set_trouble(&self, tasks: Tasks, how: Option<crate::plan::Misbehaviour>) {
        for task in self.names(tasks) {
            terraform::set_trouble(&self.site, &task, how).unwrap();
        }
    }

    fn names(&self, tasks: Tasks) -> Vec<String> {
        let numbers = (0..tasks.count).map(|number| (tasks.first + number) % self.all_tasks);
        numbers.map(Plan::task).collect()
    }
}

async fn fail_over(postgres: &mut Postgres, misses: Duration) -> Aftermath {
    let replica = postgres.replica().await;
    replica.catch_up(postgres).await;
    let moment = Instant::now();
    replica.stop_following().await;
    sleep(misses).await;
    postgres.fail_over(replica).await;
    Aftermath {
        forgotten_since: Some(moment),
    }
}

async fn restore(wanted: &mut Wanted) {
    let mut last = Ok(());
    for _ in 0..RESTORE_TRIES {
        last = wanted.restore().await;
        if last.is_ok() {
            return;
        }
        sleep(BETWEEN_TRIES).await;
    }
    last.unwrap();
}

const fn statement(lock: Lock) -> &'static str {
    match lock {
        Lock::Runs => "LOCK TABLE runs IN ACCESS EXCLUSIVE MODE",
        Lock::Tasks => "SELECT name FROM tasks FOR UPDATE",
        Lock::Leadership => "SELECT epoch FROM leadership FOR UPDATE",
        // The key of the stores: "cts_lead".
        Lock::Election => "SELECT pg_advisory_xact_lock(7166479760730972516)",
    }
}

/// The database may be away for another reason.
fn log(result: Result<(), sqlx::Error>) {
    if let Err(error) = result {
        say(&format!("a fault of the database was cut short: {error}"));
    }
}
