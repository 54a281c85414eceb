//! Steps that create, change and delete tasks.

use cts_core::runs::{Occasion, RunKind};
use cts_core::{Creation, OnDelete, RunId, TaskName, TaskSpec};

use super::{INPUTS, TASKS, Walk};
use crate::Fixture;
use crate::scene::{enqueue_request, guarded, spec, task};
use cts_store::{
    Deletion, EnqueueRequest, NewTask, Refused, RefusedCode, TaskChange, TaskError, Unchanged,
};

impl<F: Fixture> Walk<F> {
    pub(super) fn some_kind(&mut self) -> RunKind {
        match self.dice.below(6) {
            0 => RunKind::Plan,
            1 => RunKind::Check,
            _ => RunKind::Apply,
        }
    }

    fn some_task(&mut self) -> TaskName {
        let known = self.dice.one_of(&TASKS).unwrap_or(&"a");
        task(if self.dice.one_in(3) { "made" } else { known })
    }

    fn some_spec(&mut self, name: &TaskName) -> TaskSpec {
        let mut spec = spec(name.as_str());
        spec.enabled = !self.dice.one_in(4);
        spec.file_settings.retry_failed = !self.dice.one_in(3);
        spec.on_delete = self.some_end();
        if self.dice.one_in(2) {
            spec.file_settings.guard = guarded("50%", &[]).guard;
        }
        if self.dice.one_in(3) {
            spec.definition.version = self.dice.below(2).to_string();
        }
        spec
    }

    pub(super) fn some_end(&mut self) -> OnDelete {
        if self.dice.one_in(2) {
            OnDelete::Destroy
        } else {
            OnDelete::Retain
        }
    }

    /// Returns the id of a request, open or not; seldom one that was never requested.
    fn some_request(&mut self) -> RunId {
        let known: Vec<_> = self.model.requests.keys().copied().collect();
        let known = self.dice.one_of(&known).copied();
        known.unwrap_or_else(|| self.scene.run_id())
    }

    pub(super) async fn create(&mut self) {
        let name = self.some_task();
        let new = NewTask {
            spec: self.some_spec(&name),
            creation: if self.dice.one_in(3) {
                Creation::Discard
            } else {
                Creation::Keep
            },
            run: self.scene.run_id(),
            kind: self.some_kind(),
        };
        self.trace.push(format!("create {new:?}"));
        let expected = self.model.create(&new);
        let answer = self.scene.store().create_task(&new).await;
        self.compare_answers(answer, expected);
    }

    pub(super) async fn change(&mut self) {
        let name = self.some_task();
        let known = self.model.tasks.get(&name);
        let revision = known.map_or(1, |task| task.stored.revision);
        let change = TaskChange {
            enabled: self.dice.one_in(2).then(|| self.dice.one_in(2)),
            spec: self.dice.one_in(4).then(|| self.some_spec(&name)),
            revision: self
                .dice
                .one_in(4)
                .then(|| revision + self.dice.below(5) / 4),
            request: self.dice.one_in(2).then(|| {
                let repeated = self.dice.one_in(8);
                let run = if repeated {
                    self.some_request()
                } else {
                    self.scene.run_id()
                };
                (run, self.some_kind())
            }),
            key: None,
            accompanies: self.dice.one_in(3).then_some(Occasion::Declaration),
            idle_only: self.dice.one_in(3),
            approve: None,
        };
        self.trace.push(format!("change {name} {change:?}"));
        let expected = self.model.change(&name, &change);
        let answer = self.scene.store().change_task(&name, &change).await;
        self.compare_answers(answer, expected);
    }

    pub(super) async fn delete(&mut self) {
        let name = self.some_task();
        let deletion = if self.dice.one_in(3) {
            Deletion::Retain
        } else {
            self.scene.as_task_says()
        };
        self.trace.push(format!("delete {name} {deletion:?}"));
        let expected = self.model.delete(&name, deletion);
        let answer = self.scene.store().delete_task(&name, deletion).await;
        self.compare_answers(answer, expected);
    }

    pub(super) async fn plan_destruction(&mut self) {
        let (name, run) = (self.some_task(), self.scene.run_id());
        self.trace
            .push(format!("plan the destruction of {name} {run}"));
        let expected = self.model.plan_destruction(&name, run);
        let answer = self.scene.store().plan_destruction(&name, run, None).await;
        self.compare_answers(answer, expected);
    }

    fn compare_answers<T: PartialEq + std::fmt::Debug>(
        &self,
        answer: Result<T, TaskError>,
        expected: Result<T, TaskError>,
    ) {
        let answer = answer.map_err(|error| format!("{error:?}"));
        let expected = expected.map_err(|error| format!("{error:?}"));
        assert_eq!(answer, expected, "{}", self.story());
    }

    /// Queues a requested run, as a leader does that may still have a request that is over.
    pub(super) async fn enqueue_requested(&mut self) {
        let run = self.some_request();
        let Some(known) = self.model.requests.get(&run).cloned() else {
            return;
        };
        let text = self.dice.one_of(&INPUTS).copied().unwrap_or("1");
        let request = EnqueueRequest {
            kind: known.kind,
            unchanged: Unchanged::Run,
            guarded: self.perhaps_guarded(text),
            ..enqueue_request(known.task.as_str(), text, run)
        };
        let epoch = self.some_epoch();
        self.trace
            .push(format!("enqueue requested {epoch} {request:?}"));
        self.requests = vec![request.clone()];
        let leads = self.model.leads(epoch);
        let expected = leads.then(|| self.model.enqueue(&request));
        let answer = self.scene.store().enqueue(epoch, vec![request]).await;
        let answer = self.accepted(answer, epoch, leads);
        let answer = answer.and_then(|mut answers| answers.pop());
        assert_eq!(answer, expected, "{}", self.story());
    }

    pub(super) async fn release(&mut self) {
        let name = super::super::task(self.dice.one_of(&super::TASKS).unwrap_or(&"a"));
        self.trace.push(format!("release {name}"));
        let expected = self.model.release(&name).ok_or(TaskError::Unknown);
        let released = self.scene.store().release_task(&name, None).await;
        self.compare_answers(released.map(|blocked| blocked.is_some()), expected);
    }

    pub(super) async fn refuse(&mut self) {
        let (run, epoch) = (self.some_request(), self.some_epoch());
        let code = self.dice.one_of(&RefusedCode::ALL).copied();
        let refused = Refused {
            code: code.unwrap_or(RefusedCode::Incomplete),
            reason: format!("reason {}", self.trace.len()),
        };
        self.trace.push(format!("refuse {epoch} {run} {refused:?}"));
        let leads = self.model.leads(epoch);
        if leads {
            self.model.refuse(run, &refused);
        }
        let answer = self.scene.store().refuse(epoch, run, &refused).await;
        self.accepted(answer, epoch, leads);
    }

    pub(super) async fn drop_draft(&mut self) {
        if self.dice.one_in(8) {
            return self.reset().await;
        }
        let name = self.some_task();
        let runs: Vec<_> = self.model.runs.keys().copied().collect();
        let run = self.dice.one_of(&runs).copied();
        let run = run.unwrap_or_else(|| self.scene.run_id());
        self.trace.push(format!("drop draft {name} {run}"));
        self.model.drop_draft(&name, run);
        self.scene.drop_draft(name.as_str(), run).await;
    }

    async fn reset(&mut self) {
        let epoch = self.some_epoch();
        self.trace.push(format!("reset {epoch}"));
        let leads = self.model.leads(epoch);
        let expected = leads.then(|| self.model.reset());
        let archive = self.scene.archive_id();
        let answer = self.scene.store().reset_tasks(epoch, archive).await;
        let answer = self.accepted(answer, epoch, leads);
        assert_eq!(answer, expected, "{}", self.story());
    }

    pub(super) async fn compare_tasks(&self) {
        let stored = self.scene.all_tasks().await;
        let expected = self.model.tasks.values().map(|task| task.stored.clone());
        let discarded = cts_core::TaskPhase::Discarded;
        let expected: Vec<_> = expected.filter(|task| task.phase != discarded).collect();
        assert_eq!(stored, expected, "{}", self.story());
        let mut open = self.scene.open_requests().await;
        open.sort();
        let requests = self.model.requests.iter();
        let expected = requests.filter(|(_, request)| request.refused.is_none());
        let expected: Vec<_> = expected.map(|(run, _)| *run).collect();
        assert_eq!(open, expected, "{}", self.story());
        for (run, request) in &self.model.requests {
            let found = self.scene.find_request(*run).await;
            let found = found.map(|it| (it.task, it.kind, it.refused));
            let reason = request.refused.as_ref().map(|(reason, _)| reason.clone());
            let expected = (request.task.clone(), request.kind, reason);
            assert_eq!(found, Some(expected), "{}", self.story());
        }
    }
}
