//! Refused requests on their way to the audit records: in batches, and few of each address
//! (docs/access.md#audit).

use std::collections::HashMap;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use cts_core::callers::{AuditAction, AuditOutcome, AuditRecord, Caller};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

/// Records of one address in a minute.
const PER_MINUTE: u32 = 100;

const MINUTE: Duration = Duration::from_mins(1);

/// Pause between batches.
const BATCH_EVERY: Duration = Duration::from_secs(1);

/// Records that wait for the next batch.
const LONGEST_QUEUE: usize = 1_000;

/// Addresses that are counted one by one; the others count as one.
const ADDRESSES: usize = 10_000;

/// Takes batches of records.
pub trait RefusalSink: Send + Sync {
    /// Stores the records, and returns whether that worked; they are offered again if not.
    fn record(&self, records: &[AuditRecord]) -> impl Future<Output = bool> + Send;
}

/// Collects refused requests. Cheap to clone; clones collect the same.
#[derive(Debug, Clone, Default)]
pub struct Refusals(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    queue: Vec<AuditRecord>,
    windows: HashMap<Option<IpAddr>, Window>,
}

/// The refusals of one address within a minute.
#[derive(Debug)]
struct Window {
    begun: Instant,
    recorded: u32,
    /// Not recorded one by one, with the newest of them.
    further: Option<AuditRecord>,
}

impl Refusals {
    /// Notes a refused request, such as `DELETE /v1/tasks/web`.
    pub fn note(&self, caller: Caller, request: &str, reason: &str, request_id: &str) {
        let mut record = AuditRecord::new(caller, AuditAction::Request, request)
            .ended(AuditOutcome::Refused(reason.to_owned()));
        request_id.clone_into(&mut record.request_id);
        self.0.lock().note(record, Instant::now());
    }

    /// Hands what was collected to `sink`, every second until `shutdown` is over, and once more then.
    pub async fn run(&self, sink: impl RefusalSink, shutdown: impl Future<Output = ()>) {
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let ends = tokio::select! {
                () = &mut shutdown => true,
                () = sleep(BATCH_EVERY) => false,
            };
            let batch = self.0.lock().batch(Instant::now(), ends);
            if !batch.is_empty() && !sink.record(&batch).await {
                self.0.lock().put_back(batch);
            }
            if ends {
                return;
            }
        }
    }
}

impl State {
    fn note(&mut self, record: AuditRecord, now: Instant) {
        let mut address = record.caller.address;
        if self.windows.len() >= ADDRESSES && !self.windows.contains_key(&address) {
            address = None;
        }
        let window = self.windows.entry(address).or_insert(Window {
            begun: now,
            recorded: 0,
            further: None,
        });
        if window.recorded < PER_MINUTE && self.queue.len() < LONGEST_QUEUE {
            window.recorded += 1;
            self.queue.push(record);
            return;
        }
        let before = window.further.as_ref().map_or(0, |further| further.count);
        window.further = Some(AuditRecord {
            count: before.saturating_add(1),
            ..record
        });
    }

    /// Returns the records that are due. Closes windows that are over; at the end, all of them.
    fn batch(&mut self, now: Instant, ends: bool) -> Vec<AuditRecord> {
        let mut batch = std::mem::take(&mut self.queue);
        self.windows.retain(|_, window| {
            let stays = !ends && now.duration_since(window.begun) < MINUTE;
            if !stays {
                batch.extend(window.further.take());
            }
            stays
        });
        batch
    }

    /// A batch that was not recorded; what does not fit is counted in its last record.
    fn put_back(&mut self, mut batch: Vec<AuditRecord>) {
        batch.append(&mut self.queue);
        if batch.len() > LONGEST_QUEUE {
            let lost: u32 = batch
                .drain(LONGEST_QUEUE..)
                .map(|record| record.count)
                .sum();
            if let Some(last) = batch.last_mut() {
                last.count = last.count.saturating_add(lost);
            }
        }
        self.queue = batch;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(address: &str) -> AuditRecord {
        let caller = Caller::anonymous(address.parse().ok());
        AuditRecord::new(caller, AuditAction::Request, "GET /v1/tasks")
    }

    #[tokio::test(start_paused = true)]
    async fn the_rest_of_a_minute_is_one_record_with_a_count() {
        let (mut state, now) = (State::default(), Instant::now());
        for _ in 0..PER_MINUTE + 50 {
            state.note(record("10.0.0.1"), now);
        }
        state.note(record("10.0.0.2"), now);
        let batch = state.batch(now, false);
        assert_eq!(batch.len(), PER_MINUTE as usize + 1);
        assert!(batch.iter().all(|record| record.count == 1));
        assert!(state.batch(now, false).is_empty());
        let later = state.batch(now + MINUTE, false);
        assert_eq!(later.len(), 1);
        assert_eq!(later[0].count, 50);
        state.note(record("10.0.0.1"), now + MINUTE);
        assert_eq!(state.batch(now + MINUTE, false).len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_grows_without_end() {
        let (mut state, now) = (State::default(), Instant::now());
        for number in 0..3 * ADDRESSES {
            let address = std::net::Ipv4Addr::from_bits(u32::try_from(number).unwrap());
            state.note(record(&address.to_string()), now);
        }
        assert!(state.windows.len() <= ADDRESSES + 1);
        assert_eq!(state.queue.len(), LONGEST_QUEUE);
        let batch = state.batch(now, false);
        state.put_back(batch.clone());
        state.put_back(batch);
        assert_eq!(state.queue.len(), LONGEST_QUEUE);
        let all: u32 = state
            .batch(now, true)
            .iter()
            .map(|record| record.count)
            .sum();
        assert!(all as usize >= 3 * ADDRESSES);
    }
}
