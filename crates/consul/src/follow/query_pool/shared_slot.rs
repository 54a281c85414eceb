//! Asks as other queries leave room.

use std::sync::Arc;

use tokio::sync::watch;

use super::change_scope::{ChangeScope, ScopeKey};
use super::members::Members;
use super::slot_allocator::MemberId;
use crate::follow::query_slot::{Permit, QuerySlot};
use crate::query::Query;
use crate::settings::WAIT_TIME;

/// A member of the pool, as long as it is followed.
#[derive(Debug)]
pub(super) struct SharedSlot {
    members: Arc<Members>,
    id: MemberId,
    key: Option<ScopeKey>,
    scope: Option<Arc<ChangeScope>>,
    may_block: watch::Receiver<bool>,
    /// The round of changes in which the query was read last, 0 if the query must be read in any case.
    fresh: u64,
    knows_http2: bool,
}

impl SharedSlot {
    pub(super) fn join(members: &Arc<Members>, query: &Query) -> Self {
        let key = ScopeKey::of(query);
        let (id, scope, may_block) = members.join(key.as_ref());
        Self {
            members: Arc::clone(members),
            id,
            key,
            scope,
            may_block,
            fresh: 0,
            knows_http2: false,
        }
    }

    pub(super) fn id(&self) -> MemberId {
        self.id
    }
}

impl QuerySlot for SharedSlot {
    async fn permit(&mut self) -> Permit {
        loop {
            if *self.may_block.borrow_and_update() {
                match self.members.renew(self.id) {
                    Some(wait_time) => return Permit::Block(wait_time),
                    // The next read does not wait for a change.
                    None => self.fresh = 0,
                }
            }
            let Some(scope) = &self.scope else {
                return Permit::Block(WAIT_TIME);
            };
            let mut rounds = scope.round.subscribe();
            let readers = &self.members.readers;
            let rank = self.members.rank(self.id);
            let permit = async {
                let fresh = self.fresh;
                // The sender is part of the scope.
                drop(rounds.wait_for(|round| *round > fresh).await);
                readers.permit(fresh + 1, rank, self.id).await
            };
            tokio::select! {
                biased;
                // Closed when the pool is gone, and this with it.
                _ = self.may_block.changed() => {}
                permit = permit => {
                    // Later changes belong to another round.
                    self.fresh = *scope.round.borrow();
                    return Permit::Read(permit);
                }
            }
        }
    }

    fn answered(&mut self, permit: &Permit, index: Option<u64>, is_new: bool) {
        if !self.knows_http2 && self.members.client.is_multiplexed() {
            self.knows_http2 = true;
            self.members.learn();
        }
        if let (Permit::Block(_), Some(index), Some(scope)) = (permit, index, &self.scope) {
            scope.answered(index);
        }
        if is_new {
            self.members.changed(self.id);
        }
    }

    fn failed(&mut self) {
        self.fresh = 0;
    }
}

impl Drop for SharedSlot {
    fn drop(&mut self) {
        self.members.leave(self.id, self.key.as_ref());
    }
}
