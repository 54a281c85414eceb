//! Messages, clients and servers generated from `proto/`, the form of messages in the REST API ([`json`]) and
//! for people ([`overview`]), and the permitted callers of each call ([`calls`]).
//!
//! The generated files are committed, so that a build needs neither `protoc` nor `buf`. The test
//! `generated` writes them anew from `proto/` and fails if they were not up to date.

pub mod calls;
pub mod json;
mod log_search;
pub mod overview;
pub mod run_report;
pub mod time;
mod time_text;

/// Watched data of Consul, and its changes.
pub mod watch {
    /// Version 1.
    pub mod v1 {
        include!("gen/cts.watch.v1.rs");
    }
}

/// Tasks, their states and events.
pub mod task {
    /// Version 1.
    pub mod v1 {
        include!("gen/cts.task.v1.rs");
    }
}

/// Leases and runs.
pub mod run {
    /// Version 1.
    pub mod v1 {
        include!("gen/cts.run.v1.rs");
    }
}

/// Terraform's output.
pub mod log {
    /// Version 1.
    pub mod v1 {
        include!("gen/cts.log.v1.rs");
    }
}

/// The scheduler replicas.
pub mod cluster {
    /// Version 1.
    pub mod v1 {
        include!("gen/cts.cluster.v1.rs");
    }
}

/// Workers and what they can do.
pub mod worker {
    /// Version 1.
    pub mod v1 {
        include!("gen/cts.worker.v1.rs");
    }
}

/// Credentials of people and programs, and the record of their calls.
pub mod access {
    /// Version 1.
    pub mod v1 {
        include!("gen/cts.access.v1.rs");
    }
}

/// Packed modules.
pub mod bundle {
    /// Version 1.
    pub mod v1 {
        include!("gen/cts.bundle.v1.rs");
    }
}

/// Descriptors of all files, for server reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("gen/descriptors.bin");
