//! Sockets without a request.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::strangers::{PAUSE, Stranger};

/// Pause of one client between two handshakes.
const BETWEEN_HANDSHAKES: Duration = Duration::from_millis(250);

/// A socket that never begins its handshake.
pub(super) async fn silent(stranger: Stranger, address: SocketAddr) {
    let hold = async || {
        let mut socket = TcpStream::connect(address).await?;
        anyhow::Ok(socket.read(&mut [0]).await?)
    };
    stranger.again(PAUSE, hold).await;
}

/// Connections that end after their handshake.
pub(super) async fn handshakes(stranger: Stranger, address: SocketAddr) {
    let hold = async || stranger.http2(address).await;
    stranger.again(BETWEEN_HANDSHAKES, hold).await;
}
