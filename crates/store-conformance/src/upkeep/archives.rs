//! Behaviours of resets and their archives.

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{ArchiveId, TaskName, TaskPhase};

use crate::Fixture;
use crate::scene::{Scene, line, seconds, spec, task};
use cts_store::{ARCHIVES_KEPT, Archive, ArchivedRow, PendingDeletions};
use cts_store_sql::tables::TABLES;

async fn reset<F: Fixture>(scene: &Scene<F>) -> (ArchiveId, Vec<TaskName>) {
    let archive = scene.archive_id();
    let reset = scene.store().reset_tasks(scene.leader(), archive).await;
    let PendingDeletions {
        deleting,
        postponed,
    } = reset.expect("the leader can reset");
    assert_eq!(postponed, []);
    (archive, deleting)
}

async fn archives<F: Fixture>(scene: &Scene<F>) -> Vec<Archive> {
    let archives = scene.store().archives().await;
    archives.expect("archives can be listed")
}

async fn rows<F: Fixture>(
    scene: &Scene<F>,
    archive: ArchiveId,
    (after, limit): (u64, u32),
) -> Vec<ArchivedRow> {
    let rows = scene.store().archived_rows(archive, after, limit).await;
    rows.expect("an archive can be read")
}

pub async fn a_reset_removes_every_task_and_deletion<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c"]).await;
    scene.created("api").await;
    let ended = scene.apply("a", "1").await;
    let queued = scene.queue("b", "1").await;
    scene.delete("c").await;
    let draft = scene.draft("draft", RunKind::Check).await;
    assert_eq!(reset(&scene).await.1, []);
    assert_eq!(scene.phases().await, []);
    assert_eq!(scene.open_requests().await, []);
    for run in [ended, queued, draft] {
        assert_eq!(scene.find_run(run).await, None);
    }
    assert_eq!(scene.acquire().await, None);
    scene.configure(&["a", "b", "c"].map(spec)).await;
    assert_eq!(scene.names().await, ["a", "b", "c"]);
    assert_eq!(scene.state("a").await.events, []);
    scene.queue("a", "1").await;
}

/// No run is taken from its worker: its task is removed when it has ended, and then another task may have the
/// name.
pub async fn a_reset_leaves_what_runs_until_it_has_ended<F: Fixture>() {
    for kind in RunKind::ENQUEUED {
        let mut scene = Scene::<F>::new(&["a", "b"]).await;
        scene.created("api").await;
        let earlier = scene.apply("a", "0").await;
        let mut leases = Vec::new();
        for name in ["a", "api"] {
            let run = scene.ask(name, kind).await;
            leases.push(scene.lease_requested(run, "1").await);
        }
        let draft = scene.draft("draft", kind).await;
        leases.push(scene.lease_requested(draft, "1").await);
        let queued = scene.queue("a", "2").await;
        assert_eq!(reset(&scene).await.1, ["a", "api", "draft"].map(task));
        scene.restart().await;
        let deleting = ["a", "api", "draft"].map(|name| (name.to_owned(), TaskPhase::Deleting));
        let mut phases = scene.phases().await;
        phases.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(phases, deleting);
        assert_eq!(scene.state("a").await.events, []);
        for run in [earlier, queued] {
            assert_eq!(scene.find_run(run).await, None);
        }
        let specs = ["a", "b"].map(spec);
        let unfinished = scene.configure(&specs).await;
        assert_eq!(unfinished.postponed, [task("a")]);
        for lease in &leases {
            let lines = vec![line("at work")];
            scene.append(lease, lines).await;
            let completed = scene.succeeded(lease).await;
            assert!(completed.tasks_changed);
            assert_eq!(scene.run(lease.run).await.status, RunStatus::Succeeded);
        }
        assert_eq!(scene.names().await, ["b"]);
        assert_eq!(scene.configure(&specs).await, PendingDeletions::default());
        assert_eq!(scene.names().await, ["a", "b"]);
        assert_eq!(scene.state("a").await.events, []);
    }
}

pub async fn reset_archives_the_rows_that_it_removes<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a", "b", "gone"]).await;
    scene.delete("gone").await;
    let running = scene.leased("b", "1").await.run;
    let lease = scene.leased("a", "1").await;
    let lines = vec![line("one"), line("two \"quoted\" \u{1F600} ${x}")];
    scene.append(&lease, lines).await;
    scene.applied(&lease).await;
    scene.tick("a", "1").await;
    let planned = scene.queue_plan("a", "2").await;
    let lease = scene.lease().await;
    scene.planned(&lease, "the plan").await;
    let waiting = scene.queue("a", "2").await;
    let (archive, left) = reset(&scene).await;
    assert_eq!(left, [task("b")]);
    scene.restart().await;

    let known = archives(&scene).await;
    assert_eq!(known.len(), 1);
    assert_eq!(known[0].id, archive);
    assert_eq!((known[0].tasks, known[0].runs), (2, 3));
    let all = rows(&scene, archive, (0, 1000)).await;
    assert_eq!(known[0].rows, all.len() as u64);
    let positions: Vec<_> = all.iter().map(|row| row.position).collect();
    assert_eq!(positions, (1..=known[0].rows).collect::<Vec<_>>());
    let tables: Vec<_> = all.iter().map(|row| row.table.as_str()).collect();
    let mut expected = vec!["tasks"; 2];
    expected.extend(["deleted_tasks", "tick_events"]);
    expected.extend(["log_lines"; 2]);
    expected.push("events");
    expected.extend(["runs"; 3]);
    assert_eq!(tables, expected);
    let contents: Vec<serde_json::Value> = all
        .iter()
        .map(|row| serde_json::from_str(&row.content).expect("rows are JSON"))
        .collect();
    assert_eq!(contents[0]["name"], "a");
    assert_eq!(contents[2]["name"], "gone");
    let runs = contents[7..10].iter().map(|run| run["id"].as_str());
    let runs: Vec<_> = runs.map(|id| id.unwrap_or_default().to_owned()).collect();
    assert!(!runs.contains(&running.to_string()));
    for run in [planned, waiting] {
        assert!(runs.contains(&run.to_string()), "{runs:?}");
    }
    assert_eq!(contents[3]["task_name"], "a");
    assert_eq!(contents[5]["line"], "two \"quoted\" \u{1F600} ${x}");
    for (table, row) in tables.into_iter().zip(&contents) {
        let described = TABLES.into_iter().find(|described| described.name == table);
        for (column, _kind) in described.expect("it is described").columns {
            assert!(row.get(column).is_some(), "{column} of {table} {row}");
        }
    }
    // Page by page it is the same.
    let mut paged = Vec::new();
    while let next = rows(&scene, archive, (paged.len() as u64, 4)).await
        && !next.is_empty()
    {
        paged.extend(next);
    }
    assert_eq!(paged, all);
    assert_eq!(rows(&scene, scene.archive_id(), (0, 10)).await, []);
}

pub async fn the_newest_archives_are_kept<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    reset(&scene).await;
    assert_eq!(archives(&scene).await, [], "there was nothing");
    let mut made = Vec::new();
    for _ in 0..ARCHIVES_KEPT + 2 {
        scene.advance(seconds(1));
        scene.configure(&[spec("a")]).await;
        made.push(reset(&scene).await.0);
    }
    made.reverse();
    let kept: Vec<_> = archives(&scene).await.iter().map(|it| it.id).collect();
    assert_eq!(kept, made[..ARCHIVES_KEPT as usize]);
    assert_eq!(rows(&scene, made[0], (0, 10)).await.len(), 1);
    let gone = made.last().expect("some were made");
    assert_eq!(rows(&scene, *gone, (0, 10)).await, []);
}
