//! How the Go runtime of Terraform and its plugins uses memory (docs/terraform.md#memory-and-processor-time).

/// Share of the memory below which a limit would cost more than it saves: a large provider needs about this much.
const LEAST_LIMIT: u64 = 512 * 1024 * 1024;

/// Number of processes of one run that may become large: Terraform and a provider.
const LARGE_PROCESSES: u64 = 2;

/// Settings of memory for Terraform and its plugins, unless their environment has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoRuntime {
    /// Percentage by which the heap may grow before garbage is collected.
    pub gc_percent: u32,
    /// Bytes from which on a process collects garbage more often.
    pub memory_limit: Option<u64>,
}

impl GoRuntime {
    /// Settings for a worker with `slots` slots (at least one) that may use `memory` bytes, if the limit is known.
    pub fn of(gc_percent: u32, slots: usize, memory: Option<u64>) -> Self {
        let processes =
            LARGE_PROCESSES.saturating_mul(u64::try_from(slots.max(1)).unwrap_or(u64::MAX));
        let memory_limit = memory.map(|memory| (memory / processes).max(LEAST_LIMIT));
        Self {
            gc_percent,
            memory_limit,
        }
    }

    /// Variables of the environment with these settings.
    pub fn variables(self) -> impl Iterator<Item = (&'static str, String)> {
        let limit = self
            .memory_limit
            .map(|limit| ("GOMEMLIMIT", limit.to_string()));
        std::iter::once(("GOGC", self.gc_percent.to_string())).chain(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1024 * 1024 * 1024;

    #[test]
    fn the_memory_is_shared_by_the_processes_of_all_slots() {
        let limit = |slots, memory| GoRuntime::of(400, slots, Some(memory)).memory_limit;
        assert_eq!(limit(4, 24 * GIB), Some(3 * GIB));
        assert_eq!(limit(4, GIB), Some(LEAST_LIMIT), "it would not fit");
        assert_eq!(limit(0, 8 * GIB), Some(4 * GIB));
        assert_eq!(limit(usize::MAX, 8 * GIB), Some(LEAST_LIMIT));
        assert_eq!(GoRuntime::of(400, 4, None).memory_limit, None);
    }

    #[test]
    fn the_variables_are_in_percent_and_bytes() {
        let all: Vec<_> = GoRuntime::of(200, 1, Some(2 * GIB)).variables().collect();
        assert_eq!(
            all,
            [
                ("GOGC", "200".to_owned()),
                ("GOMEMLIMIT", "1073741824".to_owned())
            ]
        );
        let percent: Vec<_> = GoRuntime::of(50, 1, None).variables().collect();
        assert_eq!(percent, [("GOGC", "50".to_owned())]);
    }
}
