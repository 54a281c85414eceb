//! `telemetry`, a cts-only block (docs/telemetry.md#configuration).

mod otlp;

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::Path;

use crate::decode::block::Block;
use crate::decode::socket::decode_socket;

use self::otlp::decode_otlp;
pub use self::otlp::{OtlpConfig, OtlpSignals};

const DEFAULT_TASK_NAMES: u32 = 200;
const TASK_NAMES_LIMITS: RangeInclusive<u32> = 0..=10_000;

const DEFAULT_TRACES_KEPT: u32 = 100;
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
            task_names: DEFAULT_TASK_NAMES,
            traces_kept: DEFAULT_TRACES_KEPT,
            terraform: false,
            otlp: None,
        }
    }
}

pub(crate) fn decode_telemetry(mut block: Block<'_>, current_dir: &Path) -> TelemetryConfig {
    let default = TelemetryConfig::default();
    let listen = decode_socket(&mut block, "listen", "127.0.0.1:9464");
    let task_names = block.number_within("task_names", &TASK_NAMES_LIMITS);
    let traces_kept = block.number_within("traces_kept", &PERCENT);
    let terraform = block.flag("terraform").unwrap_or(false);
    let otlp = block.block("otlp");
    let otlp = otlp.and_then(|otlp| decode_otlp(otlp, current_dir));
    block.finish();
    TelemetryConfig {
        listen,
        task_names: task_names.unwrap_or(default.task_names),
        traces_kept: traces_kept.unwrap_or(default.traces_kept),
        terraform,
        otlp,
    }
}
