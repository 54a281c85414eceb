//! Rows of the records, the same in both databases.

use sqlx::{ColumnIndex, Decode, FromRow, Row, Type};

use super::record::{Audit, LeaderWrite, RunState, RunWrite};
use crate::clock::DAY;

/// Converts times by a clock that was off by whole days to the true times.
///
/// Durations for which something is due or valid stay as they were written at the time of the row: a time that
/// was written by the clock before a jump is then long ago, or days away.
#[derive(Debug, Clone, Copy)]
pub(super) struct OneClock {
    /// Microseconds by the clock that is right, of a moment near to all rows.
    pub(super) near: i64,
}

impl OneClock {
    const DAY: i64 = DAY * 1_000_000;

    /// Microseconds by which the clock was ahead at this time.
    fn ahead(self, at: i64) -> i64 {
        let off = at - self.near + Self::DAY / 2;
        off.div_euclid(Self::DAY) * Self::DAY
    }

    /// Corrects the times of all records.
    pub(super) fn correct(self, audit: &mut Audit) {
        audit.runs.iter_mut().for_each(|write| self.run(write));
        let switches = audit.switches.iter_mut().map(|one| &mut one.at);
        let skips = audit.skips.iter_mut().map(|one| &mut one.at);
        for at in switches.chain(skips) {
            *at = self.time(*at);
        }
    }

    fn run(self, write: &mut RunWrite) {
        let ahead = self.ahead(write.at);
        write.at -= ahead;
        write.due -= ahead;
        for state in write.old.iter_mut().chain([&mut write.new]) {
            state.expires = state.expires.map(|expires| expires - ahead);
        }
    }

    /// Rows that were there before everything have the time 0.
    fn time(self, at: i64) -> i64 {
        if at == 0 { 0 } else { at - self.ahead(at) }
    }
}

impl<R: Row> FromRow<'_, R> for RunWrite
where
    for<'a> &'a str: ColumnIndex<R>,
    for<'a> i64: Decode<'a, R::Database> + Type<R::Database>,
    for<'a> bool: Decode<'a, R::Database> + Type<R::Database>,
    for<'a> String: Decode<'a, R::Database> + Type<R::Database>,
    for<'a> Option<String>: Decode<'a, R::Database> + Type<R::Database>,
    for<'a> Option<i64>: Decode<'a, R::Database> + Type<R::Database>,
{
    fn from_row(row: &R) -> Result<Self, sqlx::Error> {
        let state = |status: &str, epoch: &str, holder: &str, expires: &str| {
            let Some(status) = row.try_get::<Option<String>, _>(status)? else {
                return Ok(None);
            };
            Ok::<_, sqlx::Error>(Some(RunState {
                status,
                epoch: row.try_get(epoch)?,
                holder: row.try_get(holder)?,
                expires: row.try_get(expires)?,
            }))
        };
        Ok(Self {
            at: row.try_get("at")?,
            run: row.try_get("run")?,
            task: row.try_get("task")?,
            kind: row.try_get("kind")?,
            input: row.try_get("input")?,
            old: state("old_status", "old_epoch", "old_holder", "old_expires")?,
            new: state("new_status", "new_epoch", "new_holder", "new_expires")?
                .ok_or(sqlx::Error::RowNotFound)?,
            due: row.try_get("due")?,
            requested: row.try_get("requested")?,
            ordered: row.try_get("ordered")?,
        })
    }
}

impl<R: Row> FromRow<'_, R> for LeaderWrite
where
    for<'a> &'a str: ColumnIndex<R>,
    for<'a> i64: Decode<'a, R::Database> + Type<R::Database>,
    for<'a> Option<String>: Decode<'a, R::Database> + Type<R::Database>,
{
    fn from_row(row: &R) -> Result<Self, sqlx::Error> {
        Ok(Self {
            at: row.try_get("at")?,
            epochs: [row.try_get("old_epoch")?, row.try_get("new_epoch")?],
            holders: [row.try_get("old_holder")?, row.try_get("new_holder")?],
            expires: [row.try_get("old_expires")?, row.try_get("new_expires")?],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_clock_that_was_off_are_those_that_they_were() {
        let near = 100 * OneClock::DAY + 17;
        let clock = OneClock { near };
        assert_eq!(clock.time(0), 0);
        for minute in [-60, 0, 60_i64] {
            let right = near + minute * 60_000_000;
            for days in [-4, -1, 0, 3] {
                let at = right + days * OneClock::DAY;
                assert_eq!(clock.time(at), right);
                let mut write = RunWrite {
                    at,
                    run: String::new(),
                    task: String::new(),
                    kind: String::new(),
                    input: String::new(),
                    old: None,
                    new: RunState {
                        status: String::new(),
                        epoch: 1,
                        holder: None,
                        expires: Some(at + 5),
                    },
                    due: at + 7,
                    requested: false,
                    ordered: false,
                };
                clock.run(&mut write);
                assert_eq!([write.at, write.due], [right, right + 7]);
                assert_eq!(write.new.expires, Some(right + 5));
            }
        }
    }
}
