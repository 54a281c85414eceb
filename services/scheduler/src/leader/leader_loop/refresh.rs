//! Reads the stored tasks and requests again, which any replica may change.

use std::collections::{HashMap, HashSet};

use cts_core::{Chain, TaskName, TaskPhase};
use cts_store::{RunRequest, StoreError, StoredTask, TaskVersion};
use tokio::time::Instant;

use super::LeaderLoop;
use super::poll_schedule::{Found, PollSchedule};
use super::seen::Seen;
use crate::leader::disabled_tasks::Since;
use crate::mode::Mode;
use crate::planner::{DesiredTask, RequestedRun, TaskMode};
use crate::watch::WatchSet;

/// Most changed tasks that one statement reads.
const READ_AT_ONCE: usize = 1000;

/// Stored requests and tasks; of the tasks that are as they were only the marks.
struct Stored {
    requests: Vec<RunRequest>,
    marks: Vec<TaskVersion>,
    tasks: HashMap<TaskName, StoredTask>,
}

impl Stored {
    /// Whether no task was added, changed or deleted.
    fn is_as(&self, seen: &Seen) -> bool {
        self.requests.is_empty() && self.tasks.is_empty() && self.marks.len() == seen.0.len()
    }
}

impl LeaderLoop {
    /// Brings the planner in line with the stored tasks and requests. A failure changes nothing; the next
    /// poll comes.
    pub(super) async fn refresh(
        &mut self,
        watches: &mut WatchSet,
        poll_schedule: &mut PollSchedule,
        seen: &mut Seen,
    ) {
        let begun = Instant::now();
        // After a failure the next poll comes soon.
        let mut found = Found::Something;
        match self.stored(seen).await {
            Ok(stored) => {
                if stored.is_as(seen) {
                    found = Found::Nothing;
                }
                self.note_disabled(&stored, seen);
                self.note_broken(&stored);
                if self.reconcile(&stored) {
                    watches.set_views(self.planner.views());
                }
                seen.note(stored);
                if let Some(brake) = &mut self.brake {
                    brake.look_again();
                }
                let wanted = self.planner.all_wanted_inputs();
                if let Err(error) = self.note_applied(wanted).await {
                    cts_store::log_store_failure!(warn, &error, error = %Chain(&error), "cannot read what was applied last, trying again");
                }
            }
            Err(error) => {
                cts_store::log_store_failure!(warn, &error, error = %Chain(&error), "cannot look for changed tasks, trying again");
            }
        }
        self.context.recent_inputs.forget_old();
        poll_schedule.ended(begun, Instant::now(), found);
    }

    /// The requests are read first: then each is carried out with a task that is no older than itself.
    async fn stored(&self, seen: &Seen) -> Result<Stored, StoreError> {
        let requests = self.context.store.requests().await?;
        let mut marks = self.context.store.task_marks().await?;
        let is_of = |task: &TaskName, requests: &[RunRequest]| {
            let mut names = requests.iter().map(|request| &request.task);
            names.any(|name| name == task)
        };
        if !self.planner.is_reconciled() {
            // A task whose request came after the requests were read seems to be one whose request an earlier leader
            // has carried out. The next poll has both.
            let newer = self.context.store.requests().await?;
            marks.retain(|mark| {
                self.planner.has(&mark.name)
                    || is_of(&mark.name, &requests)
                    || !is_of(&mark.name, &newer)
            });
        }
        let asked: HashSet<&TaskName> = requests.iter().map(|request| &request.task).collect();
        let changed = marks.iter().filter(|mark| {
            let mode = task_mode(self.context.mode, mark.phase, mark.enabled);
            let is_needed =
                mode.is_some_and(|mode| mode != TaskMode::Disabled || asked.contains(&mark.name));
            seen.0.get(&mark.name) != Some(*mark) || is_needed && !self.planner.has(&mark.name)
        });
        let changed: Vec<TaskName> = changed.map(|mark| mark.name.clone()).collect();
        let mut tasks = HashMap::with_capacity(changed.len());
        for part in changed.chunks(READ_AT_ONCE) {
            let part = self.context.store.tasks_named(part).await?;
            tasks.extend(
                part.into_iter()
                    .map(|task| (task.spec.name().clone(), task)),
            );
        }
        // A task that was deleted after its mark was read is left to the next poll, which notices the deletion.
        marks.retain(|mark| tasks.contains_key(&mark.name) || seen.0.get(&mark.name) == Some(mark));
        Ok(Stored {
            requests,
            marks,
            tasks,
        })
    }

    /// Compares the disabled tasks with the stored ones. The planner is of the poll before.
    fn note_disabled(&mut self, stored: &Stored, seen: &Seen) {
        let is_disabled = |phase: TaskPhase, enabled: bool| phase == TaskPhase::Ready && !enabled;
        let at_start = !self.planner.is_reconciled();
        for (name, task) in &stored.tasks {
            if is_disabled(task.phase, task.spec.enabled) {
                let before = seen.0.get(name);
                let since = match before {
                    _ if at_start => Since::Start,
                    Some(before) if before.enabled => Since::Disabled,
                    _ => Since::Later,
                };
                self.disabled.note(&task.spec, since);
            }
        }
        if !self.disabled.is_empty() {
            let marks = stored.marks.iter();
            let disabled: HashSet<&TaskName> = marks
                .filter(|mark| match stored.tasks.get(&mark.name) {
                    Some(task) => is_disabled(task.phase, task.spec.enabled),
                    None => is_disabled(mark.phase, mark.enabled),
                })
                .map(|mark| &mark.name)
                .collect();
            self.disabled.retain(|name| disabled.contains(name));
        }
        if self.disabled.left() > 0 || at_start {
            self.look_at_disabled = Some(Instant::now());
        }
    }

    fn note_broken(&mut self, stored: &Stored) {
        for task in stored.tasks.values() {
            self.broken.note(task, Instant::now());
        }
        let marks = stored.marks.iter().map(|mark| &mark.name);
        let names: HashSet<&TaskName> = marks.collect();
        self.broken.retain(|name| names.contains(name));
    }

    fn reconcile(&mut self, stored: &Stored) -> bool {
        let mut requested: HashMap<&TaskName, Vec<RequestedRun>> = HashMap::new();
        for request in &stored.requests {
            let of_task = requested.entry(&request.task).or_default();
            of_task.push(RequestedRun {
                run: request.run,
                kind: request.kind,
            });
        }
        let mode = self.context.mode;
        let desired = stored.marks.iter().filter_map(|mark| {
            let task = stored.tasks.get(&mark.name);
            let (phase, enabled) = task.map_or((mark.phase, mark.enabled), |task| {
                (task.phase, task.spec.enabled)
            });
            Some(DesiredTask {
                name: &mark.name,
                spec: task.map(|task| &task.spec),
                mode: task_mode(mode, phase, enabled)?,
                held: mark.held,
                requests: requested.remove(&mark.name).unwrap_or_default(),
            })
        });
        let views_changed = self.planner.reconcile(desired, self.started.elapsed());
        self.context
            .first_pass
            .retain(|task| self.planner.has(task));
        views_changed
    }
}

/// The effect of changes on a task; `None` if nothing more is to happen with it.
fn task_mode(mode: Mode, phase: TaskPhase, enabled: bool) -> Option<TaskMode> {
    match phase {
        TaskPhase::Creating => Some(TaskMode::Draft { enabled }),
        TaskPhase::Ready if enabled && mode == Mode::Daemon => Some(TaskMode::Active),
        TaskPhase::Ready => Some(TaskMode::Disabled),
        TaskPhase::Deleting | TaskPhase::Discarded => None,
    }
}

impl Seen {
    /// A task may be newer than its mark; then the next poll reads it again.
    fn note(&mut self, stored: Stored) {
        let marks = stored.marks.into_iter();
        self.0 = marks.map(|mark| (mark.name.clone(), mark)).collect();
    }
}
