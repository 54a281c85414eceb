//! The short form of the suite: a minute of trouble for a small cluster, always the same.

use std::time::Duration;

use cts_faults::{Course, Plan, Size, carry_out, say};
use cts_tests::Backend;

/// Its plan has nearly every kind of fault.
const SEED: u64 = 1253;

#[tokio::test]
async fn nothing_forbidden_happens_in_a_minute_of_trouble() {
    let size = Size {
        tasks: 12,
        services: 6,
        length: Duration::from_secs(45),
    };
    let target =
        std::env::temp_dir().join(format!("cts-faults.seed-{SEED}.{}", std::process::id()));
    let course = Course {
        backend: Backend::Shared,
        keep: target,
        patience: Duration::from_mins(4),
    };
    let report = carry_out(&Plan::new(SEED, size), &course).await;
    say(&report.to_string());
    assert!(report.violations.is_empty(), "{report}");
}
