//! The gateway, the services that it calls, and a client that shows every byte.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use chrono::FixedOffset;
use cts_access::{IssuerSettings, Issuers};
use cts_core::callers::PlanValues;
use cts_gateway::{
    AccessOptions, Deps, ForwardedHeader, Gateway, Limits, Mode, Options, PageOptions,
};
use cts_listen::{Browsers, ClientLimit};
use cts_proto::access::v1::access_service_client::AccessServiceClient;
use cts_proto::access::v1::access_service_server::AccessServiceServer;
use cts_proto::access::v1::session_service_client::SessionServiceClient;
use cts_proto::access::v1::session_service_server::SessionServiceServer;
use cts_proto::cluster::v1::cluster_service_client::ClusterServiceClient;
use cts_proto::cluster::v1::cluster_service_server::ClusterServiceServer;
use cts_proto::cluster::v1::follow_service_client::FollowServiceClient;
use cts_proto::cluster::v1::follow_service_server::FollowServiceServer;
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::log::v1::log_service_server::LogServiceServer;
use cts_proto::run::v1::approval_service_client::ApprovalServiceClient;
use cts_proto::run::v1::approval_service_server::ApprovalServiceServer;
use cts_proto::run::v1::plan_service_client::PlanServiceClient;
use cts_proto::run::v1::plan_service_server::PlanServiceServer;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::run::v1::run_service_server::RunServiceServer;
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use cts_proto::task::v1::task_service_server::TaskServiceServer;
use cts_proto::worker::v1::worker_service_client::WorkerServiceClient;
use cts_rpc::{Endpoints, Peers, memory_transport};
use cts_runtime::SystemClock;
use cts_telemetry::Signals;
use cts_tls::ServerTls;
use ipnet::IpNet;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use uuid::Uuid;

use crate::access_service::MemoryAccess;
use crate::clients::page::sessions::MemorySessions;
use crate::cluster::MemoryCluster;
use crate::follow::MemoryFollow;
use crate::logs::MemoryLogs;
use crate::plans::MemoryPlans;
use crate::plans::approvals::MemoryApprovals;
use crate::runs::MemoryRuns;
use crate::tasks::{MemoryTasks, three_tasks};
use crate::{conformity, log};

/// A call that is lost is not one that takes too long.
const BEFORE_THE_LIMIT: Duration = Duration::from_secs(5);

/// The id of every request: all bits are free, so it need not look like a version 4.
pub(crate) const REQUEST_ID: &str = "5f0c2a52-64bb-01c0-3d2e-0c61c6f1a9ee";

pub(crate) const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];

/// A running gateway; all of it ends with the value.
pub(crate) struct Stage {
    pub(crate) address: SocketAddr,
    /// The listener of the page, if it has one of its own.
    pub(crate) page_address: Option<SocketAddr>,
    pub(crate) shutdown: CancellationToken,
    /// The gateway's own end.
    pub(crate) gateway: JoinSet<std::io::Result<()>>,
    _services: JoinSet<()>,
}

/// A gateway and its scheduler.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scene {
    pub(crate) tasks: MemoryTasks,
    pub(crate) cluster: MemoryCluster,
    pub(crate) follow: MemoryFollow,
    pub(crate) runs: MemoryRuns,
    pub(crate) logs: MemoryLogs,
    pub(crate) plans: MemoryPlans,
    pub(crate) approvals: MemoryApprovals,
    pub(crate) access: MemoryAccess,
    pub(crate) sessions: MemorySessions,
    pub(crate) page: Option<PageOptions>,
    pub(crate) issuers: Vec<IssuerSettings>,
    /// Whether the page has a listener of its own.
    pub(crate) page_apart: bool,
    /// Whether each request needs a credential.
    pub(crate) require_auth: bool,
    pub(crate) plan_values: PlanValues,
    pub(crate) mode: Mode,
    pub(crate) tls: Option<ServerTls>,
    /// Whether programs on other machines can reach it.
    pub(crate) on_network: bool,
    /// Limits of the gateway, if not the usual ones.
    pub(crate) limits: Option<Limits>,
}

/// Limits of a gateway unless configured otherwise.
pub(crate) const LIMITS: Limits = Limits {
    connections: ClientLimit {
        total: 4096,
        per_client: 1024,
    },
    streams: ClientLimit {
        total: 1024,
        per_client: 256,
    },
    waiting: ClientLimit {
        total: 512,
        per_client: 256,
    },
    request_time: Duration::from_secs(15),
    answer_rate: NonZeroU32::new(1024).unwrap(),
    answer_bytes: 64 << 20,
    names: 1000,
};

/// Trusted to name the client that it forwards for.
const PROXY: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

impl Stage {
    /// A gateway in front of `tasks`, as in one process with its scheduler.
    pub(crate) async fn start(tasks: MemoryTasks) -> Self {
        Self::set(Scene {
            tasks,
            ..Scene::default()
        })
        .await
    }

    /// A gateway, one hour ahead of UTC.
    pub(crate) async fn set(scene: Scene) -> Self {
        Self::set_with_scheduler_on(scene, &Handle::current()).await
    }

    /// A gateway whose scheduler is on a runtime of its own, and dies with it.
    async fn set_with_scheduler_on(scene: Scene, runtime: &Handle) -> Self {
        let (listener, channel) = memory_transport();
        let endpoints = Endpoints::new()
            .with(TaskServiceServer::with_interceptor(
                scene.tasks.clone(),
                scene.access.noting_callers(),
            ))
            .with(ClusterServiceServer::new(scene.cluster.clone()))
            .with(RunServiceServer::with_interceptor(
                scene.runs.clone(),
                scene.access.noting_callers(),
            ))
            .with(LogServiceServer::new(scene.logs.clone()))
            .with(AccessServiceServer::new(scene.access.clone()));
        let endpoints = if scene.sessions.unserved {
            endpoints
        } else {
            endpoints.with(SessionServiceServer::new(scene.sessions.clone()))
        };
        let endpoints = if scene.follow.unserved {
            endpoints
        } else {
            endpoints.with(FollowServiceServer::new(scene.follow.clone()))
        };
        let endpoints = if scene.plans.unserved {
            endpoints
        } else {
            endpoints.with(PlanServiceServer::new(scene.plans.clone()))
        };
        let endpoints = if scene.approvals.unserved {
            endpoints
        } else {
            endpoints.with(ApprovalServiceServer::with_interceptor(
                scene.approvals.clone(),
                scene.access.noting_callers(),
            ))
        };
        let mut services = JoinSet::new();
        let serving = async move {
            endpoints
                .serve_memory(listener, std::future::pending())
                .await
                .unwrap();
        };
        services.spawn_on(serving, runtime);
        Self::in_front_of(channel, services, scene).await
    }

    /// The answer to a request whose scheduler dies when the request has arrived. A request that takes too
    /// long fails the test.
    pub(crate) async fn when_the_scheduler_dies(
        request: impl AsyncFnOnce(&Self) -> Answer,
    ) -> Answer {
        let tasks = MemoryTasks {
            gate: Arc::new(Semaphore::new(0)),
            ..three_tasks()
        };
        let arrivals = Arc::clone(&tasks.arrivals);
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let scene = Scene {
            tasks,
            ..Scene::default()
        };
        let stage = Self::set_with_scheduler_on(scene, runtime.handle()).await;
        let die = async {
            arrivals.acquire().await.unwrap().forget();
            runtime.shutdown_background();
        };
        let both = async { tokio::join!(request(&stage), die) };
        let (answer, ()) = timeout(BEFORE_THE_LIMIT, both).await.unwrap();
        assert_eq!(answer.status, 503, "{answer:?}");
        answer
    }

    /// A gateway whose scheduler is elsewhere, and gone.
    pub(crate) async fn start_alone() -> Self {
        let (_gone, channel) = memory_transport();
        Self::in_front_of(channel, JoinSet::new(), Scene::default()).await
    }

    /// A gateway whose calls go over this channel.
    pub(crate) async fn in_front_of(channel: Channel, services: JoinSet<()>, scene: Scene) -> Self {
        log::install();
        let host = if scene.on_network {
            "0.0.0.0"
        } else {
            "127.0.0.1"
        };
        let listener = TcpListener::bind((host, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let shutdown = CancellationToken::new();
        let options = Options {
            request_id: Arc::new(|| Uuid::parse_str(REQUEST_ID).unwrap()),
            local_time: Arc::new(|at| at.with_timezone(&FixedOffset::east_opt(3600).unwrap())),
            mode: scene.mode,
            limits: scene.limits.unwrap_or(LIMITS),
            trusted_proxies: vec![IpNet::from(PROXY)],
            forwarded_header: ForwardedHeader::default(),
            browsers: Browsers {
                hosts: ["cts.example", "a"].map(str::to_owned).into(),
                origins: vec!["https://ops.example".to_owned()],
            },
            access: AccessOptions {
                required: scene.require_auth,
                domain: Some("cts.example".to_owned()),
                plan_values: scene.plan_values,
                issuers: Issuers::new(scene.issuers).unwrap(),
                logins: scene.page.is_some(),
                clock: Arc::new(SystemClock),
            },
            page: scene.page,
        };
        let deps = Deps {
            tasks: TaskServiceClient::new(channel.clone()),
            cluster: ClusterServiceClient::new(channel.clone()),
            follow: FollowServiceClient::new(channel.clone()),
            workers: WorkerServiceClient::new(channel.clone()),
            runs: RunServiceClient::new(channel.clone()),
            logs: LogServiceClient::new(channel.clone()),
            plans: PlanServiceClient::new(channel.clone()),
            approvals: ApprovalServiceClient::new(channel.clone()),
            access: AccessServiceClient::new(channel.clone()),
            sessions: SessionServiceClient::new(channel.clone()),
            schedulers: Peers::fixed(channel),
            signals: Signals::off(),
        };
        let mut serving = Gateway::new(options, deps);
        if let Some(tls) = scene.tls {
            serving = serving.with_tls(tls);
        }
        let mut page_address = None;
        if scene.page_apart {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            page_address = Some(listener.local_addr().unwrap());
            serving = serving.with_page_listener(Some(listener));
        }
        let mut gateway = JoinSet::new();
        gateway.spawn(serving.serve(listener, shutdown.clone()));
        Self {
            address,
            page_address,
            shutdown,
            gateway,
            _services: services,
        }
    }

    /// Sends one ordinary request.
    pub(crate) async fn ask(&self, method: &str, path: &str) -> Answer {
        let answer = self
            .send(&format!(
                "{method} {path} HTTP/1.1\r\nHost: cts.example\r\nConnection: close\r\n\r\n"
            ))
            .await;
        conformity::check(method, path, &answer);
        answer
    }

    /// Sends one request with a body.
    pub(crate) async fn ask_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: cts.example\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.extend([*name, ": ", *value, "\r\n"]);
        }
        head.push_str("\r\n");
        let answer = self.send_bytes(&[head.as_bytes(), body].concat()).await;
        conformity::check(method, path, &answer);
        answer
    }

    /// Sends one request with a body in JSON; returns the status and the body without the id of the request.
    pub(crate) async fn json(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let answer = self.ask_with(method, path, JSON, body.as_bytes()).await;
        let mut body = answer.json();
        body.as_object_mut().unwrap().remove("request_id");
        (answer.status, body)
    }

    /// Sends `text` and reads until the gateway closes the connection.
    pub(crate) async fn send(&self, text: &str) -> Answer {
        self.send_bytes(text.as_bytes()).await
    }

    async fn send_bytes(&self, bytes: &[u8]) -> Answer {
        let mut socket = self.connect().await;
        socket.write_all(bytes).await.unwrap();
        Answer::read(&mut socket).await
    }

    /// A connection to do anything with.
    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

/// Time for an answer that waits for no timer.
pub(crate) const SOON: Duration = Duration::from_secs(5);

/// The text that has come up to and with `end`.
pub(crate) async fn read_until(socket: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    while !text.contains(end) {
        let mut part = [0; 1024];
        let length = timeout(SOON, socket.read(&mut part)).await.unwrap();
        let length = length.unwrap();
        assert_ne!(length, 0, "closed after {text:?}");
        text.push_str(std::str::from_utf8(&part[..length]).unwrap());
    }
    text
}

/// Time that passes only when it is advanced, however long a test takes.
pub(crate) struct FrozenTime {
    /// A paused clock runs ahead when all wait, unless a blocking task is at work. This ends it.
    _at_work: mpsc::Sender<()>,
}

impl FrozenTime {
    pub(crate) fn start() -> Self {
        let (at_work, end) = mpsc::channel();
        drop(spawn_blocking(move || end.recv()));
        tokio::time::pause();
        Self { _at_work: at_work }
    }

    pub(crate) async fn advance(&self, by: Duration) {
        tokio::time::advance(by).await;
    }
}

/// An answer, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// In the order and spelling in which they came.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    /// All until the gateway closes the connection.
    pub(crate) async fn read(socket: &mut TcpStream) -> Self {
        let mut text = String::new();
        socket.read_to_string(&mut text).await.unwrap();
        Self::parse(&text)
    }

    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        Self {
            status: status.parse().unwrap(),
            headers: lines
                .map(|line| line.split_once(": ").unwrap())
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The value of a header that may be there once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self
            .headers
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str());
        let value = values.next();
        assert_eq!(values.next(), None, "{name} is there twice");
        value
    }

    /// Whether it has exactly the headers that open the API to other origins.
    pub(crate) fn is_open_to_all_origins(&self) -> bool {
        let cors: Vec<_> = self
            .headers
            .iter()
            .filter(|(name, _)| name.starts_with("Access-Control-"))
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        cors == [
            ("Access-Control-Allow-Origin", "*"),
            ("Access-Control-Allow-Headers", "Content-Type"),
            (
                "Access-Control-Allow-Methods",
                "GET, PUT, PATCH, POST, DELETE",
            ),
        ]
    }
}
