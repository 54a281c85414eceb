//! Runs, and their logs as they grow: cts-only endpoints (docs/rest.md#routes).

use std::marker::PhantomData;

use cts_proto::log::v1::ReadLogResponse;
use cts_proto::run::v1::{Cause, InputData, ListCausesResponse, PlanData};
use reqwest::{Method, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::call::{Body, open, transport_failed};
use crate::client::{ApiClient, usable};
use crate::error::{CallError, beginning};
use crate::model::{PlanAnswer, Run, RunAnswer, RunPage};

/// The parameter for the format in which logs are read.
pub const NDJSON: (&str, &str) = ("format", "ndjson");

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
    /// Only runs that the cause of this id led to.
    pub cause: Option<String>,
    /// No more than so many; else the server says.
    pub limit: Option<u32>,
}

/// A log, as parts of its lines until now or until its run has ended; or the progress of its search.
#[derive(Debug)]
pub struct FollowedLog<T = ReadLogResponse> {
    response: Response,
    address: String,
    secure: bool,
    received: Vec<u8>,
    part: PhantomData<fn() -> T>,
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
            ("cause", query.cause.clone()),
            ("limit", query.limit.map(|limit| limit.to_string())),
        ] {
            if let Some(value) = value {
                url.query_pairs_mut().append_pair(name, &value);
            }
        }
        self.get(url).await
    }

    /// Causes of runs, newest first, from the one of this id on.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. Other programs with this API do not have it.
    pub async fn causes(&self, from: Option<&str>, limit: u32) -> Result<Vec<Cause>, CallError> {
        let mut url = self.address.endpoint(&["causes"]);
        let mut query = vec![("limit", limit.to_string())];
        query.extend(from.map(|from| ("from", from.to_owned())));
        url.query_pairs_mut().extend_pairs(query);
        Ok(self.get::<ListCausesResponse>(url).await?.causes)
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

    /// The log of a run after `position`, as far as it is available now; with `follow` until the run has ended.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no run has this id.
    pub async fn log(
        &self,
        id: &str,
        position: u64,
        follow: bool,
    ) -> Result<FollowedLog, CallError> {
        let (follow, after) = (follow.to_string(), position.to_string());
        let part = [("follow", &*follow), NDJSON, ("after", &*after)];
        self.log_part(id, &part, None).await
    }

    /// A part of the log of a run, or of one of its attempts, by parameters of the API (docs/api.md#runs) with [`NDJSON`]:
    /// a window, or the progress of a search.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no run has this id; status 409 if the lines of the attempt are not known.
    pub async fn log_part<T>(
        &self,
        id: &str,
        part: &[(&str, &str)],
        attempt: Option<u32>,
    ) -> Result<FollowedLog<T>, CallError> {
        let mut url = self.address.endpoint(&["runs", usable(id)?, "log"]);
        let attempt = attempt.map(|attempt| ("attempt", attempt.to_string()));
        url.query_pairs_mut()
            .extend_pairs(part)
            .extend_pairs(attempt);
        let response = open(self, url).await?;
        Ok(FollowedLog {
            response,
            address: self.address(),
            secure: self.address.is_secure(),
            received: Vec::new(),
            part: PhantomData,
        })
    }
}

impl<T: DeserializeOwned> FollowedLog<T> {
    /// The next part; `None` if the run has ended and this was all. Dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// The connection has failed, or it brings something else than a log.
    pub async fn next(&mut self) -> Result<Option<T>, CallError> {
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

    fn decode(&self, line: &[u8]) -> Result<T, CallError> {
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
