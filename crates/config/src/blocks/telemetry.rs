//! `telemetry`, a cts-only block (docs/telemetry.md#configuration).

mod otlp;

use std::net::SocketAddr;

use crate::settings::settings;

pub use self::otlp::{OtlpConfig, OtlpSignals};

settings! {
    /// Measurements and traces of a process, and where they go.
    #[derive(Debug, Clone)]
    pub struct TelemetryConfig {
        /// `listen`: address of metrics and health checks over HTTP; `None` for no listener.
        pub listen: Option<SocketAddr> = None
            => socket("127.0.0.1:9464") or "metrics are not served",
        /// `task_names`: the most names of tasks that are values of a label, up to 10,000; 200 by default.
        pub task_names: u32 = 200 => number(&(0..=10_000)),
        /// `traces_kept`: percentage of the traces of successful runs that is exported; 100 by default.
        pub traces_kept: u32 = 100 => number(&(0..=100)),
        /// `terraform`: whether Terraform gets the settings of the exporter.
        pub terraform: bool = false => flag,
        /// `otlp`; without it nothing is exported.
        pub otlp: Option<OtlpConfig> = None => optional_block or "nothing is exported",
    }
}
