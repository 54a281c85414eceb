//! Tokens, and records of calls.

use std::time::Duration;

use async_trait::async_trait;
use cts_core::callers::AuditRecord;
use cts_store::{AccessStore, NewStoredToken, StoreError, StoredRecord, StoredToken};

use super::{SqlStore, change, read, transaction};
use crate::database::Database;
use crate::{audit, tokens};

#[async_trait]
impl<D: Database> AccessStore for SqlStore<D> {
    async fn audit(&self, records: &[AuditRecord]) -> Result<(), StoreError> {
        if records.is_empty() {
            return Ok(());
        }
        transaction!(self, PowerCut, c => audit::write(c, records))
    }

    async fn audit_records(
        &self,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        read!(self, c => audit::before(c, before, limit))
    }

    async fn audit_records_after(
        &self,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        read!(self, c => audit::after(c, after, limit))
    }

    async fn prune_audit(&self, kept_for: Duration, kept: u32) -> Result<u64, StoreError> {
        let mut forgotten = 0;
        loop {
            let page: Result<u64, StoreError> =
                transaction!(self, Process, c => audit::prune(c, kept_for, kept));
            match page? {
                0 => return Ok(forgotten),
                page => forgotten += page,
            }
        }
    }

    async fn create_token(&self, token: &NewStoredToken) -> Result<bool, StoreError> {
        change!(self, Short, None, if |made| *made, c => tokens::create(c, token))
    }

    async fn revoke_token(&self, name: &str) -> Result<bool, StoreError> {
        change!(self, Short, None, if |made| *made, c => tokens::revoke(c, name))
    }

    async fn tokens(&self) -> Result<Vec<StoredToken>, StoreError> {
        read!(self, c => tokens::all(c))
    }
}
