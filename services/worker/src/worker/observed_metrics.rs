//! Metrics of a worker that are read when they are observed (docs/telemetry.md#worker).

use std::path::Path;
use std::sync::Weak;

use nix::sys::statvfs::statvfs;
use opentelemetry::metrics::Meter;

use crate::shared::Shared;

/// A gauge: name, unit, description and value.
type Gauge = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Shared) -> Option<u64>,
);

/// Declares the metrics that are read from the worker when they are observed.
pub(crate) fn observe(meter: &Meter, shared: &Weak<Shared>) {
    let gauges: [Gauge; 4] = [
        (
            "cts.worker.slots",
            "{slot}",
            "Slots of this worker.",
            |shared| Some(shared.options.record.slots.into()),
        ),
        (
            "cts.worker.slots.busy",
            "{slot}",
            "Slots of this worker that have a run.",
            |shared| Some(shared.slots.busy()),
        ),
        (
            "cts.worker.healthy",
            "{worker}",
            "1 while the own check of this worker succeeds, else 0: then the worker takes no new runs.",
            |shared| Some((!shared.health.has_problem()).into()),
        ),
        (
            "cts.worker.working_directory.free",
            "By",
            "Free space where this worker has its task directories.",
            |shared| free_space(&shared.options.working_dir),
        ),
    ];
    for (name, unit, description, value) in gauges {
        let of = Weak::clone(shared);
        meter
            .u64_observable_gauge(name)
            .with_unit(unit)
            .with_description(description)
            .with_callback(move |observer| {
                if let Some(value) = of.upgrade().and_then(|shared| value(&shared)) {
                    observer.observe(value, &[]);
                }
            })
            .build();
    }
}

/// Bytes that an unprivileged process may still write; `None` if the directory does not exist.
fn free_space(directory: &Path) -> Option<u64> {
    let space = statvfs(directory).ok()?;
    Some(
        space
            .blocks_available()
            .saturating_mul(space.fragment_size()),
    )
}
