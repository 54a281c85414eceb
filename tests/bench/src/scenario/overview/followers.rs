//! Followers of versions, whose bytes are counted.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::measures::clock::Moment;

/// Followers of each key.
pub(super) const FOLLOWERS: [(&str, u32); 2] = [("overview", 50), ("tasks", 10)];

/// Followers that read. They end when this is dropped.
pub(super) struct Followers {
    begun: Moment,
    /// Bytes that the followers of each key have got.
    bytes: [Arc<AtomicU64>; 2],
    reading: JoinSet<Result<()>>,
}

impl Followers {
    pub(super) async fn start(address: SocketAddr) -> Result<Self> {
        let mut followers = Self {
            begun: Moment::now(),
            bytes: [Arc::default(), Arc::default()],
            reading: JoinSet::new(),
        };
        for ((key, count), bytes) in FOLLOWERS.into_iter().zip(&followers.bytes) {
            for _ in 0..count {
                let mut stream = TcpStream::connect(address).await.context("no connection")?;
                let request =
                    format!("GET /v1/follow?keys={key} HTTP/1.1\r\nHost: {address}\r\n\r\n");
                stream.write_all(request.as_bytes()).await?;
                let mut head = [0; 15];
                stream.read_exact(&mut head).await?;
                ensure!(head == *b"HTTP/1.1 200 OK", "versions are not followed");
                let bytes = Arc::clone(bytes);
                followers.reading.spawn(async move {
                    let mut buffer = [0; 16 * 1024];
                    loop {
                        let read = stream.read(&mut buffer).await?;
                        ensure!(read > 0, "a stream of versions has ended");
                        bytes.fetch_add(read as u64, Ordering::Relaxed);
                    }
                });
            }
        }
        Ok(followers)
    }

    /// Bytes a second for one follower of each key.
    pub(super) fn end(mut self) -> Result<[f64; 2]> {
        let seconds = Moment::now().since(self.begun).as_secs_f64();
        if let Some(ended) = self.reading.try_join_next() {
            ended??;
        }
        let rate = |place: usize| {
            let bytes = u32::try_from(self.bytes[place].load(Ordering::Relaxed));
            f64::from(bytes.unwrap_or(u32::MAX)) / f64::from(FOLLOWERS[place].1) / seconds
        };
        Ok([rate(0), rate(1)])
    }
}
