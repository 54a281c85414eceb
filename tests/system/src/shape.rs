//! The shape of the system under test.

use std::sync::OnceLock;

/// Names the shape for tests that leave it open: `embedded`, the default, or `cluster`.
const VARIABLE: &str = "CTS_TEST_SHAPE";

static OF_THIS_RUN: OnceLock<Shape> = OnceLock::new();

/// How the system is put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `cts start` over SQLite.
    Embedded,
    /// The four services as processes of their own, over Postgres.
    Cluster,
}

impl Shape {
    /// The value of `CTS_TEST_SHAPE`; read once.
    pub fn of_this_run() -> Self {
        *OF_THIS_RUN.get_or_init(|| {
            let value = std::env::var_os(VARIABLE).unwrap_or_default();
            match value.to_str() {
                Some("" | "embedded") => Self::Embedded,
                Some("cluster") => Self::Cluster,
                _ => panic!("{VARIABLE} is embedded or cluster, not {}", value.display()),
            }
        })
    }
}
