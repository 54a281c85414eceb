//! Reads the plan that an engine prints, within limits.

use std::io::{self, BufReader, Read};

use cts_proto::run::v1::PlanData;
use serde::de::DeserializeSeed as _;
use tokio::time::Instant;

use super::context::PlanContext;
use super::meter::{Limit, Meter};
use super::reading::Reading;
use super::stream::Plan;

/// Most bytes of changes that are read.
const MOST_CHANGES: u64 = 64 * 1024 * 1024;

/// Room for parts of a plan on their way.
const BUFFER: usize = 64 * 1024;

/// A plan that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadPlan {
    /// Its data; only numbers if it was not read to its end.
    pub data: PlanData,
    /// The reason why it was not read to its end.
    pub unread: Option<&'static str>,
}

/// Limits of the text of a plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Most bytes of changes.
    pub(crate) bytes: u64,
    /// The reading ends then.
    pub(crate) deadline: Instant,
}

impl Limits {
    /// The limits for a reading that ends at `deadline`.
    pub(crate) const fn until(deadline: Instant) -> Self {
        Self {
            bytes: MOST_CHANGES,
            deadline,
        }
    }
}

/// How the reading of a plan has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadEnd {
    Whole,
    /// There were more bytes or more time was needed than permitted.
    Limit,
    /// The text is not a plan, or ends in its middle.
    NotAPlan,
}

/// Reads the plan that an engine prints. Blocks.
pub(crate) fn read(
    reader: impl Read,
    context: &PlanContext,
    limits: Limits,
) -> (ReadPlan, ReadEnd) {
    let meter = Meter::new(limits.bytes, limits.deadline);
    let mut reader = BufReader::with_capacity(BUFFER, meter.read(reader));
    let mut reading = Reading::new(context);
    let plan = Plan {
        reading: &mut reading,
        meter: &meter,
    };
    let mut deserializer = serde_json::Deserializer::from_reader(&mut reader);
    let read = plan.deserialize(&mut deserializer);
    drop(deserializer);
    meter.count(false);
    let (end, unread) = match (read, meter.exceeded()) {
        (Ok(()), _) => {
            drain(&mut reader);
            let data = reading.whole();
            return (ReadPlan { data, unread: None }, ReadEnd::Whole);
        }
        (Err(_limit), Some(Limit::Bytes)) => (
            ReadEnd::Limit,
            "the changes of the plan are longer than 64 MiB",
        ),
        (Err(_limit), Some(Limit::Time)) => (ReadEnd::Limit, TOO_SLOW),
        // The error may contain a value.
        (Err(_error), None) => {
            meter.count(true);
            drain(&mut reader);
            let end = meter
                .exceeded()
                .map_or(ReadEnd::NotAPlan, |_limit| ReadEnd::Limit);
            (end, NOT_A_PLAN)
        }
    };
    let data = reading.partial(unread);
    (
        ReadPlan {
            data,
            unread: Some(unread),
        },
        end,
    )
}

/// Reads the rest: otherwise the engine could not finish its output.
fn drain(reader: &mut impl Read) {
    if let Err(error) = io::copy(reader, &mut io::sink()) {
        tracing::debug!(%error, "the output after a plan was not read");
    }
}

/// The reason of a text that is not a plan.
const NOT_A_PLAN: &str = "the output of the engine is not a plan that can be read";

/// The reason of a plan that could not be read in time.
pub(crate) const TOO_SLOW: &str = "the plan could not be read within 60 s";
