//! Runs in lists, and explanations of tasks by the leader.

use cts_core::RunId;
use cts_core::runs::{RunKind, RunStatus};

use crate::Fixture;
use crate::scene::{Scene, all_runs, task};
use cts_store::RunFilter;

async fn list<F: Fixture>(scene: &Scene<F>, filter: &RunFilter) -> Vec<RunId> {
    let runs = scene.listed(filter).await.into_iter();
    runs.map(|run| run.id).collect()
}

pub async fn runs_are_listed_newest_first<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    assert_eq!(list(&scene, &all_runs()).await, []);
    let first = scene.apply("a", "1").await;
    let second = scene.queue("b", "1").await;
    let third = scene.queue("a", "2").await;
    assert_eq!(list(&scene, &all_runs()).await, [third, second, first]);
    let of_a = RunFilter {
        task: Some(task("a")),
        ..all_runs()
    };
    assert_eq!(list(&scene, &of_a).await, [third, first]);
    let queued = RunFilter {
        status: Some(RunStatus::Queued),
        ..all_runs()
    };
    assert_eq!(list(&scene, &queued).await, [third, second]);
    let both = RunFilter {
        task: Some(task("a")),
        ..queued
    };
    assert_eq!(list(&scene, &both).await, [third]);
    let unknown = RunFilter {
        task: Some(task("c")),
        ..all_runs()
    };
    assert_eq!(list(&scene, &unknown).await, []);
}

pub async fn runs_of_some_tasks_are_listed_newest_first<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c"]).await;
    let first = scene.apply("a", "1").await;
    let second = scene.apply("b", "1").await;
    let third = scene.queue("c", "1").await;
    let fourth = scene.queue("a", "2").await;
    let of = |names: &[&str]| RunFilter {
        tasks: Some(names.iter().map(|name| task(name)).collect()),
        ..all_runs()
    };
    for (names, expected) in [
        (&["a", "c"][..], &[fourth, third, first][..]),
        (&["b", "missing"], &[second]),
        (&["missing"], &[]),
        (&[], &[]),
    ] {
        assert_eq!(list(&scene, &of(names)).await, expected, "{names:?}");
    }
    let page = RunFilter {
        limit: 2,
        ..of(&["a", "b"])
    };
    assert_eq!(list(&scene, &page).await, [fourth, second]);
    let behind = RunFilter {
        after: Some(second),
        ..page.clone()
    };
    assert_eq!(list(&scene, &behind).await, [first]);
    for (status, expected) in [
        (RunStatus::Queued, &[fourth][..]),
        (RunStatus::Succeeded, &[second, first]),
        (RunStatus::Failed, &[]),
        (RunStatus::Running, &[]),
    ] {
        let filter = RunFilter {
            status: Some(status),
            ..page.clone()
        };
        assert_eq!(list(&scene, &filter).await, expected, "{status:?}");
    }
    let one = RunFilter {
        task: Some(task("c")),
        ..of(&["a"])
    };
    assert_eq!(list(&scene, &one).await, [third], "one task alone counts");
}

pub async fn tasks_with_runs_are_found_by_the_beginning_of_their_names<F: Fixture>() {
    let scene = Scene::<F>::new(&["web", "web-1", "web-2", "Web-3", "dns", "idle"]).await;
    let named = ["web-2", "web-1", "web-2", "web", "Web-3", "dns"];
    for (number, name) in named.into_iter().enumerate() {
        scene.apply(name, &number.to_string()).await;
    }
    // The name of a task that does not exist any more.
    let failed = scene.draft("gone", RunKind::Apply).await;
    let lease = scene.lease_requested(failed, "1").await;
    scene.failed(&lease, "no").await;
    scene.drop_draft("gone", failed).await;
    for (beginning, at_most, expected) in [
        (
            "",
            100,
            &["Web-3", "dns", "gone", "web", "web-1", "web-2"][..],
        ),
        ("web-", 100, &["web-1", "web-2"]),
        ("web", 2, &["web", "web-1"]),
        ("g", 100, &["gone"]),
        ("idle", 100, &[]),
        ("a~", 100, &[]),
        ("web%", 100, &[]),
        ("", 0, &[]),
    ] {
        let found = scene.store().tasks_with_runs(beginning, at_most).await;
        let found = found.expect("names can be listed");
        let names: Vec<&str> = found.iter().map(cts_core::TaskName::as_str).collect();
        assert_eq!(names, expected, "{beginning:?}");
    }
}

pub async fn pages_of_runs_go_on_where_the_last_ended<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let mut runs = Vec::new();
    for number in 0..7 {
        runs.push(scene.apply("a", &number.to_string()).await);
    }
    runs.reverse();
    let mut filter = RunFilter {
        limit: 3,
        ..all_runs()
    };
    for page in runs.chunks(3) {
        assert_eq!(list(&scene, &filter).await, page);
        filter.after = page.last().copied();
        // A newer one is on no later page.
        scene.apply("b", &format!("{page:?}")).await;
    }
    assert_eq!(list(&scene, &filter).await, []);
    filter.limit = 0;
    filter.after = None;
    assert_eq!(list(&scene, &filter).await, []);
}

pub async fn lists_tell_all_of_a_run_but_the_text_of_its_plan<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue_plan("a", "1").await;
    let lease = scene.lease().await;
    scene.planned(&lease, &"long ".repeat(10_000)).await;
    let lease = scene.leased("a", "1").await;
    let failed = scene.failed(&lease, "no").await;
    assert_eq!(failed.status, RunStatus::Queued);
    let listed = scene.listed(&all_runs()).await;
    let mut planned = scene.run(run).await;
    let plan = planned.plan.as_mut().expect("the plan is there");
    assert!(plan.changes_present);
    plan.text.clear();
    assert_eq!(listed, [scene.run(lease.run).await, planned]);
}

/// Also when the creation fails, and its name is used again.
pub async fn runs_of_a_creation_are_listed_while_they_go_on_and_afterwards<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let failed = scene.draft("new", RunKind::Apply).await;
    let lease = scene.lease_requested(failed, "1").await;
    assert_eq!(list(&scene, &all_runs()).await, [failed]);
    let lines = vec![crate::scene::line("Error: no")];
    let appended = scene
        .store()
        .append_log(failed, &lease.holder, lease.epoch, lines)
        .await;
    appended.expect("the lease is live");
    scene.failed(&lease, "no").await;
    scene.drop_draft("new", failed).await;
    assert_eq!(list(&scene, &all_runs()).await, [failed]);
    let log = scene.store().read_log(failed, 0, 10).await;
    let log = log.expect("logs can be read").expect("it stays");
    assert_eq!((log.lines.len(), log.ended), (1, true));

    let made = scene.draft("new", RunKind::Apply).await;
    let lease = scene.lease_requested(made, "1").await;
    scene.applied(&lease).await;
    let of_new = RunFilter {
        task: Some(task("new")),
        ..all_runs()
    };
    assert_eq!(list(&scene, &of_new).await, [made, failed]);
    let events = scene.state("new").await.events;
    let told: Vec<_> = events.iter().map(|event| event.run_id).collect();
    assert_eq!(told, [Some(made)], "the failure was another task's");
}

pub async fn runs_of_earlier_tasks_of_a_name_are_listed<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let mut runs = Vec::new();
    for round in 0..3 {
        let created = scene.draft("a", RunKind::Apply).await;
        let lease = scene.lease_requested(created, "0").await;
        scene.applied(&lease).await;
        runs.extend([created, scene.apply("a", &format!("later {round}")).await]);
        assert_eq!(scene.state("a").await.events.len(), 2, "its own");
        assert!(scene.delete("a").await);
        scene.advance(crate::scene::seconds(1));
    }
    runs.reverse();
    assert_eq!(list(&scene, &all_runs()).await, runs);
}

pub async fn the_newest_explanation_is_told<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a", "b"]).await;
    let note = |name: &str, text: &str| (task(name), text.to_owned());
    for notes in [
        vec![note("a", "first"), note("b", "é\n☃"), note("c", "nobody")],
        vec![note("a", "second")],
        vec![],
    ] {
        let explained = scene.store().explain(scene.leader(), &notes).await;
        explained.expect("the leader can explain");
    }
    scene.restart().await;
    for (name, expected) in [("a", Some("second")), ("b", Some("é\n☃")), ("c", None)] {
        let told = scene.store().explanation(&task(name)).await;
        assert_eq!(told.expect("it can be read").as_deref(), expected);
    }
    let all = scene.store().task_facts(&["a", "b", "c"].map(task)).await;
    let all = all.expect("they can be read").into_iter();
    let all: Vec<_> = all
        .map(|facts| (facts.state.task, facts.explanation))
        .collect();
    let expected = [("a", "second"), ("b", "é\n☃")];
    assert_eq!(
        all,
        expected.map(|(name, text)| (task(name), Some(text.to_owned())))
    );
}
