//! A port that can be closed and opened again.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::gate::{self, Door};
use super::shared::Shared;
use crate::eventually::eventually;
use crate::ports::free_port;

const DEADLINE: Duration = Duration::from_secs(10);
/// A port may be taken by another process between choice and use.
const PORT_TRIES: usize = 5;

/// Binds a port that no outgoing connection takes while it is closed.
pub(super) async fn bind() -> TcpListener {
    for _ in 0..PORT_TRIES {
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, free_port())).await {
            return listener;
        }
    }
    panic!("no port could be bound in {PORT_TRIES} tries");
}

#[derive(Debug)]
pub(super) struct Listener {
    address: SocketAddr,
    /// The loop that accepts, with all connections; empty while the port is closed.
    running: JoinSet<()>,
}

impl Listener {
    pub(super) fn at(address: SocketAddr) -> Self {
        Self {
            address,
            running: JoinSet::new(),
        }
    }

    pub(super) fn serve(
        &mut self,
        listener: TcpListener,
        door: Door,
        shared: Arc<Shared>,
        tls: Option<TlsAcceptor>,
    ) {
        self.running.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while open.try_join_next().is_some() {}
                let (shared, tls) = (Arc::clone(&shared), tls.clone());
                open.spawn(async move {
                    match tls {
                        None => converse(stream, door, shared).await,
                        // A client that does not come to terms is gone.
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => converse(stream, door, shared).await,
                            Err(_refused) => {}
                        },
                    }
                });
            }
        });
    }

    /// Closes the port and cuts all connections.
    pub(super) async fn close(&mut self) {
        self.running.shutdown().await;
    }

    /// Binds the port again.
    pub(super) async fn rebind(&self) -> TcpListener {
        eventually(DEADLINE, async || TcpListener::bind(self.address).await).await
    }
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    door: Door,
    shared: Arc<Shared>,
) {
    let service = service_fn(move |request| gate::pass(Arc::clone(&shared), door, request));
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // A connection that ends early is one that the test has cut, or the client.
    let _ended = connection.await;
}
