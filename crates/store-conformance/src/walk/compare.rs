//! Whether the store is as the model says.

use std::time::Duration;

use cts_core::runs::RunStatus;
use cts_core::{RunId, TaskName, TaskStatus};

use super::{INPUTS, Walk};
use crate::Fixture;
use crate::model::ModelEvent;
use crate::scene::input;

/// Replicas and workers are compared if they were seen so lately.
const LATELY: Duration = Duration::from_hours(3 * 24);

impl<F: Fixture> Walk<F> {
    /// Compares the store with the model. Runs after every step.
    pub(super) async fn compare(&mut self) {
        let store = self.scene.store();
        assert_eq!(
            self.scene.next_due().await,
            self.model.next_due(),
            "{}",
            self.story()
        );
        let depth = store.queue_depth().await;
        assert_eq!(
            depth.expect("the depth of the queue can be read"),
            self.model.queue_depth(),
            "{}",
            self.story()
        );
        // Not after every step: it takes longer than all other comparisons.
        if self.trace.len().is_multiple_of(4) {
            self.scene.follow_facts().await;
        }
        self.compare_cluster().await;
        self.compare_tasks().await;
        for mark in store.task_marks().await.expect("tasks can be listed") {
            let held = self.model.tasks[&mark.name].held.is_some();
            assert_eq!(mark.held, held, "{}", self.story());
        }
        let states = store.task_states(None).await.expect("states can be read");
        let names: Vec<_> = states.iter().map(|state| state.task.clone()).collect();
        let visible = self.model.tasks.iter();
        let visible = visible.filter(|(_, task)| task.is_visible());
        let expected: Vec<TaskName> = visible.map(|(name, _)| name.clone()).collect();
        assert_eq!(names, expected, "{}", self.story());
        for state in states {
            let task = &self.model.tasks[&state.task];
            let events: Vec<_> = state.events.iter().map(ModelEvent::from).collect();
            let expected: Vec<_> = task.events.iter().rev().take(5).cloned().collect();
            assert_eq!(events, expected, "{}", self.story());
            assert_eq!(state.enabled, task.stored.spec.enabled);
            let status = TaskStatus::derive(expected.iter().map(|event| event.success));
            assert_eq!(state.status, status, "{}", self.story());
            let held = state.held.map(|blocked| (blocked.losses, blocked.counts));
            assert_eq!(held, task.held, "{}", self.story());
        }
        let live = |run: &RunStatus| matches!(run, RunStatus::Queued | RunStatus::Running);
        let runs = self.model.runs.iter().filter(|(_, run)| live(&run.status));
        let runs: Vec<_> = runs.map(|(id, _)| *id).collect();
        for run in runs {
            self.compare_run(run).await;
        }
    }

    async fn compare_cluster(&self) {
        let store = self.scene.store();
        for within in [Duration::from_secs(30), LATELY] {
            let members = store.members(within).await;
            let members: Vec<_> = members
                .expect("replicas can be listed")
                .into_iter()
                .map(|state| (state.member.id, state.silent_for, state.leader))
                .collect();
            assert_eq!(members, self.model.members(within), "{}", self.story());
            let workers = store.workers(within).await;
            let workers: Vec<_> = workers
                .expect("workers can be listed")
                .into_iter()
                .map(|state| {
                    let worker = state.worker;
                    let id = worker.id.as_str().to_owned();
                    (id, state.silent_for, worker.draining, state.running)
                })
                .collect();
            assert_eq!(workers, self.model.workers(within), "{}", self.story());
        }
    }

    async fn compare_run(&mut self, id: RunId) {
        let record = self.scene.run(id).await;
        let run = &self.model.runs[&id];
        let start = *self.start.get_or_insert(record.created_at - run.created);
        let story = || self.trace.join("\n");
        assert_eq!(
            (&record.task, record.status),
            (&run.task, run.status),
            "{}",
            story()
        );
        assert_eq!(
            (record.input, record.attempts),
            (run.input, run.attempts),
            "{}",
            story()
        );
        assert_eq!(
            (record.kind, record.no_retry),
            (run.kind, run.no_retry),
            "{}",
            story()
        );
        assert_eq!(
            (&record.errors, &record.plan),
            (&run.errors, &run.plan),
            "{}",
            story()
        );
        let waiting_for = run.waiting_for.as_ref();
        assert_eq!(
            record.waiting_for.as_ref(),
            waiting_for.filter(|_| run.status == RunStatus::Running),
            "{}",
            story()
        );
        assert_eq!(record.created_at, start + run.created, "{}", story());
        assert_eq!(
            (record.started_at.is_some(), record.finished_at.is_some()),
            (run.epoch > 0, run.status.is_end()),
            "{}",
            story()
        );
        if run.status == RunStatus::Queued {
            assert_eq!(record.due_at, start + run.due, "{}", story());
        }
    }

    pub(super) async fn compare_all(&mut self) {
        let runs: Vec<_> = self.model.runs.keys().copied().collect();
        for id in runs {
            self.compare_run(id).await;
            let page = self.scene.store().read_log(id, 0, 1000).await;
            let page = page.expect("logs can be read").expect("the run is there");
            let texts: Vec<_> = page.lines.into_iter().map(|line| line.text).collect();
            assert_eq!(texts, self.model.runs[&id].log, "{}", self.story());
        }
        for request in &self.requests {
            let known = self.model.runs.contains_key(&request.run);
            let found = self.scene.find_run(request.run).await.is_some();
            assert_eq!(found, known, "{}", self.story());
        }
        for text in INPUTS {
            let hash = input(text).hash;
            let stored = self
                .scene
                .store()
                .input(hash)
                .await
                .expect("inputs can be read");
            let expected = self.model.inputs.contains_key(&hash);
            assert_eq!(stored.is_some(), expected, "{}", self.story());
        }
    }
}
