//! Parts of a gateway: its settings, and the services that it calls.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use cts_access::{Issuers, LoginSettings};
use cts_core::Clock;
use cts_core::callers::PlanValues;
use cts_listen::{Browsers, ClientLimit};
pub use cts_page::Site;
use cts_proto::access::v1::access_service_client::AccessServiceClient;
use cts_proto::access::v1::session_service_client::SessionServiceClient;
use cts_proto::cluster::v1::cluster_service_client::ClusterServiceClient;
use cts_proto::cluster::v1::follow_service_client::FollowServiceClient;
pub use cts_proto::json::LocalTime;
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::run::v1::approval_service_client::ApprovalServiceClient;
use cts_proto::run::v1::plan_service_client::PlanServiceClient;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use cts_proto::worker::v1::worker_service_client::WorkerServiceClient;
use cts_rpc::Peers;
use cts_telemetry::Signals;
use ipnet::IpNet;
use tonic::transport::Channel;
use uuid::Uuid;

/// Gives each request its id: 128 random bits (docs/rest.md#request-ids-and-the-log).
pub type RequestIds = Arc<dyn Fn() -> Uuid + Send + Sync>;

/// Settings that the composition root chooses.
#[derive(Clone)]
pub struct Options {
    /// Source of request ids.
    pub request_id: RequestIds,
    /// Local time of the events' times.
    pub local_time: LocalTime,
    /// Answer to a request at a replica that does not lead.
    pub mode: Mode,
    /// Resources that clients may use.
    pub limits: Limits,
    /// Proxies between clients and this gateway, which name their client.
    pub trusted_proxies: Vec<IpNet>,
    /// Header in which the proxies name the client.
    pub forwarded_header: ForwardedHeader,
    /// Names and pages that browsers may come by.
    pub browsers: Browsers,
    /// Access control.
    pub access: AccessOptions,
    /// The page; `None` without it.
    pub page: Option<PageOptions>,
}

/// Settings of the page (docs/page.md).
#[derive(Debug, Clone)]
pub struct PageOptions {
    /// Its address, name and colour.
    pub site: Site,
    /// Origin under which people open the page, as browsers write it; `None` for any known host.
    pub url: Option<String>,
    /// How long a login lasts.
    pub session: Duration,
    /// The login at an issuer of [`AccessOptions::issuers`]; `None` without it.
    pub login: Option<LoginSettings>,
}

/// Settings of access control (docs/access.md).
#[derive(Debug, Clone)]
pub struct AccessOptions {
    /// Whether each request needs a credential with a role; otherwise every client may do everything.
    pub required: bool,
    /// DNS names of certificates name roles only below this domain; `None` for any domain.
    pub domain: Option<String>,
    /// The role from which on callers see the values of plans, the texts of plans, and logs.
    pub plan_values: PlanValues,
    /// Issuers whose tokens are accepted in addition to the static tokens of the schedulers.
    pub issuers: Issuers,
    /// Whether people log in on the page, so that the gateway follows their sessions.
    pub logins: bool,
    /// Decides whether tokens and sessions have expired.
    pub clock: Arc<dyn Clock>,
}

/// Resources that clients may use and how long they may take (docs/rest.md#limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub connections: ClientLimit,
    /// Logs that are read or followed, and followers of events and versions.
    pub streams: ClientLimit,
    /// Requests that wait for a run.
    pub waiting: ClientLimit,
    /// Longest time from the first byte of a request to its last.
    pub request_time: Duration,
    /// Bytes per second that a client has to take of an answer while bytes wait.
    pub answer_rate: NonZeroU32,
    /// Bytes of an answer, but for logs, events and versions.
    pub answer_bytes: usize,
    /// Names of services in a list of a request.
    pub names: usize,
}

/// The header in which trusted proxies name the client that they forward for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

/// Answer of task and status endpoints if the called replica does not lead (docs/rest.md#strict-followers).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Answers as at the leader.
    #[default]
    Transparent,
    /// Refers the client to the leader, as a follower of the reference does (docs/rest.md#strict-followers). Useful
    /// where one gateway belongs to one replica. Without high availability this equals [`Mode::Transparent`].
    StrictFollower,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("mode", &self.mode)
            .field("limits", &self.limits)
            .field("trusted_proxies", &self.trusted_proxies)
            .field("forwarded_header", &self.forwarded_header)
            .field("access", &self.access)
            .field("page", &self.page)
            .finish_non_exhaustive()
    }
}

/// The services that the gateway calls, each of them served by every scheduler replica.
#[derive(Debug, Clone)]
pub struct Deps {
    pub tasks: TaskServiceClient<Channel>,
    /// The replicas.
    pub cluster: ClusterServiceClient<Channel>,
    /// Versions of answers.
    pub follow: FollowServiceClient<Channel>,
    pub workers: WorkerServiceClient<Channel>,
    /// Runs, and how much work waits.
    pub runs: RunServiceClient<Channel>,
    /// Output of Terraform.
    pub logs: LogServiceClient<Channel>,
    /// Plans of runs as data.
    pub plans: PlanServiceClient<Channel>,
    /// Consent to the effects of plans.
    pub approvals: ApprovalServiceClient<Channel>,
    /// Tokens, and records of calls.
    pub access: AccessServiceClient<Channel>,
    /// Sessions of the page.
    pub sessions: SessionServiceClient<Channel>,
    /// The schedulers: while none is healthy, requests are answered without a call.
    pub schedulers: Peers,
    /// Records metrics and traces.
    pub signals: Signals,
}
