//! What a gateway is made of: its settings, and the services behind it.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, FixedOffset, Utc};
use cts_listen::Size;
use cts_proto::cluster::v1::cluster_service_client::ClusterServiceClient;
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use ipnet::IpNet;
use tonic::transport::Channel;
use uuid::Uuid;

/// Gives each request its id: 128 random bits (docs/rest.md#request-ids-and-the-log).
pub type RequestIds = Arc<dyn Fn() -> Uuid + Send + Sync>;

/// Moves a moment to the UTC offset that the server's place has at that moment.
pub type LocalTime = Arc<dyn Fn(DateTime<Utc>) -> DateTime<FixedOffset> + Send + Sync>;

/// What the composition root chooses.
#[derive(Clone)]
pub struct Options {
    /// Source of request ids.
    pub request_id: RequestIds,
    /// Local time of the events' times.
    pub local_time: LocalTime,
    /// What is answered when the replica that is asked does not lead.
    pub mode: Mode,
    /// What clients may hold.
    pub limits: Limits,
    /// Proxies between clients and this gateway, which say for whom they ask.
    pub trusted_proxies: Vec<IpNet>,
}

/// What clients may hold and how long they may take (docs/rest.md#limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections.
    pub connections: Size,
    /// Logs that are read or followed, and followers of events.
    pub streams: Size,
    /// Requests that wait for a run.
    pub waiting: Size,
    /// From the first byte of a request to its last.
    pub request_time: Duration,
    /// Bytes of an answer that a client has to take in a second, where bytes wait for it.
    pub answer_rate: NonZeroU32,
    /// Bytes of an answer, but for logs and events.
    pub answer_bytes: usize,
    /// Names of services in a list of a request.
    pub names: usize,
}

/// What task and status endpoints answer when the replica that is asked does not lead
/// (docs/rest.md#strict-followers).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// The same as with the leader.
    #[default]
    Transparent,
    /// That the leader should be asked, as a follower of the reference does (docs/rest.md#strict-followers). Of use
    /// where one gateway belongs to one replica. Without high availability the same as
    /// [`Mode::Transparent`].
    StrictFollower,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("mode", &self.mode)
            .field("limits", &self.limits)
            .field("trusted_proxies", &self.trusted_proxies)
            .finish_non_exhaustive()
    }
}

/// The services behind the gateway, each of them served by every scheduler replica.
#[derive(Debug, Clone)]
pub struct Deps {
    /// Tasks.
    pub tasks: TaskServiceClient<Channel>,
    /// The replicas.
    pub cluster: ClusterServiceClient<Channel>,
    /// Runs, and how much work waits.
    pub runs: RunServiceClient<Channel>,
    /// What Terraform said.
    pub logs: LogServiceClient<Channel>,
}
