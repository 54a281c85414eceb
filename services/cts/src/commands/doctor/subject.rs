//! The subject of the checks.

use std::fmt::Display;
use std::net::SocketAddr;

use cts_config::Config;
use cts_core::callers::ServiceRole;
use cts_runtime::ProcessEnv;

use super::finding::Finding;
use super::needs::Needs;
use crate::services::unsafe_settings::Uses;

/// The input of all checks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) config: &'a Config,
    pub(super) needs: Needs,
    /// Dependencies of the service, apart from the database, whose connection has a separate check.
    pub(super) uses: Uses,
    /// Address at which the service serves gRPC; `None` without gRPC.
    pub(super) grpc: Option<SocketAddr>,
    /// The role that callers expect in the certificate of the service; `None` if it has no callers by gRPC.
    pub(super) server_role: Option<ServiceRole>,
    pub(super) process_env: &'a ProcessEnv,
}

impl Subject<'_> {
    /// A finding about something that is not safe: an error with `security.strict`, as at the start of the service.
    pub(super) fn not_safe(
        self,
        check: &'static str,
        found: impl Display,
        remedy: impl Into<String>,
    ) -> Finding {
        if self.config.security.strict {
            let found = format!("refused by security.strict: {found}");
            Finding::error(check, found, remedy)
        } else {
            Finding::warning(check, found.to_string(), remedy)
        }
    }
}
