//! Records of calls, a cts-only endpoint (docs/rest.md#audit-records).

use crate::client::ApiClient;
use crate::error::CallError;
use crate::model::{AuditPage, AuditRecord};

/// Which records are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// No more than so many; else the server says.
    pub limit: Option<u32>,
    /// Only records with a smaller number.
    pub before: Option<u64>,
}

impl ApiClient {
    /// Records of calls that changed something or were refused, newest first.
    ///
    /// # Errors
    ///
    /// See [`CallError`]; status 403 without the role `admin`.
    pub async fn audit_records(&self, query: AuditQuery) -> Result<Vec<AuditRecord>, CallError> {
        let mut url = self.address.endpoint(&["audit"]);
        if let Some(limit) = query.limit {
            url.query_pairs_mut()
                .append_pair("limit", &limit.to_string());
        }
        if let Some(before) = query.before {
            url.query_pairs_mut()
                .append_pair("before", &before.to_string());
        }
        Ok(self.get::<AuditPage>(url).await?.records)
    }
}
