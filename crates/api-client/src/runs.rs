//! Runs, and their logs as they grow: cts-only endpoints (docs/rest.md#routes).

use cts_proto::log::v1::ReadLogResponse;
use cts_proto::run::v1::{InputData, PlanData};
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::call::{Body, open, transport_failed};
use crate::client::{ApiClient, usable};
use crate::error::{CallError, beginning};
use crate::model::{PlanAnswer, Run, RunAnswer, RunPage};

/// Longest part of a log, in bytes: no server sends more at once.
const LONGEST_PART: usize = 16 * 1024 * 1024;

/// Which runs are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// Only runs of this task.
    pub task: Option<String>,
    /// Only runs of this status.
    pub status: Option<String>,
    /// Only runs in this state: `waiting`.
    pub state: Option<String>,
    /// No more than so many; else the server says.
    pub limit: Option<u32>,
}

/// A log: its lines until now, or until its run has ended.
#[derive(Debug)]
pub struct FollowedLog {
    response: Response,
    address: String,
    secure: bool,
    received: Vec<u8>,
}

impl ApiClient {
    /// Runs, newest first: the first page of them.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. Other programs with this API do not have it.
    pub async fn runs(&self, query: &RunQuery) -> Result<RunPage, CallError> {
        let mut url = self.address.endpoint(&["runs"]);
        for (name, value) in [
            ("task", query.task.clone()),
            ("status", query.status.clone()),
            ("state", query.state.clone()),
            ("limit", query.limit.map(|limit| limit.to_string())),
        ] {
            if let Some(value) = value {
                url.query_pairs_mut().append_pair(name, &value);
            }
        }
        self.get(url).await
    }

    /// One run.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no run has this id.
    pub async fn run(&self, id: &str) -> Result<Run, CallError> {
        let answer: RunAnswer = self
            .get(self.address.endpoint(&["runs", usable(id)?]))
            .await?;
        Ok(answer.run)
    }

    /// One run, with its cause and its attempts as far as the server sends them.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no run has this id.
    pub async fn run_in_full(&self, id: &str) -> Result<Run, CallError> {
        let mut url = self.address.endpoint(&["runs", usable(id)?]);
        url.set_query(Some("include=cause,attempts"));
        let answer: RunAnswer = self.get(url).await?;
        Ok(answer.run)
    }

    /// The plan of a run as data.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no run has this id, or if no plan of this run is kept.
    pub async fn plan(&self, id: &str) -> Result<PlanData, CallError> {
        let url = self.address.endpoint(&["runs", usable(id)?, "plan"]);
        Ok(self.get::<PlanAnswer>(url).await?.plan)
    }

    /// The input of a run as data, with the difference to the input applied before.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no run has this id, or if the run has no input yet.
    pub async fn input(&self, id: &str) -> Result<InputData, CallError> {
        let url = self.address.endpoint(&["runs", usable(id)?, "input"]);
        self.get(url).await
    }

    /// Cancels a run, by force or gently, and returns it as it is then: running while its worker stops it.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no run has this id; status 409 if it has ended or is being stopped.
    pub async fn cancel_run(&self, id: &str, force: bool) -> Result<Run, CallError> {
        let url = self.address.endpoint(&["runs", usable(id)?, "cancel"]);
        let body = Body::Json(json!({ "force": force }).to_string());
        let answer = self.send(Method::POST, url, body).await?;
        Ok(answer.decode::<RunAnswer>()?.run)
    }

    /// The log of a run after `position`, until the run has ended.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no run has this id.
    pub async fn follow_log(&self, id: &str, position: u64) -> Result<FollowedLog, CallError> {
        self.open_log(id, position, true).await
    }

    /// The lines of the log of a run that are available now.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no run has this id.
    pub async fn log(&self, id: &str) -> Result<FollowedLog, CallError> {
        self.open_log(id, 0, false).await
    }

    async fn open_log(
        &self,
        id: &str,
        position: u64,
        follow: bool,
    ) -> Result<FollowedLog, CallError> {
        let mut url = self.address.endpoint(&["runs", usable(id)?, "log"]);
        url.query_pairs_mut()
            .append_pair("follow", if follow { "true" } else { "false" })
            .append_pair("format", "ndjson")
            .append_pair("after", &position.to_string());
        let response = open(self, url).await?;
        Ok(FollowedLog {
            response,
            address: self.address(),
            secure: self.address.is_secure(),
            received: Vec::new(),
        })
    }
}

impl FollowedLog {
    /// The next part; `None` if the run has ended and this was all. Dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// The connection has failed, or it brings something else than a log.
    pub async fn next(&mut self) -> Result<Option<ReadLogResponse>, CallError> {
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let rest = self.received.split_off(end + 1);
                let line = std::mem::replace(&mut self.received, rest);
                return self.decode(&line).map(Some);
            }
            if self.received.len() > LONGEST_PART {
                return Err(self.no_log(serde::de::Error::custom("a part is too long")));
            }
            let chunk = self.response.chunk().await;
            let chunk =
                chunk.map_err(|error| transport_failed(&self.address, self.secure, error))?;
            match chunk {
                Some(bytes) => self.received.extend_from_slice(&bytes),
                None if self.received.is_empty() => return Ok(None),
                None => self.received.push(b'\n'),
            }
        }
    }

    fn decode(&self, line: &[u8]) -> Result<ReadLogResponse, CallError> {
        serde_json::from_slice::<Value>(line)
            .and_then(serde_json::from_value)
            .map_err(|error| self.no_log(error))
    }

    fn no_log(&self, source: serde_json::Error) -> CallError {
        CallError::Decode {
            address: self.address.clone(),
            beginning: beginning(&String::from_utf8_lossy(&self.received), 60),
            source,
        }
    }
}
