//! Values that the behaviours speak of.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::{AttemptOutcome, Plan, RunKind, RunKinds};
use cts_core::{
    BufferPeriod, Capabilities, Condition, Content, Digest, Engine, EventId, FileDefinition,
    FileSettings, FrozenInput, Incarnation, OnDelete, ProviderId, Requirement, RunId,
    ServicesCondition, ServicesQuery, ShrinkLimit, TaskDefinition, TaskName, TaskSpec, ViewId,
    WorkerId,
};

use uuid::Uuid;

use cts_store::{
    Claim, Completion, EnqueueRequest, Guarded, Lease, LogLine, LogStream, Member, Refused,
    RefusedCode, RunFilter, Store, Unchanged, WorkerRecord,
};

/// Time to live of the leases of a scene.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// A task name.
pub fn task(name: &str) -> TaskName {
    TaskName::new(name).expect("the suite uses valid names")
}

/// An enabled task with the defaults.
pub fn spec(name: &str) -> TaskSpec {
    TaskSpec {
        definition: TaskDefinition {
            module_inputs: Vec::new(),
            services: Vec::new(),
            file_definition: FileDefinition::default(),
            outputs: Vec::new(),
            workspace: None,
            name: task(name),
            description: format!("the task {name}"),
            module: "./module".to_owned(),
            module_source: "/modules/module".to_owned(),
            module_digest: None,
            bundle: None,
            version: String::new(),
            providers: vec![ProviderId::from("local"), ProviderId::from("f5.west")],
            condition: Condition::Services(ServicesCondition {
                query: ServicesQuery {
                    names: vec!["web".to_owned()],
                    ..ServicesQuery::default()
                },
                use_as_module_input: true,
            }),
            variables: BTreeMap::new(),
            working_dir: PathBuf::from("sync-tasks").join(name),
        },
        enabled: true,
        buffer_setting: None,
        buffer_period: BufferPeriod::BUILT_IN,
        file_settings: FileSettings::default(),
        on_delete: OnDelete::default(),
        api_approval: None,
        requirement: Requirement::default(),
    }
}

/// Another declaration of the same name.
pub(crate) fn other(name: &str) -> TaskSpec {
    let mut other = spec(name);
    other.definition.description = "another one".into();
    other
}

pub(crate) fn disabled(name: &str) -> TaskSpec {
    TaskSpec {
        enabled: false,
        ..spec(name)
    }
}

/// A task that a deletion destroys.
pub(crate) fn destroyed(name: &str) -> TaskSpec {
    TaskSpec {
        on_delete: OnDelete::Destroy,
        ..spec(name)
    }
}

/// A task without slow retries, so that a failed run leaves nothing in the queue.
pub(crate) fn unretried(name: &str) -> TaskSpec {
    let mut unretried = spec(name);
    unretried.file_settings.retry_failed = false;
    unretried
}

/// A task of the concurrency group [`GROUP`].
pub(crate) fn grouped(name: &str) -> TaskSpec {
    in_group(spec(name))
}

pub(crate) fn in_group(mut spec: TaskSpec) -> TaskSpec {
    spec.file_settings.concurrency_group = Some(GROUP.to_owned());
    spec
}

pub(crate) const GROUP: &str = "firewall of 'edge'";

/// All runs.
pub(crate) fn all_runs() -> RunFilter {
    RunFilter {
        limit: 100,
        ..RunFilter::default()
    }
}

/// The shrink limit `max_shrink` of a task, with this number of instances of each service.
pub(crate) fn guarded(max_shrink: &str, services: &[(&str, u32)]) -> Guarded {
    let services = services.iter();
    let services = services.map(|(name, count)| ((*name).to_owned(), *count));
    let max_shrink = max_shrink.parse();
    Guarded {
        guard: ShrinkLimit {
            min_instances: None,
            max_shrink: Some(max_shrink.expect("the suite uses valid limits")),
        },
        counts: [(ViewId::new("health.service(web)"), services.collect())]
            .into_iter()
            .collect(),
        ..Guarded::default()
    }
}

/// A request to apply an input, as of an ordinary change.
pub fn enqueue_request(name: &str, text: &str, run: RunId) -> EnqueueRequest {
    EnqueueRequest {
        task: task(name),
        input: input(text),
        run,
        kind: RunKind::Apply,
        unchanged: Unchanged::AsTaskSays,
        guarded: None,
        tick: None,
        check_key: None,
        trace: None,
        cause: None,
        causes: Vec::new(),
        fails: None,
    }
}

/// The end of an attempt, without jitter and log lines, under these ids.
pub fn completion_of(
    lease: &Lease,
    outcome: AttemptOutcome,
    event: EventId,
    retry_run: RunId,
) -> Completion {
    Completion {
        run: lease.run,
        holder: lease.holder.clone(),
        epoch: lease.epoch,
        outcome,
        is_final: false,
        early_failure: None,
        event,
        retry_run,
        jitter: 0.0,
        log: Vec::new(),
        details: None,
        state: None,
    }
}

/// An input with this text and a second content that all such inputs share. The store does not read contents,
/// so any text will do.
pub fn input(text: &str) -> FrozenInput {
    input_of(&[text.as_bytes(), b"everywhere"])
}

/// An input with these contents.
pub fn input_of(contents: &[&[u8]]) -> FrozenInput {
    let contents = contents.iter();
    let contents = contents.map(|bytes| Arc::new(Content::from_bytes(bytes.to_vec())));
    FrozenInput::of_contents(contents.collect())
}

/// The bytes of the contents that a store has of an input; `None` if it has no such input.
pub async fn stored_input(store: &dyn Store, hash: Digest) -> Option<Vec<Vec<u8>>> {
    let hashes = store.input(hash).await.expect("inputs can be read")?;
    let contents = store.contents(&hashes).await;
    let contents = contents.expect("contents can be read");
    let bytes = hashes.iter().map(|hash| {
        let content = contents.iter().find(|content| content.hash == *hash);
        content.expect("every content is there").bytes.clone()
    });
    Some(bytes.collect())
}

/// The bytes of the contents of an input.
pub fn bytes_of(input: &FrozenInput) -> Vec<Vec<u8>> {
    let contents = input.contents.iter();
    contents.map(|content| content.bytes.clone()).collect()
}

/// The worker of a scene.
pub fn worker() -> WorkerId {
    WorkerId::new("worker-1")
}

/// Capabilities of a worker with these engines, given as pairs of driver and version.
pub(crate) fn capabilities(engines: &[(&str, &str)], bundles: bool) -> Capabilities {
    let engines = engines.iter().map(|(driver, version)| Engine {
        driver: (*driver).to_owned(),
        version: (*version).to_owned(),
    });
    Capabilities {
        engines: engines.collect(),
        bundles,
    }
}

/// The claim of the scene's worker, which meets the default requirement of a task.
pub fn claim() -> Claim {
    Claim {
        worker: worker(),
        request: String::new(),
        capabilities: capabilities(&[("terraform", "1.9.8")], false),
        kinds: RunKinds::ALL,
        only_requested: false,
        checks_settings: false,
        names_previous_backend: false,
        ends_remote_runs: false,
        asks_permission: true,
        time_to_live: LEASE,
    }
}

/// A replica in its first life.
pub fn member(id: &str) -> Member {
    life(id, 1)
}

/// A replica in the life of this number. Lives of different replicas differ as well.
pub(crate) fn life(id: &str, number: u8) -> Member {
    let add = |hash: u128, byte| hash.wrapping_mul(257).wrapping_add(u128::from(byte));
    let hash = id.bytes().fold(7, add);
    Member {
        id: id.to_owned(),
        incarnation: Incarnation::from_uuid(Uuid::from_u128(hash << 8 | u128::from(number))),
        service_name: "Consul-Terraform-Sync".to_owned(),
        address: Some(format!("{id}.example.net:8558")),
    }
}

/// A worker with all of its record.
pub fn worker_record(id: &str) -> WorkerRecord {
    WorkerRecord {
        id: WorkerId::new(id),
        host: format!("{id}.example.net"),
        version: "0.1.0".to_owned(),
        slots: 4,
        capabilities: claim().capabilities,
        draining: false,
        settings: None,
        problem: None,
    }
}

/// A plan with changes.
pub(crate) fn plan(text: impl Into<String>) -> Plan {
    Plan::new(true, text.into())
}

/// A request is refused because its input stayed incomplete.
pub(crate) fn incomplete(reason: &str) -> Refused {
    Refused {
        code: RefusedCode::Incomplete,
        reason: reason.to_owned(),
    }
}

/// Reason with which a request is refused because its task was changed or deleted.
pub(crate) fn withdrawn(reason: &str) -> Refused {
    Refused {
        code: RefusedCode::Withdrawn,
        ..incomplete(reason)
    }
}

/// A line of standard output.
pub(crate) fn line(text: impl Into<String>) -> LogLine {
    LogLine {
        stream: LogStream::Stdout.into(),
        text: text.into(),
    }
}

pub(crate) const MICROSECOND: Duration = Duration::from_micros(1);

/// So many bytes that cannot be compressed, always the same.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let bytes = (0..length).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    bytes.collect()
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
