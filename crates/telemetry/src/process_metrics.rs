//! Metrics of the process itself, by the semantic conventions (docs/telemetry.md#process).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::metrics::Meter;
use opentelemetry_semantic_conventions::metric::{
    PROCESS_CPU_TIME, PROCESS_MEMORY_USAGE, PROCESS_MEMORY_VIRTUAL, PROCESS_THREAD_COUNT,
    PROCESS_UNIX_FILE_DESCRIPTOR_COUNT, PROCESS_UPTIME,
};
use parking_lot::Mutex;
use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessesToUpdate, System};
use tokio::time::Instant;

/// A gauge: name, unit, description, the part of the process that it reads, and its value.
type Gauge = (
    &'static str,
    &'static str,
    &'static str,
    ProcessRefreshKind,
    fn(&Process) -> u64,
);

/// Reads the numbers of this process when they are observed.
#[derive(Clone)]
struct ThisProcess {
    pid: Pid,
    system: Arc<Mutex<System>>,
}

impl ThisProcess {
    fn read<T>(&self, kind: ProcessRefreshKind, value: impl Fn(&Process) -> T) -> Option<T> {
        let mut system = self.system.lock();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[self.pid]), false, kind);
        system.process(self.pid).map(value)
    }
}

/// Declares the metrics. On a system that does not show its processes only the uptime has a value.
pub(crate) fn observe(meter: &Meter) {
    let started = Instant::now();
    meter
        .f64_observable_gauge(PROCESS_UPTIME)
        .with_unit("s")
        .with_description("Time since the start of the process.")
        .with_callback(move |observer| observer.observe(started.elapsed().as_secs_f64(), &[]))
        .build();
    let Ok(system) = System::new() else {
        return;
    };
    let this = ThisProcess {
        pid: Pid::from_u32(std::process::id()),
        system: Arc::new(Mutex::new(system)),
    };
    let nothing = ProcessRefreshKind::nothing();
    let read = this.clone();
    meter
        .f64_observable_counter(PROCESS_CPU_TIME)
        .with_unit("s")
        .with_description("Processor time of the process, without its children.")
        .with_callback(move |observer| {
            let millis = read.read(nothing.with_cpu(), Process::accumulated_cpu_time);
            if let Some(millis) = millis {
                observer.observe(Duration::from_millis(millis).as_secs_f64(), &[]);
            }
        })
        .build();
    let gauges: [Gauge; 4] = [
        (
            PROCESS_MEMORY_USAGE,
            "By",
            "Resident memory of the process.",
            nothing.with_memory(),
            Process::memory,
        ),
        (
            PROCESS_MEMORY_VIRTUAL,
            "By",
            "Address space of the process.",
            nothing.with_memory(),
            Process::virtual_memory,
        ),
        (
            PROCESS_UNIX_FILE_DESCRIPTOR_COUNT,
            "{file_descriptor}",
            "Open file descriptors of the process.",
            nothing,
            |process| count(process.open_files().unwrap_or_default()),
        ),
        (
            PROCESS_THREAD_COUNT,
            "{thread}",
            "Threads of the process.",
            nothing.with_tasks(),
            |process| count(process.tasks().map_or(0, HashSet::len)),
        ),
    ];
    for (name, unit, description, kind, value) in gauges {
        let read = this.clone();
        meter
            .u64_observable_gauge(name)
            .with_unit(unit)
            .with_description(description)
            .with_callback(move |observer| {
                if let Some(value) = read.read(kind, value) {
                    observer.observe(value, &[]);
                }
            })
            .build();
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
