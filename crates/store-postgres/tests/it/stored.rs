//! Contents of the tables.

use cts_core::runs::AttemptOutcome;
use cts_store::{LeaseError, StoreError};
use cts_store_conformance::{
    Scene, bytes_of, held_run, input, kept_rules, revoked_sessions, spec, stored_input, task,
};

use crate::fixture::PostgresFixture;

type Subject = Scene<PostgresFixture>;

#[tokio::test]
async fn equal_inputs_are_stored_once_and_compressed() {
    let scene = Subject::new(&["a", "b"]).await;
    let text = "text ".repeat(10_000);
    scene.queue("a", &text).await;
    scene.queue("b", &text).await;
    let fixture = scene.fixture();
    assert_eq!(fixture.number("SELECT count(*) FROM inputs").await, 1);
    let length = "SELECT sum(length(content))::BIGINT FROM contents";
    let stored = fixture.number(length).await;
    assert!(stored < 1000, "{stored} bytes");
    assert_eq!(fixture.number("SELECT count(*) FROM contents").await, 2);
    let input = input(&text);
    let stored = stored_input(&*scene.store(), input.hash).await;
    assert_eq!(stored, Some(bytes_of(&input)));
}

#[tokio::test]
async fn skips_are_counted() {
    let scene = Subject::new(&["a"]).await;
    scene.apply("a", "1").await;
    scene.enqueue("a", "1").await;
    scene.enqueue("a", "1").await;
    let skipped = scene.fixture().number("SELECT skipped FROM tasks").await;
    assert_eq!(skipped, 2);
}

#[tokio::test]
async fn a_row_that_this_program_never_writes_is_told() {
    let changes = [
        ("UPDATE tasks SET spec = '{}'", "tasks", "spec"),
        (
            "UPDATE tasks SET event_config = '7'",
            "tasks",
            "event_config",
        ),
    ];
    for (tamper, table, column) in changes {
        let scene = Subject::new(&["a"]).await;
        scene.fixture().tamper(tamper).await;
        let store = scene.store();
        let error = match column {
            "spec" => store.tasks().await.unwrap_err(),
            _ => store.task_states(None).await.unwrap_err(),
        };
        let StoreError::CorruptRow {
            table: at,
            column: of,
            row,
            ..
        } = &error
        else {
            panic!("{error:?}");
        };
        assert_eq!((*at, *of, row.as_str()), (table, column, "a"));
    }
}

#[tokio::test]
async fn statements_of_earlier_programs_leave_held_runs_in_the_queue() {
    let scene = held_run::held::<PostgresFixture>().await;
    for statement in held_run::EARLIER_STATEMENTS {
        scene.fixture().tamper(statement).await;
        assert_eq!(scene.acquire().await, None, "{statement}");
    }
    scene.store().release_brake(None).await.unwrap();
    scene.lease().await;
}

#[tokio::test]
async fn statements_of_earlier_programs_leave_rules_of_consent_in_force() {
    let scene = kept_rules::ruled_by_both::<PostgresFixture>().await;
    let change = kept_rules::EARLIER_CHANGE;
    scene.fixture().tamper(change).await;
    kept_rules::keeps_its_rules(&scene).await;
    let scene = kept_rules::ruled_by_both::<PostgresFixture>().await;
    let deletion = kept_rules::EARLIER_DELETION;
    scene.fixture().tamper(deletion).await;
    kept_rules::keeps_its_deleted_rule(&scene).await;
}

#[tokio::test]
async fn a_token_that_an_earlier_program_revokes_takes_its_sessions_along() {
    let scene = revoked_sessions::with_a_token::<PostgresFixture>().await;
    let fixture = scene.fixture();
    fixture.tamper(revoked_sessions::EARLIER_REVOCATION).await;
    let rows = async || fixture.number("SELECT count(*) FROM sessions").await;
    revoked_sessions::ends_with_its_token(&scene, rows).await;
}

#[tokio::test]
async fn a_run_that_cannot_be_read_is_not_leased() {
    let scene = Subject::new(&["a"]).await;
    scene.queue("a", "1").await;
    scene
        .fixture()
        .tamper("UPDATE runs SET attempts = -7")
        .await;
    let acquired = scene.store().acquire(&crate::outage::claim("w")).await;
    assert!(
        matches!(acquired, Err(StoreError::CorruptRow { .. })),
        "{acquired:?}"
    );
    let active = "SELECT count(*) FROM tasks WHERE active_run IS NOT NULL";
    assert_eq!(scene.fixture().number(active).await, 0);
    let queued = "SELECT count(*) FROM runs WHERE status = 'queued'";
    assert_eq!(scene.fixture().number(queued).await, 1);
}

#[tokio::test]
async fn time_goes_as_the_clock_of_the_database_does() {
    let url = crate::fixture::migrated().await;
    let off = "SELECT abs(cts_now() - (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT)";
    assert!(crate::fixture::number(&url, off).await < 5_000_000);
    let stands = "SELECT count(DISTINCT cts_now()) FROM generate_series(1, 100000)";
    assert_eq!(crate::fixture::number(&url, stands).await, 1);
}

#[tokio::test]
async fn a_null_character_in_a_task_is_kept() {
    let mut nasty = spec("a");
    nasty.definition.description = "before\0after".to_owned();
    let scene = Subject::configured(std::slice::from_ref(&nasty)).await;
    let stored = scene.store().task(&task("a")).await.unwrap().unwrap();
    assert_eq!(stored.spec, nasty);
}

#[tokio::test]
async fn a_refused_call_hides_no_run_from_those_who_skip_locked_ones() {
    let scene = Subject::new(&["a"]).await;
    let mut lease = scene.leased("a", "1").await;
    for _ in 0..100 {
        scene.interrupted(&lease).await;
        let late = scene.completion(&lease, AttemptOutcome::Interrupted);
        let refused = scene.store().complete(late).await;
        assert!(
            matches!(refused, Err(LeaseError::Lost { .. })),
            "{refused:?}"
        );
        lease = scene.lease().await;
    }
}
