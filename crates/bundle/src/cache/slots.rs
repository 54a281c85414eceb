//! Locks and users of each bundle in the cache.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use cts_core::Digest;

/// The state of one bundle in this process.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// The bundle is on disk, and its content was seen to have the hash.
    pub(super) verified: bool,
    users: Weak<()>,
}

impl Slot {
    /// Counts one more user, until the value is dropped.
    pub(super) fn hold(&mut self) -> Arc<()> {
        self.users.upgrade().unwrap_or_else(|| {
            let first = Arc::new(());
            self.users = Arc::downgrade(&first);
            first
        })
    }

    pub(super) fn is_held(&self) -> bool {
        self.users.strong_count() > 0
    }
}

/// A slot, locked while its files on disk change.
pub(super) type SharedSlot = Arc<tokio::sync::Mutex<Slot>>;

/// A slot that its holder may take along to where work blocks.
pub(super) type LockedSlot = tokio::sync::OwnedMutexGuard<Slot>;

/// The slots of all requested bundles.
#[derive(Debug, Default)]
pub(super) struct Slots(Mutex<HashMap<Digest, SharedSlot>>);

impl Slots {
    pub(super) fn of(&self, hash: Digest) -> SharedSlot {
        let mut slots = self.0.lock();
        Arc::clone(slots.entry(hash).or_default())
    }

    /// Forgets `slot` of a removed bundle if it has no other user: otherwise the map would grow for ever.
    pub(super) fn drop_unused(&self, hash: Digest, slot: &SharedSlot) {
        let mut slots = self.0.lock();
        // The references of the map and the caller; no other is handed out while the map is locked.
        if Arc::strong_count(slot) == 2 {
            slots.remove(&hash);
        }
    }
}
