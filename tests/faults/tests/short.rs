//! The short form of the suite: less than a minute of trouble for a small cluster, always the same.

use std::time::Duration;

use cts_faults::{Course, Engine, Extent, Plan, Setup, Shape, Size, carry_out, say};
use cts_tests::Backend;

/// Its plan has many kinds of faults.
const SEED: u64 = 1253;

#[tokio::test]
async fn nothing_forbidden_happens_in_a_minute_of_trouble() {
    let size = Size {
        tasks: 12,
        spare: 4,
        services: 6,
    };
    let setup = Setup {
        shape: Shape::Cluster,
        engine: Engine::Real,
        backend: Backend::Shared,
        takeover_runs_all: false,
        stale_file: false,
        past: 100_000,
        followers: 4,
    };
    let plan = Plan::new(SEED, size, setup, Extent::Time(Duration::from_secs(30)));
    let keep = std::env::temp_dir().join(format!("cts-faults.seed-{SEED}.{}", std::process::id()));
    let course = Course {
        keep,
        always_keep: false,
        patience: Duration::from_mins(4),
    };
    let report = carry_out(&plan, &course).await;
    say(&report.to_string());
    assert!(report.violations.is_empty(), "{report}");
}
