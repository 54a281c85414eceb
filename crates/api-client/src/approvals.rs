//! Consent to the effects of plans: a cts-only endpoint (docs/rest.md#consent).

use reqwest::{Method, Url};
use serde_json::{Value, json};

use crate::call::Body;
use crate::client::{ApiClient, usable};
use crate::error::CallError;
use crate::model::{Approval, ApprovalAnswer, Approvals, ReopenedAnswer};

impl ApiClient {
    /// The effects of the tasks whose names match one of these patterns, or of all tasks without patterns.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. Other programs with this API do not have it.
    pub async fn approvals(&self, tasks: &[String]) -> Result<Approvals, CallError> {
        let mut url = self.approval_url(&[]);
        for task in tasks {
            url.query_pairs_mut().append_pair("task", task);
        }
        self.get(url).await
    }

    /// The consent to the effect of a run.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if the run has no effect that needs consent.
    pub async fn approval(&self, run: &str) -> Result<Approval, CallError> {
        let url = self.approval_url(&[usable(run)?]);
        Ok(self.get::<ApprovalAnswer>(url).await?.approval)
    }

    /// Approves or rejects the effect of a run, if it still is the named one, and returns the consent after that.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if the run has no effect that needs consent; [`CallError::is_conflict`] if its effect
    /// is a different one, or is decided already.
    pub async fn decide_approval(
        &self,
        run: &str,
        (effect, rejects): (&str, bool),
        comment: &str,
    ) -> Result<Approval, CallError> {
        let word = if rejects { "reject" } else { "approve" };
        let url = self.approval_url(&[usable(run)?, word]);
        let decision = json!({ "effect": effect, "comment": comment });
        let answer = self.post(url, &decision).await?;
        Ok(answer.decode::<ApprovalAnswer>()?.approval)
    }

    /// Approves the waiting effects of several tasks, if they still are those of the set.
    ///
    /// # Errors
    ///
    /// [`CallError::is_conflict`] if they are not: see [`Approvals::of_conflict`].
    pub async fn approve_set(
        &self,
        tasks: &[String],
        set: &str,
        comment: &str,
    ) -> Result<Vec<Approval>, CallError> {
        let url = self.approval_url(&["approve"]);
        let decision = json!({ "tasks": tasks, "set": set, "comment": comment });
        let answer = self.post(url, &decision).await?;
        Ok(answer.decode::<Approvals>()?.approvals)
    }

    /// Forgets that effects of a task were rejected, and returns their number.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if the task has no rejected effect.
    pub async fn reopen_approvals(&self, task: &str) -> Result<u32, CallError> {
        let url = self.approval_url(&["reopen"]);
        let answer = self.post(url, &json!({ "task": task })).await?;
        Ok(answer.decode::<ReopenedAnswer>()?.reopened)
    }

    fn approval_url(&self, path: &[&str]) -> Url {
        self.address.endpoint(&[&["approvals"], path].concat())
    }

    async fn post(&self, url: Url, body: &Value) -> Result<crate::call::Answer, CallError> {
        self.send(Method::POST, url, Body::Json(body.to_string()))
            .await
    }
}

impl Approvals {
    /// The present effects in the answer to [`ApiClient::approve_set`] if the effects were different.
    pub fn of_conflict(error: &CallError) -> Option<Self> {
        match error {
            CallError::Refused(refusal) if error.is_conflict() => {
                serde_json::from_str(&refusal.body).ok()
            }
            _ => None,
        }
    }
}
