//! The states of tasks: whether a state was written after the last apply in the database, as after a restore of the
//! database (docs/operations.md#after-a-restore).

use std::time::Duration;

use cts_consul::ConsulClient;
use cts_core::Chain;
use cts_core::state::TerraformState;
use cts_store::{AppliedState, StoreError};
use cts_terraform::{ReadState, consul_key, read_file};
use cts_worker::state_in_consul;
use futures::StreamExt as _;
use futures::stream;
use tokio::time::timeout;

use super::consul::asked;
use super::finding::Finding;
use super::subject::Subject;
use crate::services::database::{self, FILE};
use crate::services::settings::worker_directory;

const STATES: &str = "states";

/// States that are read at a time.
const AT_ONCE: usize = 16;

/// Time for reading states; the rest is not compared.
const READING: Duration = Duration::from_secs(4);

/// Tasks that are named.
const MOST_NAMED: usize = 20;

/// Where the states are.
enum Backend {
    Consul(Box<ConsulClient>),
    Local,
}

/// Compares the states that can be read here with the database.
pub(super) async fn check(subject: Subject<'_>) -> Vec<Finding> {
    if !subject.needs.database || !subject.needs.engine {
        return vec![Finding::skipped(
            STATES,
            "this service does not have both the database and the states",
        )];
    }
    let driver = &subject.config.driver;
    let kind = &driver.backend.kind;
    let backend = match asked(subject) {
        _ if subject.config.terraform_cloud.is_some() => None,
        Some(client) if driver.keeps_states_in_own_consul() => {
            Some(Backend::Consul(Box::new(client)))
        }
        _ if kind == "local" => Some(Backend::Local),
        _ => None,
    };
    let Some(backend) = backend else {
        let found = "only states in this Consul and in local files are compared with the database";
        return vec![Finding::skipped(STATES, found)];
    };
    match known(subject).await {
        Ok(known) => compare(subject, &backend, known).await,
        Err(error) => {
            let found = format!("the database cannot be read: {}", Chain(&error));
            vec![Finding::skipped(STATES, found)]
        }
    }
}

/// The states in the database.
async fn known(subject: Subject<'_>) -> Result<Vec<AppliedState>, StoreError> {
    if let Some(database) = &subject.config.database {
        return match database::settings(database) {
            Ok(settings) => cts_store_postgres::applied_states(&settings).await,
            // The check of the database reports it.
            Err(_unreadable) => Ok(Vec::new()),
        };
    }
    let path = subject.config.working_dir.join(FILE);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let boot = subject.process_env.boot.as_deref();
    let mut file = cts_store_sqlite::export(&path, boot).await?;
    let states = file.applied_states().await;
    file.close().await?;
    states
}

async fn compare(
    subject: Subject<'_>,
    backend: &Backend,
    known: Vec<AppliedState>,
) -> Vec<Finding> {
    let count = known.len();
    let mut states = stream::iter(known)
        .map(|known| async move { (read(subject, backend, &known).await, known) })
        .buffer_unordered(AT_ONCE);
    let (mut compared, mut behind) = (0, Vec::new());
    // A state that cannot be read is no finding.
    let reading = async {
        while let Some((found, known)) = states.next().await {
            compared += 1;
            behind.extend(
                found
                    .filter(|found| known.known.is_behind(found))
                    .map(|found| (known, found)),
            );
        }
    };
    let _late = timeout(READING, reading).await;
    behind.sort_by(|(one, _), (other, _)| one.task.cmp(&other.task));
    let kind = &subject.config.driver.backend.kind;
    let mut findings: Vec<Finding> = behind
        .iter()
        .take(MOST_NAMED)
        .map(|(known, found)| finding(kind, known, found))
        .collect();
    if let Some(further) = behind.len().checked_sub(MOST_NAMED).filter(|it| *it > 0) {
        let found = format!("further tasks whose state is newer than the database: {further}");
        findings.push(Finding::warning(STATES, found, REMEDY));
    }
    if findings.is_empty() {
        let found = format!("as the last applies left them: {compared} of {count}");
        findings.push(Finding::ok(STATES, found));
    }
    findings
}

/// Reads the state of a task in the backend, if the state exists and can be read.
async fn read(
    subject: Subject<'_>,
    backend: &Backend,
    known: &AppliedState,
) -> Option<TerraformState> {
    let config = subject.config;
    let read = match backend {
        Backend::Consul(client) => {
            let key = consul_key(&known.task, &config.driver.backend)?;
            state_in_consul(client, &key).await.ok().flatten()
        }
        Backend::Local => {
            let directory = worker_directory(config).join(&known.working_dir);
            read_file(&known.task, &directory, &config.driver.backend)
        }
    };
    let ReadState(found) = read?;
    Some(found?.state)
}

const REMEDY: &str = "if the database was restored from a backup: stop all processes of cts, run `cts migrate -restored`, start them again. If somebody has used Terraform by hand: `cts task run TASK` applies the task once more";

fn finding(kind: &str, known: &AppliedState, found: &TerraformState) -> Finding {
    let AppliedState { task, known, .. } = known;
    let found = if found.lineage == known.lineage {
        format!(
            "task {:?}: its state in backend {kind:?} has serial {}, the database knows {}: it was changed after the last apply in the database",
            task.as_str(),
            found.serial,
            known.serial
        )
    } else {
        format!(
            "task {:?}: its state in backend {kind:?} has lineage {}, the database knows {}: it was made after the last apply in the database",
            task.as_str(),
            found.lineage,
            known.lineage
        )
    };
    Finding::warning(STATES, found, REMEDY)
}
