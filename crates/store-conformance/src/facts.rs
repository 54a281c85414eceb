//! Facts about tasks that are kept by what has changed.

use std::collections::{BTreeMap, BTreeSet};

use cts_core::TaskName;
use cts_store::{Deletion, Store, TaskFacts};

use super::Fixture;
use super::scene::{Scene, spec, task};

/// The facts that a caller keeps.
#[derive(Debug, Default)]
pub struct KeptFacts {
    position: Option<String>,
    /// Names of all tasks.
    names: BTreeSet<TaskName>,
    facts: BTreeMap<TaskName, TaskFacts>,
}

impl KeptFacts {
    /// Reads what has changed, and compares all that is kept with what the store has. Returns the changed tasks.
    pub async fn follow(&mut self, store: &dyn Store) -> BTreeSet<TaskName> {
        let changed = store.changed_tasks(self.position.as_deref()).await;
        let changed = changed.expect("changes can be read");
        let all = store.changed_tasks(None).await;
        let all = all.expect("changes can be read");
        let names: BTreeSet<TaskName> = all.names.into_iter().collect();
        assert_eq!(names.len(), all.tasks);
        self.names.extend(changed.names.iter().cloned());
        if self.names.len() != changed.tasks {
            assert!(self.names.len() > changed.tasks, "some were deleted");
            self.names.retain(|name| names.contains(name));
        }
        assert_eq!(self.names, names);
        self.facts.retain(|name, _| names.contains(name));
        for name in &changed.names {
            self.facts.remove(name);
        }
        let facts = store.task_facts(&changed.names).await;
        let facts = facts.expect("facts can be read").into_iter();
        self.facts
            .extend(facts.map(|facts| (facts.state.task.clone(), facts)));
        let states = store.task_states(None).await.expect("states can be read");
        let kept: Vec<_> = self
            .facts
            .values()
            .map(|facts| facts.state.clone())
            .collect();
        assert_eq!(kept, states);
        let visible: Vec<TaskName> = self.facts.keys().cloned().collect();
        let made = store.task_facts(&visible).await;
        let kept: Vec<TaskFacts> = self.facts.values().cloned().collect();
        assert_eq!(kept, made.expect("facts can be read"));
        self.position = Some(changed.position);
        changed.names.into_iter().collect()
    }

    /// Reads everything with the next change.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

pub async fn only_tasks_that_have_changed_are_named<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a", "b", "c"]).await;
    let mut kept = KeptFacts::default();
    let all = BTreeSet::from(["a", "b", "c"].map(task));
    assert_eq!(kept.follow(&*scene.store()).await, all);
    assert_eq!(kept.follow(&*scene.store()).await, BTreeSet::new());
    let only = |name| BTreeSet::from([task(name)]);

    let lease = scene.leased("a", "1").await;
    assert_eq!(
        kept.follow(&*scene.store()).await,
        BTreeSet::new(),
        "a run is read by itself"
    );
    scene.applied(&lease).await;
    assert_eq!(kept.follow(&*scene.store()).await, only("a"));
    scene.tick("a", "1").await;
    assert_eq!(kept.follow(&*scene.store()).await, only("a"));
    let notes = [(task("b"), "noted".to_owned())];
    let noted = scene.store().explain(scene.leader(), &notes).await;
    noted.expect("the leader can explain");
    assert_eq!(kept.follow(&*scene.store()).await, only("b"));
    scene.enable("c", false).await;
    scene.restart().await;
    assert_eq!(
        kept.follow(&*scene.store()).await,
        only("c"),
        "also after a restart"
    );

    let deleted = scene
        .store()
        .delete_task(&task("b"), Deletion::Retain)
        .await;
    deleted.expect("the task is there");
    assert_eq!(kept.follow(&*scene.store()).await, BTreeSet::new());
    scene.configure(&[spec("a"), spec("c"), spec("d")]).await;
    assert!(kept.follow(&*scene.store()).await.contains(&task("d")));
}

pub async fn open_runs_are_told_in_short<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let lease = scene.leased("a", "1").await;
    scene.queue("a", "2").await;
    scene.queue("b", "1").await;
    let runs = scene.store().shown_runs().await;
    let runs = runs.expect("runs can be read");
    assert_eq!(runs.len(), 3);
    assert_eq!(runs[2].id, lease.run, "the running one is the last");
    for run in &runs {
        let record = scene.run(run.id).await;
        assert_eq!(*run, cts_store::ShownRun::from(&record));
    }
    let failed = scene.failed(&lease, "the port is taken").await;
    let runs = scene.store().shown_runs().await;
    let runs = runs.expect("runs can be read");
    for run in &runs {
        let record = scene.run(run.id).await;
        assert_eq!(*run, cts_store::ShownRun::from(&record), "{failed:?}");
    }
}
