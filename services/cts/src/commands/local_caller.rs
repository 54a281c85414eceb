//! The person at this machine, for audit records.

use cts_core::callers::{Caller, CallerKind};
use cts_runtime::ProcessEnv;
use nix::unistd::{User, getuid};

/// The user of this process and the name of the machine.
pub(crate) fn local_caller(process_env: &ProcessEnv) -> Caller {
    let uid = getuid();
    let user = User::from_uid(uid).ok().flatten();
    let user = user.map_or_else(|| uid.to_string(), |user| user.name);
    let name = format!("{user}@{}", process_env.hostname);
    Caller::new(CallerKind::Local, &name, None)
}
