//! Storage of the scheduler: the [`Store`] trait, its values and its errors.
//!
//! The trait does not depend on a database. An implementation makes every method one transaction, takes its time from
//! one clock (its database's, or a clock that tests move), and passes the suite in `cts-store-conformance`, which
//! defines the behaviour: every implementation runs it unchanged.
#![warn(missing_docs)]

pub mod approval;
mod archive;
pub mod attempt;
mod brake;
pub mod cancel;
pub mod cell;
mod cluster;
mod configuration;
pub mod configured;
mod contents;
mod continuity;
pub mod declared;
pub mod decode;
mod destruction;
mod details;
pub mod enqueue;
mod error;
mod event;
pub mod fields;
mod model;
pub mod schema;
mod settings;
mod store;
mod task;

pub use approval::{
    Approval, ApprovalDecision, ApprovalError, AskedPermit, COMMENT_BYTES, Decided, FileRules,
    GivenConsent, PermitAnswer, REJECTED, ShownPlan, rejection,
};
pub use archive::{ARCHIVES_KEPT, Archive, ArchivedRow};
pub use attempt::{
    ATTEMPTS_RECORDED, AttemptRecord, EXCERPT_BYTES, LogExcerpts, LogRange, log_attempts,
};
pub use brake::{BrakeError, BrakeNote, FirstApply, SeenBrake, StoredBrake};
pub use cancel::{CancelState, CancelledRun};
pub use cluster::{
    Heartbeat, Hint, HintStream, LOST_AFTER, Leadership, Member, MemberState, QueueDepth,
    WaitingRuns, WorkerState,
};
pub use configuration::{
    APPROVALS, AppliedConfiguration, Configuration, ConfigurationInForce, FLEET_MAX_SHRINK,
    MemberConfiguration, OtherConfiguration, Registered, decide,
};
pub use contents::{EncodedContents, InputContents};
pub use continuity::{Continuity, Settlement, Timeline, Vouched};
pub use cts_core::WorkerRecord;
pub use cts_proto::log::v1::{LogAttempt, LogExcerpt, LogLine, LogStream};
pub use destruction::{Deletion, stored_kind};
pub use details::plan_summary::PlanSummary;
pub use error::{CancelError, InOutage, LeaderError, LeaseError, StoreError, TaskError};
pub use event::Event;
pub use model::{
    CAUSE_AGE, CAUSES_KEPT, Claim, Completed, Completion, EnqueueRequest, Enqueued, ExpiredLeases,
    FailedAttempts, FailedStart, Guarded, LINES_PRUNED_AT_ONCE, LOST_LEASES_SHOWN, Lease, LogPage,
    PLANS_KEPT, PRUNED_AT_ONCE, Requeued, Retention, RunFilter, RunRecord, TaskState, Unchanged,
    lost_lease_error,
};
pub use settings::{Assignment, SettingsChange, SettingsStore, UNSETTLED_AT_ONCE, UnsettledRun};
pub use store::Store;
pub use store::access::{AccessStore, NewStoredToken, StoredRecord, StoredToken};
pub use store::approvals::ApprovalStore;
pub use store::brake::BrakeStore;
pub use store::configuration::ConfigurationStore;
pub use store::facts::{ChangedTasks, FactStore, ShownRun, TaskFacts};
pub use store::held_leases::{HeldLeases, recorded_by, stored_serial};
pub use store::housekeeping::{
    Housekeeping, LINE_SPACE, LastHousekeeping, REMOVED_LOG, Removed, SpaceWarnings, TIMES_KEPT,
};
pub use store::plans::{APPLY_PLANS_KEPT, INSPECTION_PLANS_KEPT, PlanStore};
pub use store::remote_runs::RemoteRunStore;
pub use store::restored::{AppliedState, Restoration, RestoredStore};
pub use store::sessions::{
    NewStoredSession, SessionError, SessionLimits, SessionStore, StoredSession, StoredSessions,
};
pub use store::workers::WorkerStore;
pub use task::{
    DELETED, DRAFTS_KEPT, NewTask, PendingDeletions, Refused, RefusedCode, RunRequest, ShownEffect,
    StoredTask, TaskChange, TaskVersion,
};
