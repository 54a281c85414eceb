//! Access control: roles, callers and the records of their calls (docs/access.md).

mod audit;
mod caller;
mod follow_key;
mod patterns;
mod rights;
mod role;
mod roles;

pub use audit::{AuditAction, AuditOutcome, AuditRecord, LONGEST_ARGUMENT};
pub use caller::{Caller, CallerKind, LONGEST_NAME};
pub use follow_key::FollowKey;
pub use patterns::{InvalidPattern, TaskPatterns};
pub use rights::{INPUTS_HIDDEN, PlanValues, Rights, VALUES_HIDDEN};
pub use role::{Role, UnknownRole};
pub use roles::{ServerProof, ServiceRole, ServiceRoles, UnknownWord};
