//! Sessions of the page.

use async_trait::async_trait;
use cts_core::callers::CallerKind;
use cts_store::{
    NewStoredSession, SessionError, SessionLimits, SessionStore, StoreError, StoredSession,
    StoredSessions,
};

use super::{SqlStore, change, read};
use crate::database::Database;
use crate::sessions;

#[async_trait]
impl<D: Database> SessionStore for SqlStore<D> {
    async fn begin_session(
        &self,
        session: &NewStoredSession,
        limits: SessionLimits,
    ) -> Result<StoredSession, SessionError> {
        change!(self, Short, None, c => sessions::begin(c, session, limits))
    }

    async fn end_session(&self, sha256: &[u8; 32]) -> Result<bool, StoreError> {
        change!(self, Short, None, if |ended| *ended, c => sessions::end(c, sha256))
    }

    async fn end_sessions_of(
        &self,
        name: &str,
        kind: Option<CallerKind>,
    ) -> Result<u64, StoreError> {
        change!(self, Short, None, if |ended| *ended > 0, c => sessions::end_all_of(c, name, kind))
    }

    async fn sessions(&self, known: Option<i64>) -> Result<Option<StoredSessions>, StoreError> {
        read!(self, c => sessions::all(c, known))
    }
}
