//! The gateway, what is behind it, and a client that shows every byte.

use std::net::SocketAddr;
use std::sync::Arc;

use chrono::FixedOffset;
use cts_gateway::{Deps, Gateway, Options};
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use cts_proto::task::v1::task_service_server::TaskServiceServer;
use cts_rpc::{Endpoints, memory_transport};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use uuid::Uuid;

use crate::log;
use crate::tasks::MemoryTasks;

/// The id of every request: all bits are free, so it need not look like a version 4.
pub(crate) const REQUEST_ID: &str = "5f0c2a52-64bb-01c0-3d2e-0c61c6f1a9ee";

/// A running gateway; all of it ends with the value.
pub(crate) struct Stage {
    pub(crate) address: SocketAddr,
    pub(crate) shutdown: CancellationToken,
    /// The gateway's own end.
    pub(crate) gateway: JoinSet<std::io::Result<()>>,
    _tasks: JoinSet<()>,
}

impl Stage {
    /// A gateway in front of `tasks`, one hour ahead of UTC.
    pub(crate) async fn start(tasks: MemoryTasks) -> Self {
        let (listener, channel) = memory_transport();
        let endpoints = Endpoints::new().with(TaskServiceServer::new(tasks));
        let mut services = JoinSet::new();
        services.spawn(async move {
            endpoints
                .serve_memory(listener, std::future::pending())
                .await
                .unwrap();
        });
        Self::in_front_of(channel, services).await
    }

    /// A gateway whose task service is gone.
    pub(crate) async fn start_alone() -> Self {
        let (_gone, channel) = memory_transport();
        Self::in_front_of(channel, JoinSet::new()).await
    }

    async fn in_front_of(channel: Channel, services: JoinSet<()>) -> Self {
        log::install();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let options = Options {
            request_id: Arc::new(|| Uuid::parse_str(REQUEST_ID).unwrap()),
            local_time: Arc::new(|at| at.with_timezone(&FixedOffset::east_opt(3600).unwrap())),
        };
        let deps = Deps {
            tasks: TaskServiceClient::new(channel),
        };
        let mut gateway = JoinSet::new();
        gateway.spawn(Gateway::new(options, deps).serve(listener, shutdown.clone()));
        Self {
            address,
            shutdown,
            gateway,
            _tasks: services,
        }
    }

    /// Sends one ordinary request.
    pub(crate) async fn ask(&self, method: &str, path: &str) -> Answer {
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: cts.example\r\nConnection: close\r\n\r\n"
        ))
        .await
    }

    /// Sends `bytes` and reads until the gateway closes the connection.
    pub(crate) async fn send(&self, bytes: &str) -> Answer {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        socket.write_all(bytes.as_bytes()).await.unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).await.unwrap();
        Answer::parse(&text)
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
