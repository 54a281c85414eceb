//! `telemetry`, a cts-only block (docs/telemetry.md#configuration).

mod otlp;

use std::net::SocketAddr;
use std::ops::RangeInclusive;

use crate::keys::{Keyed, Keys};

pub use self::otlp::{OtlpConfig, OtlpSignals};

const TASK_NAMES_LIMITS: RangeInclusive<u32> = 0..=10_000;
const PERCENT: RangeInclusive<u32> = 0..=100;

/// Measurements and traces of a process, and where they go.
#[derive(Debug, Clone)]
pub struct TelemetryConfig {
    /// `listen`: address of metrics and health checks over HTTP; `None` for no listener.
    pub listen: Option<SocketAddr>,
    /// `task_names`: the most names of tasks that are values of a label, up to 10,000; 200 by default.
    pub task_names: u32,
    /// `traces_kept`: percentage of the traces of successful runs that is exported; 100 by default.
    pub traces_kept: u32,
    /// `terraform`: whether Terraform gets the settings of the exporter.
    pub terraform: bool,
    /// `otlp`; without it nothing is exported.
    pub otlp: Option<OtlpConfig>,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            listen: None,
            task_names: 200,
            traces_kept: 100,
            terraform: false,
            otlp: None,
        }
    }
}

impl Keyed for TelemetryConfig {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        keys.socket("listen", &mut self.listen, "127.0.0.1:9464")
            .or_note("metrics are not served");
        keys.number("task_names", &mut self.task_names, &TASK_NAMES_LIMITS);
        keys.number("traces_kept", &mut self.traces_kept, &PERCENT);
        keys.flag("terraform", &mut self.terraform);
        keys.optional_block("otlp", &mut self.otlp)
            .or_note("nothing is exported");
    }
}
