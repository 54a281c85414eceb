//! Behaviours of moving between stores: builds a store with some rows of every table, and reads all of its
//! content.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use cts_core::lease::PlanKey;
use cts_core::runs::{AttemptOutcome, RunKind};
use cts_core::state::{Keep, StateDecision, StateReport, TerraformState};
use cts_core::{Digest, Requirement};
use futures::TryStreamExt as _;

use crate::Fixture;
use crate::access_store;
use crate::asking::{ruled, waiting};
use crate::brake;
use crate::configurations::configuration;
use crate::details::details;
use crate::recorded_plans::record;
use crate::remote_runs::remote_run;
use crate::scene::{Scene, guarded, line, member, noise, plan, spec, task};
use crate::terraform_states::conflict;
use cts_store::{EnqueueRequest, LogLine, LogStream};
use cts_store_sql::export::SqlExport;
use cts_store_sql::page::Cells;
use cts_store_sql::tables::TABLES;

/// A row by the names of its columns. Bytes stand as their digest.
pub type MovedRow = BTreeMap<&'static str, Option<String>>;

/// Everything that an export gives, by table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents(BTreeMap<&'static str, Vec<MovedRow>>);

impl Contents {
    /// Reads everything, and asserts that it can be read and has the counts of the export.
    pub async fn of(export: &mut SqlExport) -> Self {
        let mut all = BTreeMap::new();
        for table in TABLES {
            let mut rows = Vec::new();
            let mut pages = export.pages(table);
            while let Some(page) = pages.try_next().await.expect("rows can be read") {
                let first = rows.len();
                rows.resize(first + page.rows, MovedRow::new());
                for ((name, _kind), cells) in table.moving_columns().zip(page.columns) {
                    for (row, cell) in rows[first..].iter_mut().zip(texts(cells)) {
                        row.insert(name, cell);
                    }
                }
            }
            all.insert(table.name, rows);
        }
        for (table, rows) in export.counts().await.expect("rows can be counted") {
            assert_eq!(all[table].len() as u64, rows, "{table}");
        }
        Self(all)
    }

    /// The rows of each table.
    pub fn tables(&self) -> impl Iterator<Item = (&'static str, &[MovedRow])> {
        self.0.iter().map(|(table, rows)| (*table, &**rows))
    }

    /// The values of a column that is never `NULL`.
    pub fn column<T: FromStr<Err: fmt::Debug>>(&self, table: &str, column: &str) -> Vec<T> {
        let values = self.0[table].iter().map(|row| row[column].as_deref());
        let values = values.map(|value| value.expect("it is not NULL").parse());
        values.map(|value| value.expect("it is valid")).collect()
    }
}

fn texts(cells: Cells) -> Vec<Option<String>> {
    fn each<T>(cells: Vec<Option<T>>, text: impl Fn(T) -> String) -> Vec<Option<String>> {
        cells.into_iter().map(|cell| cell.map(&text)).collect()
    }
    match cells {
        Cells::Texts(cells) => cells,
        Cells::Integers(cells) => each(cells, |it| it.to_string()),
        Cells::Flags(cells) => each(cells, |it| it.to_string()),
        Cells::Bytes(cells) => each(cells, |it| Digest::of(&it).to_string()),
        Cells::Ids(cells) => each(cells, |it| it.to_string()),
    }
}

/// Tasks of every kind, runs in every state, and texts that are hard to store.
pub async fn richly_filled<F: Fixture>() -> Scene<F> {
    let names = ["été", "steady", "a·b", "_", "busy", "overtaken", "planned"];
    let mut specs: Vec<_> = names.map(spec).into();
    specs[0].definition.description = String::from("before\0after \u{1F600} \"'`;\\ -- ${x}");
    specs[1].requirement = Requirement {
        driver: "terraform".to_owned(),
        version: Some("1.9.8".to_owned()),
        bundle: false,
        ..Requirement::default()
    };
    specs[1].file_settings.skip_unchanged = false;
    specs.push(spec("off"));
    specs[7].enabled = false;
    specs[7].file_settings.retry_failed = false;
    specs.extend(["deleted", "changed", "guarded", "stateful"].map(spec));
    specs.push(ruled("asks"));
    let scene = Scene::<F>::configured(&specs).await;
    access_store::filled(&scene).await;
    let (store, fleet) = (scene.store(), brake::fleet(9, false));
    let noted = store.note_brake(scene.leader(), 0, &fleet).await;
    noted.expect("the leader can note");

    // A failed run with a retry that waits, and texts that are hard to store.
    let lease = scene.leased("été", "{\"null\":\"\\u0000\"}").await;
    let lines = vec![
        line(""),
        line("x".repeat(64 * 1024)),
        line("\u{1b}[1m\u{1F600} \"'`;\\ \t\r ${x} %{y} \u{FFFD}"),
        LogLine {
            stream: LogStream::Stderr.into(),
            text: "Error: no\u{2028}".to_owned(),
        },
    ];
    scene.append(&lease, lines).await;
    let failed = scene.failed(&lease, "\u{0} ' \" \u{1F600}\n").await;
    scene.advance(failed.next_due.expect("there is another attempt"));
    scene.fail_thrice(scene.lease().await).await;

    // Applied more than once, one of them with a plan, and skipped.
    let lease = scene.leased("a·b", &"long ".repeat(64 * 1024 / 5)).await;
    let recorded = record(&scene, &lease, &noise(200_000)).await;
    recorded.expect("a live lease can record");
    scene.applied(&lease).await;
    let (store, key) = (scene.store(), PlanKey::new([3; 32]));
    store.plan_key(&key).await.expect("a key can be stored");
    scene.apply("a·b", "2").await;
    scene.enqueue("a·b", "2").await;
    for _ in 0..7 {
        scene.tick("a·b", "2").await;
    }

    waiting(&scene, "asks", "1", "e").await;

    // Guarded, and held.
    let request = |instances: u32| EnqueueRequest {
        guarded: Some(guarded("50%", &[("web", instances)])),
        ..scene.request("guarded", &instances.to_string())
    };
    scene.request_all(vec![request(9)]).await;
    let lease = scene.lease().await;
    scene.applied(&lease).await;
    scene.request_all(vec![request(1)]).await;

    // With a state that has moved, a conflict and two decisions.
    let lease = scene.leased("stateful", "1").await;
    let (run, epoch) = (lease.run, lease.epoch);
    let state = TerraformState::new("a-lineage", 7).expect("a lineage");
    for report in [StateReport::Moved(state), StateReport::Refused(conflict())] {
        let store = scene.store();
        let recorded = store.record_state(run, &lease.holder, epoch, &report);
        recorded.await.expect("a live lease can report");
    }
    // And a remote run.
    let (store, remote) = (scene.store(), remote_run(1));
    let recorded = store.record_remote_run(run, &lease.holder, epoch, &remote);
    recorded.await.expect("a live lease can record");
    scene.applied(&lease).await;
    for decision in [
        StateDecision::Keep(Keep::Old),
        StateDecision::From(task("earlier")),
    ] {
        let (store, name) = (scene.store(), task("stateful"));
        let decided = store.decide_terraform_state(&name, &decision, scene.run_id());
        decided.await.expect("there is a conflict");
    }

    // A cancelled run, because the task went back to the applied input.
    scene.apply("_", "1").await;
    scene.queue_caused("_", "2", &[1, 2]).await;
    scene.enqueue("_", "1").await;

    // Running for the second time.
    let lease = scene.leased("busy", "1").await;
    scene.interrupted(&lease).await;
    let lease = scene.lease().await;
    scene.append(&lease, vec![line("at work")]).await;

    // A running run, with a newer one queued after it.
    scene.leased("overtaken", "1").await;
    scene.queue("overtaken", "2").await;

    let adopted = scene
        .store()
        .adopt_configuration(
            scene.leader(),
            &member("leader"),
            &configuration(&specs),
            true,
        )
        .await;
    adopted.expect("the leader can adopt");

    of_the_api(&scene).await;
    plans(&scene).await;
    let requested = scene.ask("made", RunKind::Apply).await;
    scene.enqueue_requested(requested, "2").await;
    scene.queue("steady", "1").await;
    for bytes in [noise(300_000), Vec::new()] {
        let stored = scene.store().store_bundle(Digest::of(&bytes), &bytes).await;
        stored.expect("bundles can be stored");
    }
    scene
}

/// Tasks that were made, changed and deleted while the program ran, and drafts, which do not move.
async fn of_the_api<F: Fixture>(scene: &Scene<F>) {
    scene.created("made").await;
    scene.apply("made", "1").await;
    scene.enable("changed", false).await;
    scene.delete("deleted").await;
    let failed = scene.draft("failed", RunKind::Check).await;
    let lease = scene.lease_requested(failed, "3").await;
    scene.append(&lease, vec![line("does not move")]).await;
    scene.failed(&lease, "no").await;
    scene.draft("waits", RunKind::Plan).await;
}

/// Plans in every state, and a requested run after one.
async fn plans<F: Fixture>(scene: &Scene<F>) {
    let long = "a plan\0 \u{1F600}\n".repeat(64 * 1024);
    for text in ["", "short\0", &long] {
        scene.queue_plan("planned", "1").await;
        let lease = scene.lease().await;
        let mut planned = plan(text);
        planned.changes_present = text.is_empty();
        let mut completion = scene.completion(&lease, AttemptOutcome::Planned(planned));
        // The scheduler bounds the texts of details.
        completion.details = Some(details(&text[..text.floor_char_boundary(4096)]));
        scene.complete(completion).await;
    }
    scene.queue_plan("planned", "1").await;
    scene.failed(&scene.lease().await, "no plan\0").await;
    scene.queue_plan("planned", "1").await;
    scene.lease().await;
    scene.queue_plan("planned", "2").await;
    scene.queue_plan("off", "2").await;
    let run = scene.ask("planned", RunKind::Apply).await;
    scene.enqueue_requested(run, "3").await;
}
