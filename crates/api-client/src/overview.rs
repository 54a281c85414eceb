//! The condition of everything, the brake of the fleet, and workers: cts-only endpoints (docs/rest.md#overview).

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::json;

use crate::call::Body;
use crate::client::{ApiClient, usable};
use crate::error::CallError;
use crate::model::{
    Brake, BrakeReleaseAnswer, ClusterConfiguration, CurrentState, CurrentStatesAnswer,
    DeletionAnswer, Explanation, ExplanationAnswer, Overview, TaskPage, Times,
};

impl ApiClient {
    /// Replicas, workers, queue, data of Consul and tasks at this moment, with their problems.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. Other programs with this API do not have it.
    pub async fn overview(&self) -> Result<Overview, CallError> {
        self.get(self.address.endpoint(&["overview"])).await
    }

    /// The states of all tasks at this moment, by name.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. Other programs with this API do not have it.
    pub async fn current_states(&self) -> Result<BTreeMap<String, CurrentState>, CallError> {
        let url = self.address.endpoint(&["overview", "tasks"]);
        let answer: CurrentStatesAnswer = self.get(url).await?;
        let tasks = answer.tasks.into_iter();
        Ok(tasks.map(|task| (task.name, task.state)).collect())
    }

    /// A page of the states of tasks, filtered and sorted by the server as the parameters say
    /// (docs/rest.md#pages-and-grid).
    ///
    /// # Errors
    ///
    /// See [`CallError`]. Servers of earlier versions answer with all states, which are no page.
    pub async fn task_page(&self, parameters: &[(&str, String)]) -> Result<TaskPage, CallError> {
        let mut url = self.address.endpoint(&["overview", "tasks"]);
        url.query_pairs_mut().extend_pairs(parameters);
        self.get(url).await
    }

    /// How long changes took until they were applied, this far back, such as `24h`.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. Other programs with this API do not have it.
    pub async fn times(&self, since: &str) -> Result<Times, CallError> {
        let mut url = self.address.endpoint(&["times"]);
        url.query_pairs_mut().append_pair("since", since);
        self.get(url).await
    }

    /// Why a task ran, or why it does not.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no task has this name.
    pub async fn explanation(&self, name: &str) -> Result<Explanation, CallError> {
        let url = self.address.endpoint(&["tasks", usable(name)?, "explain"]);
        let answer: ExplanationAnswer = self.get(url).await?;
        Ok(answer.explanation)
    }

    /// The task blocks in force, and the members that differ from them.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. Other programs with this API do not have it.
    pub async fn cluster_configuration(&self) -> Result<ClusterConfiguration, CallError> {
        let url = self.address.endpoint(&["cluster", "configuration"]);
        self.get(url).await
    }

    /// The brake of the fleet, with what is lost.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. Other programs with this API do not have it.
    pub async fn brake(&self) -> Result<Brake, CallError> {
        self.get(self.address.endpoint(&["brake"])).await
    }

    /// Releases the brake of the fleet, if no more is lost than in the brake that was `seen`. Returns the brake as it was
    /// set; `None` if it was not.
    ///
    /// # Errors
    ///
    /// [`CallError::is_conflict`] if more is lost by now.
    pub async fn release_brake(&self, seen: &Brake) -> Result<Option<Brake>, CallError> {
        let url = self.address.endpoint(&["brake"]);
        let seen = json!({ "seen": { "lost": seen.lost, "of": seen.of } });
        let answer = self
            .send(Method::POST, url, Body::Json(seen.to_string()))
            .await?;
        Ok(answer.decode::<BrakeReleaseAnswer>()?.released)
    }

    /// Orders a worker to finish its runs, to take nothing new and to leave.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no worker has this id.
    pub async fn drain_worker(&self, id: &str) -> Result<(), CallError> {
        let url = self.address.endpoint(&["workers", usable(id)?, "drain"]);
        let answer = self.send(Method::POST, url, Body::None).await?;
        answer.decode::<DeletionAnswer>().map(drop)
    }
}
