//! Domain vocabulary and pure decisions of cts.
//!
//! Everything here is a value or a function of values: no IO, no runtime, no clock, no SQL, no gRPC. Tasks, views,
//! triggers, the need of a frozen input for a run and the meaning of a finished attempt are decided here, so that
//! they can be tested without waiting.
//!
//! Start with [`TaskSpec`] (a declared task), [`ViewSnapshot`] (data read from Consul), [`RunInput`] (the input of a
//! run), [`runs::decide_enqueue`] (whether an input needs a run) and [`lease`] (which worker has the run, and which
//! scheduler leads).
//!
//! The serde derives serve one purpose, the canonical JSON of [`RunInput`] and of a stored [`TaskSpec`]; `cts-proto`
//! has separate types for the wire.
#![warn(missing_docs)]

pub mod brake;
pub mod callers;
mod engine;
pub mod lease;
mod run;
pub mod settings;
mod task;
mod view;
mod words;

pub use engine::{blocks, hidden, state};
pub use run::runs;
pub use words::go;

pub use engine::backend::Backend;
pub use engine::capability::{
    Capabilities, DEFAULT_DRIVER, Engine, MissingCapability, REMOTE_DRIVER, Requirement,
};
pub use engine::kind::EngineKind;
pub use engine::module_interface::ModuleInterface;
pub use engine::provider::{FAKE_SYNC, ProviderBlock, ProviderId};
pub use engine::remote::{
    DEFAULT_REMOTE_HOSTNAME, InvalidHostname, RemoteConfiguration, RemoteRun, RemoteRuns,
    RemoteWorkspace, TaskRemoteRun, bounded_url, poll_pause, remote_server_url,
    requests_per_minute,
};
pub use lease::availability::{Candidate, UnschedulableReason, unschedulable_reason};
pub use lease::lost_lease::LostLease;
pub use lease::registration::{
    InvalidRegistration, KnownRegistration, Registration, RegistrationSecret,
};
pub use lease::worker::{WorkerProblem, WorkerRecord};
pub use run::after_run::{TaskAfterRun, task_after_run};
pub use run::approval::{
    ChangeKind, Consent, GONE_FOR, PLANS_EVERY, Permit, PermitContext, PlanFacts, permit,
};
pub use run::change_times::{Histogram, TimeHistograms, TimesAt};
pub use run::complete_input::{CompleteInput, IncompleteInput, ViewItems};
pub use run::current_state::{CurrentState, OpenRun, StateFacts, TimedState};
pub use run::delivery::{Delivery, DeliveryAttempt};
pub use run::effect::{Effect, EffectScope};
pub use run::event::{EVENTS_KEPT, EventConfig, TaskStatus};
pub use run::held_keys::{AppliedKeys, HeldKey, HeldKeys, KEYS_NAMED, UnreadableKeys, keys_text};
pub use run::housekeeping::{LogSpace, housekeeping_wait};
pub use run::input::{Content, FrozenInput, RunInput, ThawError};
pub use run::input_changes::{ChangeCounts, input_changes, task_changes, view_changes};
pub use run::journal::{EPOCH_STEP, JournalEntry, JournalPart, KnownRun};
pub use run::losses::{Baseline, Blocked, InstanceCounts, Loss, losses_text};
pub use run::phase::{Creation, TaskActivity, TaskPhase};
pub use settings::configuration::{
    ConfigurationFingerprint, OtherMember, TaskDifference, TaskFingerprint, Verdict,
    complete_modules, judge,
};
pub use task::approval_ignore::{IgnoredAttribute, IgnoredPaths, InvalidIgnored, PathStep};
pub use task::approval_rule::{ApprovalDefaults, ApprovalRule, FileRule, LaxerRule, RuleSource};
pub use task::buffer::{BufferPeriod, BufferSetting, BufferTimer};
pub use task::check::{CheckOutcome, TaskCheck};
pub use task::declaration::{Declared, DeclaredBefore, Withdrawal, read_declaration};
pub use task::deletion::{Destruction, OnDelete};
pub use task::dependency::{Dependency, Trigger};
pub use task::draft::{
    DraftBufferPeriod, DraftWorkspace, InvalidDraft, TaskDraft, unusable_module,
};
pub use task::draft_limits::InvalidText;
pub use task::file_settings::{FileDefinition, FileSettings, PlanMode};
pub use task::module_variables::VariableProblem;
pub use task::schedule::TaskSchedule;
pub use task::shrink_limit::{InvalidMaxShrink, MaxShrink, ShrinkLimit};
pub use task::spec::{
    BundleReference, CloudExecution, CloudWorkspace, TaskDefinition, TaskOrigin, TaskSpec,
};
pub use view::condition::{
    CatalogServicesCondition, Condition, ConsulKvCondition, DeclaredService, KvQuery, ModuleInput,
    ScheduleCondition, ServicesCondition, ServicesQuery,
};
pub use view::filter::{FilterLimits, InvalidFilter};
pub use view::service::{HealthStatus, InstanceKey, Labels, ServiceInstance, ServicePort};
pub use view::{
    CatalogService, CatalogServicesView, Item, ItemKey, ItemKind, KeyValue, ServiceView,
    ServicesView, UnknownRevision, View, ViewDelta, ViewId, ViewSnapshot,
};
pub use words::absence::{Absence, NO_ANSWER, absence, plain_reason};
pub use words::backoff::{Backoff, Pauses};
pub use words::chain::Chain;
pub use words::clock::{Clock, whole_milliseconds};
pub use words::cron::{CronExpression, InvalidCron};
pub use words::digest::{Digest, InvalidDigest};
pub use words::error_code::ErrorCode;
pub use words::excerpt::excerpt;
pub use words::file_error::FileError;
pub use words::generated::GENERATED_NOTICE;
pub use words::identity::{
    ArchiveId, CauseId, EventId, Incarnation, InvalidName, InvalidRequestKey, LeaderEpoch,
    LeaseEpoch, RequestKey, RunId, TaskName, WorkerId,
};
pub use words::log_level::LogLevel;
pub use words::regexp::{InvalidRegexp, Regexp};
pub use words::size::{parse_size, size_text};
pub use words::timeouts::{StepTimeouts, TaskTimeouts};
pub use words::trace::{InvalidTraceContext, MOST_LINKS, RunTrace, SpanId, TraceContext, TraceId};
