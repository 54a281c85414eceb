//! Traces of runs: the ids of spans, and the part of a trace that is stored with a run (docs/telemetry.md#traces).
//!
//! Spans are made when they end, from stored times: whether a trace is kept is decided at the end of its run. The row
//! of a run has the span that caused it ([`RunTrace`]). The ids of the spans of a run and of its leases are derived
//! from the id of the run, so every process names the same parents.

use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};
use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::words::identity::{LeaseEpoch, RunId};

/// Maximum number of links of a trace; further merged triggers add no links.
pub const MOST_LINKS: usize = 16;

/// Spreads the epochs of a run over all span ids.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Id of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(NonZeroU128);

/// Id of a span, unique within its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(NonZeroU64);

/// A span and its trace. Displayed as the `traceparent` of W3C Trace Context, always with the flag "sampled", because
/// cts decides only at the end of a run whether its trace is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceContext {
    /// The trace.
    pub trace: TraceId,
    /// The span.
    pub span: SpanId,
}

/// A text is no `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a traceparent of W3C Trace Context")]
pub struct InvalidTraceContext;

/// The part of a trace that is stored with a run: the spans of a run are made at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunTrace {
    /// The span of the change or the call that caused the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TraceContext>,
    /// Spans of further changes whose triggers were merged into the run, oldest first; at most [`MOST_LINKS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<TraceContext>,
    /// Time of the first trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triggered_at: Option<DateTime<Utc>>,
}

impl TraceId {
    /// A trace with this number; `None` for 0.
    pub fn new(number: u128) -> Option<Self> {
        NonZeroU128::new(number).map(Self)
    }

    /// The number.
    pub const fn get(self) -> u128 {
        self.0.get()
    }
}

impl SpanId {
    /// A span with this number; `None` for 0.
    pub fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The span with this number; 1 instead of 0.
    fn of(number: u64) -> Self {
        Self(NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN))
    }
}

impl TraceContext {
    /// The span of a run. Its trace is that of `stored`; without one, its trace has the number of the run.
    pub fn of_run(run: RunId, stored: Option<&RunTrace>) -> Self {
        let number = run.as_uuid().as_u128();
        let parent = stored.and_then(|stored| stored.parent);
        let own = || TraceId(NonZeroU128::new(number).unwrap_or(NonZeroU128::MIN));
        let (_high, low) = run.as_uuid().as_u64_pair();
        Self {
            trace: parent.map_or_else(own, |parent| parent.trace),
            span: SpanId::of(low),
        }
    }

    /// The span of one lease of this run. All processes compute the same span.
    #[must_use]
    pub fn of_lease(self, epoch: LeaseEpoch) -> Self {
        let number = self.span.get() ^ epoch.get().wrapping_mul(SPREAD);
        Self {
            span: SpanId::of(number),
            ..self
        }
    }
}

impl RunTrace {
    /// A trace that was caused by the span `parent`.
    pub fn led_by(parent: TraceContext, at: DateTime<Utc>) -> Self {
        Self {
            parent: Some(parent),
            links: Vec::new(),
            triggered_at: Some(at),
        }
    }

    /// Links a further span, unless it is already linked or [`MOST_LINKS`] is reached.
    pub fn link(&mut self, further: TraceContext) {
        if self.parent != Some(further)
            && self.links.len() < MOST_LINKS
            && !self.links.contains(&further)
        {
            self.links.push(further);
        }
    }

    /// Links the causes of `later`, which was merged into the run of this trace.
    pub fn merge(&mut self, later: &Self) {
        for further in later.parent.iter().chain(&later.links) {
            self.link(*further);
        }
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-01", self.trace, self.span)
    }
}

impl FromStr for TraceContext {
    type Err = InvalidTraceContext;

    /// Accepts every version except `ff`: later versions only append.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let mut parts = text.split('-');
            let version = hex(parts.next()?, 2)?;
            let trace = TraceId::new(hex(parts.next()?, 32)?)?;
            let span = SpanId::new(u64::try_from(hex(parts.next()?, 16)?).ok()?)?;
            hex(parts.next()?, 2)?;
            let is_valid = match version {
                0 => parts.next().is_none(),
                version => version != 0xff,
            };
            is_valid.then_some(Self { trace, span })
        };
        read().ok_or(InvalidTraceContext)
    }
}

/// Parses exactly `digits` lower-case hexadecimal digits.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_hex = text.len() == digits && text.bytes().all(is_digit);
    is_hex
        .then(|| u128::from_str_radix(text, 16).ok())
        .flatten()
}

impl Serialize for TraceContext {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TraceContext {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn context(trace: u128, span: u64) -> TraceContext {
        TraceContext {
            trace: TraceId::new(trace).unwrap(),
            span: SpanId::new(span).unwrap(),
        }
    }

    proptest! {
        #[test]
        fn a_context_is_read_as_it_was_written(trace in 1_u128.., span in 1_u64..) {
            let context = context(trace, span);
            prop_assert_eq!(context.to_string().parse(), Ok(context));
        }

        #[test]
        fn leases_of_a_run_have_spans_of_their_own(number in 1_u128.., epoch in 1_u64..u64::MAX) {
            let run = TraceContext::of_run(RunId::from_uuid(Uuid::from_u128(number)), None);
            prop_assert_eq!(run.trace.get(), number);
            let (first, next) = (LeaseEpoch::new(epoch), LeaseEpoch::new(epoch + 1));
            prop_assert_ne!(run.of_lease(first), run.of_lease(next));
        }
    }

    #[test]
    fn only_a_traceparent_is_read() {
        let valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert!(valid.parse::<TraceContext>().is_ok());
        assert!(valid.replace("00-", "01-").parse::<TraceContext>().is_ok());
        let later = format!("{valid}-more").replace("00-", "01-");
        assert!(later.parse::<TraceContext>().is_ok());
        for invalid in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        ] {
            assert_eq!(
                invalid.parse::<TraceContext>(),
                Err(InvalidTraceContext),
                "{invalid}"
            );
        }
    }

    #[test]
    fn a_run_without_a_stored_trace_has_one_of_its_own() {
        let run = RunId::from_uuid(Uuid::from_u128(7 << 64 | 9));
        assert_eq!(TraceContext::of_run(run, None), context(7 << 64 | 9, 9));
        let stored = RunTrace::led_by(context(5, 6), DateTime::UNIX_EPOCH);
        assert_eq!(TraceContext::of_run(run, Some(&stored)), context(5, 9));
    }

    #[test]
    fn merged_triggers_become_links_up_to_a_limit() {
        let mut trace = RunTrace::led_by(context(1, 1), DateTime::UNIX_EPOCH);
        trace.merge(&RunTrace::led_by(context(1, 1), DateTime::UNIX_EPOCH));
        assert_eq!(trace.links, []);
        for span in 2..100 {
            trace.merge(&RunTrace::led_by(context(2, span), DateTime::UNIX_EPOCH));
            trace.merge(&RunTrace::led_by(context(2, span), DateTime::UNIX_EPOCH));
        }
        let expected: Vec<_> = (2..)
            .take(MOST_LINKS)
            .map(|span| context(2, span))
            .collect();
        assert_eq!(trace.links, expected);
    }

    #[test]
    fn unknown_members_of_a_stored_trace_are_ignored() {
        let trace: RunTrace = serde_json::from_str(r#"{"later":1}"#).unwrap();
        assert_eq!(trace, RunTrace::default());
        assert_eq!(serde_json::to_string(&trace).unwrap(), "{}");
    }
}
