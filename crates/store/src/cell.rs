//! Conversion between columns and values, for databases that store both as texts and whole numbers.
//!
//! Implementations of [`Store`](crate::Store) share the spellings, so that rows can be moved between databases (`cts
//! migrate`).

use std::error::Error;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::{Plan, RunKind, RunStatus};
use cts_core::{Content, Creation, IgnoredAttribute, TaskOrigin, TaskPhase, TaskTimeouts, spelled};
use cts_proto::log::v1::LogStream;
use cts_proto::run::v1::RunDetails;

use crate::details::split;
use crate::error::StoreError;

/// Size in bytes from which inputs and plans are compressed. Compressing smaller ones delays every change more than
/// the saved space is worth.
const COMPRESSED_FROM: usize = 16 * 1024;

const ZSTD_LEVEL: i32 = 1;

/// A duration in microseconds, at most the largest value of the column.
pub fn span_micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX / 2)
}

/// The JSON of a value; `operation` is for the error.
pub fn encoded(
    operation: &'static str,
    value: &impl serde::Serialize,
) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Database {
        operation,
        source: Box::new(error),
    })
}

/// The text of a plan as it is stored; `operation` is for the error.
pub fn encoded_plan(
    operation: &'static str,
    plan: &Plan,
) -> Result<(InputEncoding, Vec<u8>), StoreError> {
    let encoded = InputEncoding::encode(plan.text.clone().into_bytes());
    encoded.map_err(|error| StoreError::Database {
        operation,
        source: Box::new(error),
    })
}

/// Encodes the details of an attempt as they are stored, `summary` and `findings`. `operation` is for the error.
pub fn encoded_details(
    operation: &'static str,
    details: Option<&RunDetails>,
) -> Result<(Option<String>, Option<String>), StoreError> {
    let Some(details) = details else {
        return Ok((None, None));
    };
    let (summary, findings) = split(details.clone());
    let summary = encoded(operation, &summary)?;
    let findings = encoded(operation, &findings)?;
    Ok((Some(summary), Some(findings)))
}

/// The cell that a value was read from, for errors.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'a> {
    /// The table.
    pub table: &'static str,
    /// The column.
    pub column: &'static str,
    /// The row's key.
    pub row: &'a str,
}

impl Cell<'_> {
    /// An error that names the cell and the problem.
    pub fn corrupt(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        let Self { table, column, row } = self;
        StoreError::CorruptRow {
            table,
            column,
            row: row.to_owned(),
            source: source.into(),
        }
    }

    /// Parses a text that this program has written.
    pub fn parse<T>(self, text: &str) -> Result<T, StoreError>
    where
        T: FromStr,
        T::Err: Error + Send + Sync + 'static,
    {
        text.parse().map_err(|error| self.corrupt(Box::new(error)))
    }

    /// The value of a JSON text.
    pub fn json<T: serde::de::DeserializeOwned>(self, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.corrupt(error))
    }

    /// The moment of microseconds since 1970.
    pub fn time(self, micros: i64) -> Result<DateTime<Utc>, StoreError> {
        DateTime::from_timestamp_micros(micros)
            .ok_or_else(|| self.corrupt(format!("{micros} is out of range")))
    }

    /// A whole number, which must fit into the type.
    pub fn number<T: TryFrom<i64>>(self, number: i64) -> Result<T, StoreError>
    where
        T::Error: Display,
    {
        T::try_from(number).map_err(|error| self.corrupt(format!("{number}: {error}")))
    }

    pub(crate) fn unknown(self, text: &str) -> StoreError {
        self.corrupt(format!("{text:?} is unknown"))
    }

    /// The value in `all` with this spelling.
    fn word<T: Copy>(
        self,
        text: &str,
        all: impl IntoIterator<Item = T>,
        spelling: impl Fn(T) -> &'static str,
    ) -> Result<T, StoreError> {
        let mut all = all.into_iter();
        let value = all.find(|value| spelling(*value) == text);
        value.ok_or_else(|| self.unknown(text))
    }

    /// Parses the origin of a task.
    pub fn origin(self, text: &str) -> Result<TaskOrigin, StoreError> {
        self.word(text, TaskOrigin::ALL, TaskOrigin::as_str)
    }

    /// Parses the phase of a task between creation and deletion.
    pub fn phase(self, text: &str) -> Result<TaskPhase, StoreError> {
        self.word(text, TaskPhase::ALL, TaskPhase::as_str)
    }

    /// Parses the effect on a task of the end of the run that creates it.
    pub fn creation(self, text: &str) -> Result<Creation, StoreError> {
        self.word(text, Creation::ALL, Creation::as_str)
    }

    /// Parses the kind of a requested run.
    pub fn run_kind(self, text: &str) -> Result<RunKind, StoreError> {
        self.word(text, RunKind::ENQUEUED, RunKind::as_str)
    }

    /// The plan of a run from its three columns; a run has values in all of them or in none.
    pub fn plan(
        self,
        changes_present: Option<bool>,
        encoding: Option<&str>,
        content: Option<Vec<u8>>,
    ) -> Result<Option<Plan>, StoreError> {
        let (changes_present, encoding, content) = match (changes_present, encoding, content) {
            (None, None, None) => return Ok(None),
            (Some(changes_present), Some(encoding), Some(content)) => {
                (changes_present, self.input_encoding(encoding)?, content)
            }
            _ => return Err(self.corrupt("the plan is not complete")),
        };
        let text = encoding
            .decode(content)
            .map_err(|error| self.corrupt(error))?;
        let text = String::from_utf8(text).map_err(|error| self.corrupt(error))?;
        Ok(Some(Plan {
            changes_present,
            text,
            remote_url: None,
        }))
    }

    /// A run's status.
    pub fn run_status(self, text: &str) -> Result<RunStatus, StoreError> {
        self.word(text, RunStatus::ALL, RunStatus::as_str)
    }

    /// Reads a task's own timeouts and ignored attributes from its JSON; `None` if that JSON does not contain any.
    pub fn lease_settings(
        self,
        spec: Option<&str>,
    ) -> Result<(TaskTimeouts, Vec<IgnoredAttribute>), StoreError> {
        #[derive(Default, serde::Deserialize)]
        #[serde(default)]
        struct Settings {
            timeouts: TaskTimeouts,
            approval_ignore: Vec<IgnoredAttribute>,
        }
        let settings: Option<Settings> = spec.map(|spec| self.json(spec)).transpose()?;
        let settings = settings.unwrap_or_default();
        Ok((settings.timeouts, settings.approval_ignore))
    }

    /// Decodes the bytes of an input or a plan.
    pub fn decoded(self, encoding: &str, stored: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        let decoded = self.input_encoding(encoding)?.decode(stored);
        decoded.map_err(|error| self.corrupt(error))
    }

    /// The content of inputs in the row of this hash.
    pub fn content(self, encoding: &str, stored: Vec<u8>) -> Result<Content, StoreError> {
        let content = Content::from_bytes(self.decoded(encoding, stored)?);
        if content.hash.to_string() == self.row {
            Ok(content)
        } else {
            Err(self.corrupt("it has another hash"))
        }
    }

    /// How an input or a plan is stored.
    pub fn input_encoding(self, text: &str) -> Result<InputEncoding, StoreError> {
        self.word(text, InputEncoding::ALL, InputEncoding::as_str)
    }

    /// The stream of a log line.
    pub fn log_stream(self, text: &str) -> Result<LogStream, StoreError> {
        self.word(text, [LogStream::Stdout, LogStream::Stderr], stored_stream)
    }
}

/// The stored spelling of a stream; a line without one counts as output.
pub const fn stored_stream(stream: LogStream) -> &'static str {
    match stream {
        LogStream::Stdout | LogStream::Unspecified => "stdout",
        LogStream::Stderr => "stderr",
    }
}

spelled! {
    /// How the bytes of an input or of a plan are stored.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum InputEncoding {
        /// As they are.
        Plain = "plain",
        /// Compressed.
        Zstd = "zstd",
    }
}

impl InputEncoding {
    /// Encodes `bytes`, compressed if they are large.
    pub fn encode(bytes: Vec<u8>) -> std::io::Result<(Self, Vec<u8>)> {
        if bytes.len() < COMPRESSED_FROM {
            return Ok((Self::Plain, bytes));
        }
        let compressed = zstd::encode_all(bytes.as_slice(), ZSTD_LEVEL)?;
        Ok((Self::Zstd, compressed))
    }

    /// Decodes the bytes that were stored as `content`.
    pub fn decode(self, content: Vec<u8>) -> std::io::Result<Vec<u8>> {
        match self {
            Self::Plain => Ok(content),
            Self::Zstd => zstd::decode_all(content.as_slice()),
        }
    }
}
