//! Five hundred random changes with faults and writes to the API between them: none is lost. Always the same ones.

use std::time::Duration;

use cts_faults::{Course, Engine, Extent, Plan, Setup, Shape, Size, carry_out, say};
use cts_tests::Backend;

const SEED: u64 = 500;

#[tokio::test]
async fn in_the_end_everything_is_applied_as_five_hundred_changes_left_it() {
    let size = Size {
        tasks: 8,
        spare: 3,
        services: 5,
    };
    let setup = Setup {
        shape: Shape::Cluster,
        engine: Engine::Real,
        backend: Backend::Shared,
        takeover_runs_all: false,
        stale_file: false,
        past: 20_000,
        followers: 4,
    };
    let plan = Plan::new(SEED, size, setup, Extent::Changes(500));
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
