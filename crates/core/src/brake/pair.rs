//! The numbers of one service in one view.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Instances of one service in one view: now, and the higher numbers before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pair {
    /// Instances now.
    pub now: u32,
    /// Earlier numbers that count, each with the time when it ended: the highest and oldest first.
    pub past: Vec<(u32, DateTime<Utc>)>,
}

impl Pair {
    pub(super) fn of(now: u32) -> Self {
        Self {
            now,
            past: Vec::new(),
        }
    }

    /// The number in the reference: the highest one that counts.
    pub(super) fn reference(&self) -> u32 {
        self.past
            .first()
            .map_or(self.now, |(number, _ended)| *number)
    }

    pub(super) fn lost(&self) -> u32 {
        self.reference().saturating_sub(self.now)
    }

    /// Whether an earlier number counts.
    pub(super) fn has_past(&self) -> bool {
        !self.past.is_empty()
    }

    /// When the number of the reference ended; `None` while the present number is the reference.
    pub(super) fn ended(&self) -> Option<DateTime<Utc>> {
        self.past.first().map(|(_number, ended)| *ended)
    }

    /// Takes a new number. While the brake is set the reference stands still.
    pub(super) fn change(&mut self, now: u32, at: DateTime<Utc>, is_set: bool) {
        if now == self.now {
            return;
        }
        let before = std::mem::replace(&mut self.now, now);
        let is_noted = if is_set {
            self.past.is_empty()
        } else {
            now < before
        };
        if is_noted {
            // Most pairs have one such number, if any.
            self.past.reserve_exact(1);
            self.past.push((before, at));
        }
        if is_set {
            return;
        }
        // The numbers fall from the first on, so the present number hides the last ones.
        while self
            .past
            .last()
            .is_some_and(|(number, _ended)| *number <= now)
        {
            self.past.pop();
        }
    }

    /// Forgets the numbers that ended until then.
    pub(super) fn forget(&mut self, until: DateTime<Utc>) {
        self.past.retain(|(_number, ended)| *ended > until);
    }

    /// The brake has ended, and the reference may change again.
    pub(super) fn loosen(&mut self) {
        let now = self.now;
        self.past.retain(|(number, _ended)| *number > now);
    }
}
