//! Calls about tasks.

use std::collections::BTreeMap;

use cts_proto::run::v1::GetQueueResponse;
use cts_proto::task::v1::Loss;
use reqwest::{Method, Url};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use crate::call::{Answer, Body};
use crate::client::{ApiClient, usable};
use crate::error::CallError;
use crate::model::{
    CreatedTask, DeletionAnswer, DestroyPlanAnswer, Hold, InspectedTask, Inspection, KnownState,
    ReleaseAnswer, Replaced, StateDecision, Task, TaskAnswer, TaskPlan, TaskStatus, TasksAnswer,
    UpdateAnswer,
};

impl ApiClient {
    /// All tasks as configured, in the server's order (docs/rest.md#reading-tasks).
    ///
    /// # Errors
    ///
    /// As for all calls: see [`CallError`].
    pub async fn tasks(&self) -> Result<Vec<Task>, CallError> {
        let answer: TasksAnswer = self.get(self.address.endpoint(&["tasks"])).await?;
        Ok(answer.tasks)
    }

    /// One task as configured (docs/rest.md#reading-tasks).
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no task has this name.
    pub async fn task(&self, name: &str) -> Result<Task, CallError> {
        let answer: TaskAnswer = self.get(self.task_url(name)?).await?;
        Ok(answer.task)
    }

    /// Status of all tasks by name, without events (docs/rest.md#task-status).
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn task_statuses(&self) -> Result<BTreeMap<String, TaskStatus>, CallError> {
        self.get(self.address.endpoint(&["status", "tasks"])).await
    }

    /// Status of one task with its events, newest first (docs/rest.md#task-status).
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no task has this name.
    pub async fn task_status(&self, name: &str) -> Result<TaskStatus, CallError> {
        let name = usable(name)?;
        let mut url = self.address.endpoint(&["status", "tasks", name]);
        url.set_query(Some("include=events"));
        let mut statuses: BTreeMap<String, TaskStatus> = self.get(url).await?;
        statuses
            .remove(name)
            .ok_or_else(|| self.lacking("the task's status"))
    }

    /// Whether the instance serves (docs/rest.md#health).
    ///
    /// # Errors
    ///
    /// See [`CallError`]. The error of an instance that does not serve holds its reason.
    pub async fn health(&self) -> Result<(), CallError> {
        let url = self.address.endpoint(&["health"]);
        self.get(url).await.map(|IgnoredAny| ())
    }

    /// How much work waits; a cts-only endpoint.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. Other programs with this API do not have it.
    pub async fn queue(&self) -> Result<GetQueueResponse, CallError> {
        self.get(self.address.endpoint(&["queue"])).await
    }

    /// Inspects how Terraform would create this task (docs/rest.md#creating-a-task). Nothing is created. `task` is the
    /// task object of docs/rest.md#task-objects.
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn inspect_task(
        &self,
        task: &Map<String, Value>,
    ) -> Result<InspectedTask, CallError> {
        self.post_task(task, RunMode::Inspect).await?.decode()
    }

    /// Creates this task and runs it, if it is enabled (docs/rest.md#creating-a-task). The answer comes when that is
    /// done.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. After an error that is not a refusal the task may have been created.
    pub async fn create_task(&self, task: &Map<String, Value>) -> Result<CreatedTask, CallError> {
        self.post_task(task, RunMode::Now).await?.decode()
    }

    /// The body of [`inspect_task`](Self::inspect_task) and [`create_task`](Self::create_task).
    pub fn create_request(task: &Map<String, Value>) -> Value {
        json!({ "task": task })
    }

    /// Replaces the task of this name, whatever its revision, and runs it, if it is enabled (docs/api.md#tasks). The
    /// answer comes when that is done, or without `wait` as soon as the run is requested. With `release` the run
    /// passes the guards of the task. A cts-only call.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. A task whose run failed (status 422) is replaced all the same.
    pub async fn replace_task(
        &self,
        name: &str,
        task: &Map<String, Value>,
        release: bool,
        wait: bool,
    ) -> Result<Replaced, CallError> {
        let run = if wait { RunMode::Now } else { RunMode::Request };
        let mut url = with_run(self.task_url(name)?, run);
        if release {
            url.query_pairs_mut().append_pair("release", "true");
        }
        let body = Body::JsonOfAnyRevision(Self::create_request(task).to_string());
        self.send(Method::PUT, url, body).await?.decode()
    }

    /// Marks a task for deletion and returns the id of the request; the task is removed once it does not run
    /// (docs/rest.md#deleting-a-task). Its infrastructure is destroyed first if the task declares that, unless
    /// `retain` is set.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no task has this name.
    pub async fn delete_task(&self, name: &str, retain: bool) -> Result<String, CallError> {
        let mut url = self.task_url(name)?;
        if retain {
            url.set_query(Some("on_delete=retain"));
        }
        let answer = self.send(Method::DELETE, url, Body::None).await?;
        Ok(answer.decode::<DeletionAnswer>()?.request_id)
    }

    /// Plans the destruction that a deletion would carry out (docs/rest.md#deleting-a-task). Nothing is changed.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no task has this name.
    pub async fn plan_destruction(&self, name: &str) -> Result<TaskPlan, CallError> {
        let path = ["tasks", usable(name)?, "destroy-plan"];
        let url = self.address.endpoint(&path);
        let answer = self.send(Method::POST, url, Body::None).await?;
        Ok(answer.decode::<DestroyPlanAnswer>()?.run)
    }

    /// Releases a task that its shrink limit blocks, and returns the cause; `None` if nothing blocked it
    /// (docs/rest.md#releasing-a-task). Refused if more is lost than was `seen`, by versions that support that.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no task has this name.
    pub async fn release_task(&self, name: &str, seen: &[Loss]) -> Result<Option<Hold>, CallError> {
        let url = self.address.endpoint(&["tasks", usable(name)?, "release"]);
        let seen = seen.iter();
        let seen: Vec<_> = seen
            .map(|loss| json!({ "service": loss.service, "now": loss.now }))
            .collect();
        let body = Body::Json(json!({ "seen": seen }).to_string());
        let answer = self.send(Method::POST, url, body).await?;
        Ok(answer.decode::<ReleaseAnswer>()?.hold)
    }

    /// Reads the lineage and serial of a task's Terraform state (docs/rest.md#the-state-of-a-task).
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no task has this name.
    pub async fn terraform_state(&self, name: &str) -> Result<KnownState, CallError> {
        let url = self.address.endpoint(&["tasks", usable(name)?, "state"]);
        let answer = self.send(Method::GET, url, Body::None).await?;
        answer.decode()
    }

    /// Decides which Terraform state a task continues with. The next run carries that out, and is due at once.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no task has this name.
    pub async fn decide_terraform_state(
        &self,
        name: &str,
        decision: StateDecision<'_>,
    ) -> Result<KnownState, CallError> {
        let url = self.address.endpoint(&["tasks", usable(name)?, "state"]);
        let body = Body::Json(json!(decision).to_string());
        let answer = self.send(Method::POST, url, body).await?;
        answer.decode()
    }

    /// Inspects how enabling and running a task would change things (docs/rest.md#updating-a-task). Nothing is
    /// changed.
    ///
    /// # Errors
    ///
    /// See [`run_task`](Self::run_task).
    pub async fn inspect_enabling(&self, name: &str) -> Result<Inspection, CallError> {
        let answer = self.patch_task(name, true, RunMode::Inspect).await?;
        answer.inspect.ok_or_else(|| self.lacking("the plan"))
    }

    /// Lets a task react to its triggers, without a run (docs/rest.md#updating-a-task).
    ///
    /// # Errors
    ///
    /// See [`run_task`](Self::run_task).
    pub async fn enable_task(&self, name: &str) -> Result<(), CallError> {
        self.patch_task(name, true, RunMode::Later).await.map(drop)
    }

    /// Makes a task ignore its triggers (docs/rest.md#updating-a-task).
    ///
    /// # Errors
    ///
    /// See [`run_task`](Self::run_task).
    pub async fn disable_task(&self, name: &str) -> Result<(), CallError> {
        self.patch_task(name, false, RunMode::Later).await.map(drop)
    }

    /// Enables a task and runs it; the answer comes when the run is over (docs/rest.md#updating-a-task). Without `wait`
    /// it comes at once, with the id of the run, from servers that know that.
    ///
    /// # Errors
    ///
    /// [`CallError::is_not_found`] if no task has this name, [`CallError::is_busy`] if it runs.
    pub async fn run_task(&self, name: &str, wait: bool) -> Result<Option<String>, CallError> {
        let run = if wait { RunMode::Now } else { RunMode::Request };
        Ok(self.patch_task(name, true, run).await?.run)
    }

    /// As [`run_task`](Self::run_task); also approves this effect, which an inspection of the task has shown. A cts-only
    /// call.
    ///
    /// # Errors
    ///
    /// See [`run_task`](Self::run_task), and [`CallError::is_conflict`] if the inspection is no longer kept.
    pub async fn run_approved_task(&self, name: &str, effect: &str) -> Result<(), CallError> {
        let body = json!({ "enabled": true, "approve": effect });
        self.patch(name, &body, RunMode::Now).await.map(drop)
    }

    async fn patch_task(
        &self,
        name: &str,
        enabled: bool,
        run: RunMode,
    ) -> Result<UpdateAnswer, CallError> {
        // Spelt as the original spells it.
        let body = json!({ "Enabled": enabled });
        self.patch(name, &body, run).await
    }

    async fn patch(
        &self,
        name: &str,
        body: &Value,
        run: RunMode,
    ) -> Result<UpdateAnswer, CallError> {
        let url = with_run(self.task_url(name)?, run);
        let body = Body::Bare(body.to_string());
        let answer = self.send(Method::PATCH, url, body).await?;
        answer.decode()
    }

    async fn post_task(
        &self,
        task: &Map<String, Value>,
        run: RunMode,
    ) -> Result<Answer, CallError> {
        let url = with_run(self.address.endpoint(&["tasks"]), run);
        let body = Self::create_request(task).to_string();
        self.send(Method::POST, url, Body::Json(body)).await
    }

    fn lacking(&self, what: &'static str) -> CallError {
        CallError::Lacking {
            address: self.address(),
            what,
        }
    }

    fn task_url(&self, name: &str) -> Result<Url, CallError> {
        Ok(self.address.endpoint(&["tasks", usable(name)?]))
    }
}

/// Effect of a change in addition to the change itself.
#[derive(Debug, Clone, Copy)]
enum RunMode {
    /// Nothing: the task runs at its next trigger.
    Later,
    /// The task runs before the answer.
    Now,
    /// The task runs after the answer.
    Request,
    /// Nothing is changed; the answer contains the plan of a run.
    Inspect,
}

fn with_run(mut url: Url, run: RunMode) -> Url {
    match run {
        RunMode::Later => {}
        RunMode::Now => url.set_query(Some("run=now")),
        RunMode::Request => url.set_query(Some("run=now&wait=false")),
        RunMode::Inspect => url.set_query(Some("run=inspect")),
    }
    url
}
