//! A server with played services of all names, which tells who calls.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::{Ready, pending, ready};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use cts_core::callers::{Rights, Role};
use cts_listen::{ClientLimit, ClientLimiter};
use cts_rpc::admission::{AccessRules, CallContext};
use cts_rpc::{Address, ClientTls, Endpoints, ServerTls, connect_tls};
use cts_testkit::Authority;
use cts_tls::{Authorities, ClientFiles};
use http::{HeaderMap, Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::transport::Channel;
use tonic::{Code, Status};
use tower::{Service, ServiceExt as _};

use crate::folder::Folder;

/// The domain of the roles.
pub(crate) const DOMAIN: &str = "cts.example";

macro_rules! played {
    ($($service:ident = $name:literal;)*) => {
        $(
            #[derive(Clone)]
            struct $service;

            impl NamedService for $service {
                const NAME: &'static str = $name;
            }

            impl Service<Request<Body>> for $service {
                type Response = Response<Body>;
                type Error = Infallible;
                type Future = Ready<Result<Response<Body>, Infallible>>;

                fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
                    Poll::Ready(Ok(()))
                }

                fn call(&mut self, request: Request<Body>) -> Self::Future {
                    ready(Ok(answer(&request)))
                }
            }
        )*

        /// All services.
        pub(crate) fn endpoints() -> Endpoints {
            Endpoints::new()$(.with($service))*
        }
    };
}

played! {
    Access = "cts.access.v1.AccessService";
    Approvals = "cts.run.v1.ApprovalService";
    Bundles = "cts.bundle.v1.BundleService";
    Cluster = "cts.cluster.v1.ClusterService";
    Follow = "cts.cluster.v1.FollowService";
    Logs = "cts.log.v1.LogService";
    Plans = "cts.run.v1.PlanService";
    Runs = "cts.run.v1.RunService";
    Sessions = "cts.access.v1.SessionService";
    Tasks = "cts.task.v1.TaskService";
    Watch = "cts.watch.v1.WatchService";
    Workers = "cts.worker.v1.WorkerService";
}

fn answer(request: &Request<Body>) -> Response<Body> {
    let context = request.extensions().get::<CallContext>().unwrap();
    let rights: Option<&Rights> = request.extensions().get();
    let hides = rights.is_some_and(|rights| !rights.sees_values);
    let values = if hides { " without values" } else { "" };
    let caller = format!("{}{values} {}", context.caller, context.request_id);
    let response = Response::builder()
        .header("content-type", "application/grpc")
        .header("caller", caller.trim_end());
    response.body(Body::empty()).unwrap()
}

/// The caller that the service has seen, or the refusal.
pub(crate) async fn call(
    channel: &Channel,
    path: &str,
    headers: &[(&str, &str)],
) -> Result<String, Status> {
    let mut request = Request::post(path).header("content-type", "application/grpc");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut channel = channel.clone();
    let request = request.body(Body::empty()).unwrap();
    let response = channel.ready().await.unwrap().call(request).await.unwrap();
    let headers: &HeaderMap = response.headers();
    match headers.get("caller") {
        Some(caller) => Ok(caller.to_str().unwrap().to_owned()),
        // The two real services find no request in an empty body.
        None => match Status::from_header_map(headers) {
            Some(status) if is_refusal(&status) => Err(status),
            _ => Ok(String::new()),
        },
    }
}

fn is_refusal(status: &Status) -> bool {
    let codes = [
        Code::PermissionDenied,
        Code::Unauthenticated,
        Code::Unimplemented,
    ];
    codes.contains(&status.code())
}

/// A server and the authority of its clients.
pub(crate) struct Stage {
    authority: Authority,
    address: SocketAddr,
    _server: JoinSet<()>,
}

impl Stage {
    /// A server with TLS that demands certificates.
    pub(crate) async fn with_tls(rules: AccessRules) -> Self {
        let authority = Authority::new();
        let folder = Folder::new(&authority, &authority);
        let tls = ServerTls::load(&folder.files()).await.unwrap();
        Self::serve(rules, authority, Some(tls)).await
    }

    /// A server in plain text.
    pub(crate) async fn plain(rules: AccessRules) -> Self {
        Self::serve(rules, Authority::new(), None).await
    }

    async fn serve(rules: AccessRules, authority: Authority, tls: Option<ServerTls>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let endpoints = endpoints().with_access(rules);
        let limiter = ClientLimiter::new(ClientLimit {
            total: 100,
            per_client: 100,
        });
        let mut server = JoinSet::new();
        server.spawn(async move {
            let served = match tls {
                Some(tls) => endpoints.serve_tls(listener, limiter, tls, pending()).await,
                None => endpoints.serve_tcp(listener, limiter, pending()).await,
            };
            served.unwrap();
        });
        Self {
            authority,
            address,
            _server: server,
        }
    }

    /// The files of a client whose certificate has these names.
    pub(crate) fn client(&self, names: &[&str]) -> Folder {
        let folder = Folder::new(&self.authority, &self.authority);
        self.renew(&folder, names);
        folder
    }

    /// Gives a client another certificate.
    pub(crate) fn renew(&self, folder: &Folder, names: &[&str]) {
        folder.fill(&self.authority, &self.authority, names);
    }

    /// A new connection with these files.
    pub(crate) async fn connect(&self, folder: &Folder) -> Channel {
        let tls = ClientTls::load(folder.client()).await.unwrap();
        self.connect_with(&tls)
    }

    /// A new connection with what `tls` holds.
    pub(crate) fn connect_with(&self, tls: &ClientTls) -> Channel {
        let address: Address = self.address.to_string().parse().unwrap();
        connect_tls(&address, tls)
    }

    /// A connection with a certificate of these names.
    pub(crate) async fn certified(&self, names: &[&str]) -> Channel {
        self.connect(&self.client(names)).await
    }

    /// The socket of a connection with a certificate of these names.
    pub(crate) async fn raw_certified(&self, names: &[&str]) -> TlsStream<TcpStream> {
        let folder = self.client(names);
        let files = folder.client();
        let files = ClientFiles {
            authorities: Some(Authorities::File(files.ca_cert)),
            identity: files.identity,
            verify: true,
        };
        let connector = TlsConnector::from(Arc::new(files.read_now(&["h2"]).unwrap()));
        let name = self.address.ip().into();
        connector.connect(name, self.raw().await).await.unwrap()
    }

    /// The socket of a connection.
    pub(crate) async fn raw(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// A connection in plain text.
    pub(crate) fn plainly(&self) -> Channel {
        cts_rpc::connect(&self.address.to_string()).unwrap()
    }
}

/// A row of the table in the document.
#[derive(Debug, PartialEq)]
pub(crate) struct Documented {
    /// Roles of services; `all` for any.
    pub(crate) services: Vec<String>,
    /// The smallest role of people; empty without one.
    pub(crate) people: String,
}

/// The table in docs/grpc.md, by the paths of the methods.
pub(crate) fn documented() -> BTreeMap<String, Documented> {
    let document = include_str!("../../../../docs/grpc.md");
    let (_, section) = document.split_once("## Who may call what").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let services = cells[2].split(", ").map(str::to_owned).collect();
        let documented = Documented {
            services,
            people: cells[3].trim_matches('`').to_owned(),
        };
        (format!("/{}", cells[1].trim_matches('`')), documented)
    };
    rows.map(row).collect()
}

pub(crate) const LIST: &str = "/cts.task.v1.TaskService/ListTasks";
pub(crate) const CREATE: &str = "/cts.task.v1.TaskService/CreateTask";
pub(crate) const ACQUIRE: &str = "/cts.run.v1.RunService/AcquireRun";
pub(crate) const HEALTH: &str = "/grpc.health.v1.Health/Check";
pub(crate) const WATCH_HEALTH: &str = "/grpc.health.v1.Health/Watch";
pub(crate) const REFLECTION: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

pub(crate) fn named(role: &str) -> String {
    format!("{role}.{DOMAIN}")
}

/// Whether the document gives a role, of services or of people, the method.
pub(crate) fn allows(row: &Documented, role: &str) -> bool {
    let person = match role {
        "operator" => Some(Role::Admin),
        role => role.parse().ok(),
    };
    let least = row.people.parse().ok();
    let is_service = row
        .services
        .iter()
        .any(|known| known == role || known == "all");
    let both = person.zip(least);
    is_service || both.is_some_and(|(person, least): (Role, Role)| person.includes(least))
}
