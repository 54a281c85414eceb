//! A server without cts: the control of the scenario `strangers`.
//!
//! Serves HTTP/1.1 and HTTP/2 over TLS as hyper, axum and tonic-health do by themselves: a request is answered with so
//! many bytes once its whole body was read, calls of `grpc.health.v1.Health` are answered. Before a request for the
//! states of all tasks is answered, a second server is called, as a gateway calls its scheduler. Arguments: certificate,
//! key, authority of clients, bytes of an answer, an address at which clients need a certificate, one at which they need
//! none, and the address of the second server. Ends with the usual signals.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::StatusCode;
use axum::routing::get;
use cts_rpc::{Address, ClientTls, ClientTlsFiles};
use cts_runtime::StopSignals;
use cts_tls::{Authorities, IdentityFiles, ServerFiles, ServerTls};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tonic::service::Routes;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

/// The request of the well-behaved client.
const STATES: &str = "/v1/status/tasks";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match serve_until_signal(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(io::stderr(), "cts-bench-bare: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn serve_until_signal(arguments: &[String]) -> Result<()> {
    let [_name, cert, key, authority, size, closed, open, second] = arguments else {
        anyhow::bail!("needs certificate, key, authority, size and three addresses");
    };
    let (closed, open): (SocketAddr, SocketAddr) = (closed.parse()?, open.parse()?);
    let size = size.parse().context("no size")?;
    let identity = || IdentityFiles {
        cert: cert.into(),
        key: key.into(),
    };
    let files = |clients| ServerFiles {
        identity: identity(),
        clients,
        protocols: vec!["h2", "http/1.1"],
    };
    let client_files = ClientTlsFiles {
        ca_cert: authority.into(),
        identity: Some(identity()),
        server_name: None,
    };
    let authority = Authorities::File(authority.into());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut signals = StopSignals::take_over(false)?;
        let second: Address = second.parse()?;
        let tls = ClientTls::load(client_files).await?;
        let app = app(size, HealthClient::new(cts_rpc::connect_tls(&second, &tls)));
        tokio::select! {
            ended = serve(closed, files(Some(authority)), app.clone()) => ended,
            ended = serve(open, files(None), app) => ended,
            _signal = signals.next() => Ok(()),
        }
    })
}

async fn serve(address: SocketAddr, files: ServerFiles, app: Router) -> Result<()> {
    let tls = ServerTls::load(files).await?;
    let listener = TcpListener::bind(address).await?;
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_ended) = connections.join_next() => {}
            accepted = listener.accept() => {
                let (socket, _peer) = accepted?;
                let acceptor = TlsAcceptor::from(tls.current());
                connections.spawn(serve_connection(socket, acceptor, app.clone()));
            }
        }
    }
}

fn app(size: usize, second: HealthClient<Channel>) -> Router {
    let answer = Bytes::from(vec![b'x'; size]);
    let states = answer.clone();
    let (_reporter, health) = tonic_health::server::health_reporter();
    Routes::new(health)
        .into_axum_router()
        .route(
            STATES,
            get(async move || {
                let asked = second.clone().check(HealthCheckRequest::default()).await;
                asked
                    .map(|_health| states)
                    .map_err(|_error| StatusCode::BAD_GATEWAY)
            }),
        )
        .fallback(|body: Body| async move {
            drop(to_bytes(body, usize::MAX).await);
            answer
        })
}

async fn serve_connection(socket: TcpStream, acceptor: TlsAcceptor, app: Router) {
    drop(socket.set_nodelay(true));
    // Strangers end their connections at any time.
    if let Ok(stream) = acceptor.accept(socket).await {
        let builder = auto::Builder::new(TokioExecutor::new());
        let service = TowerToHyperService::new(app);
        drop(
            builder
                .serve_connection(TokioIo::new(stream), service)
                .await,
        );
    }
}
