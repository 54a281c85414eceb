//! Simulated time: a queue of events, a generator of random numbers, and imprecise clocks.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Duration;

/// True time in microseconds since the start; no actor can read it.
pub(crate) type Instant = u64;

pub(crate) const MILLISECOND: Instant = 1_000;
pub(crate) const SECOND: Instant = 1_000_000;

pub(crate) fn micros(time: Duration) -> Instant {
    Instant::try_from(time.as_micros()).expect("simulated times are short")
}

pub(crate) fn signed(time: Instant) -> i64 {
    i64::try_from(time).expect("simulated times are short")
}

/// A small generator with a period and spread that are enough for tests: a counter with an odd step,
/// stirred.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0xA076_1D64_78BD_642F);
        let mut word = self.0;
        for (shift, factor) in [(31, 0xE703_7ED1_A0B4_28DB), (29, 0x8EBC_6AF0_9C88_C6E3)] {
            word = (word ^ (word >> shift)).wrapping_mul(factor);
        }
        word ^ (word >> 32)
    }

    /// A number in `[from, to)`.
    pub(crate) fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from).max(1)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).expect("it is below a usize")
    }

    /// Whether something happens that happens in `percent` of all cases.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

#[derive(Debug)]
struct Entry<E> {
    at: Instant,
    number: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    /// Orders the heap, which gives the greatest first: the earliest entry, and of one moment the one that
    /// was added first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

/// Future events, in order of time.
#[derive(Debug)]
pub(crate) struct Agenda<E> {
    heap: BinaryHeap<Entry<E>>,
    number: u64,
}

impl<E> Agenda<E> {
    pub(crate) fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            number: 0,
        }
    }

    pub(crate) fn put(&mut self, at: Instant, event: E) {
        self.number += 1;
        let number = self.number;
        self.heap.push(Entry { at, number, event });
    }

    pub(crate) fn take(&mut self) -> Option<(Instant, E)> {
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }
}

/// The clocks of one host. The monotonic clock starts anywhere and is a bit fast or slow; the wall clock also
/// jumps.
#[derive(Debug)]
pub(crate) struct HostClock {
    start: Instant,
    parts_per_million: i64,
    pub(crate) wall_offset: i64,
}

impl HostClock {
    /// Largest deviation of a clock's rate, in parts per million. Synchronisation of clocks never changes
    /// their rate by more.
    pub(crate) const WORST_RATE: u64 = 500;

    pub(crate) fn new(random: &mut Random) -> Self {
        let rate = signed(random.between(0, 2 * Self::WORST_RATE + 1));
        Self {
            start: random.between(100 * SECOND, 1_000 * SECOND),
            parts_per_million: rate - signed(Self::WORST_RATE),
            wall_offset: 0,
        }
    }

    pub(crate) fn monotonic(&self, now: Instant) -> Duration {
        let drift = signed(now) * self.parts_per_million / 1_000_000;
        Duration::from_micros((self.start + now).saturating_add_signed(drift))
    }

    pub(crate) fn wall(&self, now: Instant) -> Duration {
        let monotonic = micros(self.monotonic(now));
        Duration::from_micros(monotonic.saturating_add_signed(self.wall_offset))
    }

    /// True time that passes while this clock goes on by `local`, and a little more.
    pub(crate) fn true_time(&self, local: Duration) -> Instant {
        let local = signed(micros(local));
        let drift = local * self.parts_per_million / (1_000_000 + self.parts_per_million);
        (local - drift + 2).unsigned_abs()
    }
}
