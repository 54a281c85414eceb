//! A reset of more rows than fit into one of its transactions.

use std::time::Duration;

use cts_core::ArchiveId;
use cts_store::Store as _;
use cts_store_conformance::spec;
use cts_testkit::History;
use uuid::Uuid;

use crate::fixture::{execute, migrated, number, settings};
use crate::outage::lead;

const TABLES: [&str; 5] = ["tasks", "deleted_tasks", "runs", "events", "log_lines"];

#[tokio::test]
async fn all_of_a_long_history_is_moved_into_the_archive() {
    let url = migrated().await;
    let store = cts_store_postgres::connect(&settings(&url)).await.unwrap();
    let leader = lead(&store, "one").await;
    let specs: Vec<_> = (0..10).map(|n| spec(&format!("task-{n}"))).collect();
    store.replace_config_tasks(leader, &specs).await.unwrap();
    let history = History {
        runs_per_task: 45,
        lines_per_run: 3,
        span: Duration::from_hours(1),
    };
    history.add(&url).await;
    execute(
        &url,
        "INSERT INTO log_lines (run_id, position, stream, line)
         SELECT (SELECT max(id::TEXT)::UUID FROM runs), n, 'stdout', 'a long log'
         FROM generate_series(1000, 25999) n",
    )
    .await;
    let mut rows = 0;
    for table in TABLES {
        rows += number(&url, &format!("SELECT count(*) FROM {table}")).await;
    }

    let id = ArchiveId::from_uuid(Uuid::now_v7());
    store.reset_tasks(leader, id).await.unwrap();

    for table in TABLES {
        let left = number(&url, &format!("SELECT count(*) FROM {table}")).await;
        assert_eq!(left, 0, "{table}");
    }
    let archives = store.archives().await.unwrap();
    assert_eq!(archives.len(), 1);
    assert_eq!((archives[0].tasks, archives[0].runs), (10, 450));
    assert_eq!(archives[0].rows, u64::try_from(rows).unwrap());
    let positions = "SELECT count(DISTINCT position) FROM archived_rows";
    assert_eq!(number(&url, positions).await, rows);
    store.close().await;
}
