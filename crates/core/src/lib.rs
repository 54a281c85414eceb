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

mod absence;
pub mod access;
mod after_run;
mod availability;
mod backend;
mod backoff;
pub mod blocks;
mod buffer;
mod capability;
mod chain;
mod check;
mod clock;
mod complete_input;
mod condition;
mod configuration;
mod cron;
mod current_state;
mod declaration;
mod deletion;
mod delivery;
mod dependency;
mod digest;
mod draft;
mod draft_limits;
mod engine;
mod error_code;
mod event;
mod excerpt;
mod file_error;
mod file_settings;
mod filter;
mod generated;
pub mod go;
mod held_keys;
pub mod hidden;
mod housekeeping;
mod identity;
mod input;
mod input_changes;
mod journal;
pub mod lease;
mod log_level;
mod losses;
mod lost_lease;
mod module_interface;
mod module_variables;
mod outage;
mod phase;
mod provider;
mod reachability;
mod regexp;
mod registration;
mod remote;
pub mod runs;
mod schedule;
mod service;
pub mod settings;
mod shrink_limit;
mod size;
pub mod state;
mod task;
mod timeouts;
mod trace;
mod view;
mod worker;

pub use absence::{Absence, absence};
pub use after_run::{TaskAfterRun, task_after_run};
pub use availability::{Candidate, UnschedulableReason, unschedulable_reason};
pub use backend::Backend;
pub use backoff::{Backoff, Pauses};
pub use buffer::{BufferPeriod, BufferSetting, BufferTimer};
pub use capability::{
    Capabilities, DEFAULT_DRIVER, Engine, MissingCapability, REMOTE_DRIVER, Requirement,
};
pub use chain::Chain;
pub use check::{CheckOutcome, TaskCheck};
pub use clock::{Clock, SystemClock, whole_milliseconds};
pub use complete_input::{CompleteInput, IncompleteInput, ViewItems};
pub use condition::{
    CatalogServicesCondition, Condition, ConsulKvCondition, DeclaredService, KvQuery, ModuleInput,
    ScheduleCondition, ServicesCondition, ServicesQuery,
};
pub use configuration::{
    ConfigurationFingerprint, OtherMember, TaskDifference, TaskFingerprint, Verdict,
    complete_modules, judge,
};
pub use cron::{CronExpression, InvalidCron};
pub use current_state::{CurrentState, OpenRun, StateFacts, TimedState};
pub use declaration::{Declared, DeclaredBefore, Withdrawal, read_declaration};
pub use deletion::{Destruction, OnDelete};
pub use delivery::{Delivery, DeliveryAttempt};
pub use dependency::{Dependency, Trigger};
pub use digest::{Digest, InvalidDigest};
pub use draft::{DraftBufferPeriod, DraftWorkspace, InvalidDraft, TaskDraft, unusable_module};
pub use draft_limits::InvalidText;
pub use engine::EngineKind;
pub use error_code::ErrorCode;
pub use event::{EVENTS_KEPT, Event, EventConfig, TaskStatus};
pub use excerpt::excerpt;
pub use file_error::FileError;
pub use file_settings::{FileDefinition, FileSettings, PlanMode};
pub use filter::{FilterLimits, InvalidFilter};
pub use generated::GENERATED_NOTICE;
pub use held_keys::{AppliedKeys, HeldKey, HeldKeys, KEYS_NAMED, UnreadableKeys, keys_text};
pub use housekeeping::{LogSpace, housekeeping_wait};
pub use identity::{
    ArchiveId, EventId, Incarnation, InvalidName, LeaderEpoch, LeaseEpoch, RunId, TaskName,
    WorkerId,
};
pub use input::{Content, FrozenInput, RunInput, ThawError};
pub use input_changes::{input_changes, view_changes};
pub use journal::{EPOCH_STEP, JournalEntry, JournalPart, KnownRun};
pub use log_level::LogLevel;
pub use losses::{Baseline, Blocked, InstanceCounts, Loss, losses_text};
pub use lost_lease::LostLease;
pub use module_interface::ModuleInterface;
pub use module_variables::VariableProblem;
pub use outage::Outage;
pub use phase::{Creation, TaskActivity, TaskPhase};
pub use provider::{FAKE_SYNC, ProviderBlock, ProviderId};
pub use reachability::{CallBegun, Reachability, Reachable, Unreachable, plain_reason};
pub use regexp::{InvalidRegexp, Regexp};
pub use registration::{InvalidRegistration, KnownRegistration, Registration, RegistrationSecret};
pub use remote::{
    DEFAULT_REMOTE_HOSTNAME, InvalidHostname, RemoteConfiguration, RemoteRun, RemoteRuns,
    RemoteWorkspace, TaskRemoteRun, poll_pause, remote_server_url, requests_per_minute,
};
pub use schedule::TaskSchedule;
pub use service::{HealthStatus, InstanceKey, Labels, ServiceInstance, ServicePort};
pub use shrink_limit::{InvalidMaxShrink, MaxShrink, ShrinkLimit};
pub use size::{parse_size, size_text};
pub use task::{
    BundleReference, CloudExecution, CloudWorkspace, TaskDefinition, TaskOrigin, TaskSpec,
};
pub use timeouts::{StepTimeouts, TaskTimeouts};
pub use trace::{InvalidTraceContext, MOST_LINKS, RunTrace, SpanId, TraceContext, TraceId};
pub use view::{
    CatalogService, CatalogServicesView, Item, ItemKey, ItemKind, KeyValue, ServiceView,
    ServicesView, UnknownRevision, View, ViewDelta, ViewId, ViewSnapshot,
};
pub use worker::{WorkerProblem, WorkerRecord};
