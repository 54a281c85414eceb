//! Asks one question over and over on one connection, with next to no work of its own, so that the server is
//! measured and not its client.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[derive(Debug)]
pub(crate) struct HttpClient {
    stream: TcpStream,
    request: String,
    /// Received bytes that are not part of an answer that was read.
    buffer: Vec<u8>,
}

impl HttpClient {
    /// A connection for requests of `path`, with a token if there is one.
    pub(crate) async fn connect(
        address: SocketAddr,
        path: &str,
        token: Option<&str>,
    ) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context("no connection")?;
        stream.set_nodelay(true)?;
        let credential = token
            .map(|token| format!("Authorization: Bearer {token}\r\n"))
            .unwrap_or_default();
        Ok(Self {
            stream,
            request: format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{credential}\r\n"),
            buffer: Vec::with_capacity(512 * 1024),
        })
    }

    /// Asks, and reads the whole answer, which must have status 200 and say its length. The length.
    pub(crate) async fn ask(&mut self) -> Result<usize> {
        self.stream.write_all(self.request.as_bytes()).await?;
        self.buffer.clear();
        let mut searched = 0;
        let head = loop {
            self.read().await?;
            let found = end_of_head(&self.buffer, searched);
            match found {
                Some(end) => break end,
                None => searched = self.buffer.len().saturating_sub(3),
            }
        };
        let length = content_length(&self.buffer[..head])?;
        while self.buffer.len() < head + length {
            self.read().await?;
        }
        ensure!(
            self.buffer.len() == head + length,
            "more than an answer came"
        );
        Ok(length)
    }

    async fn read(&mut self) -> Result<()> {
        let read = self.stream.read_buf(&mut self.buffer).await?;
        ensure!(read > 0, "the connection was closed");
        Ok(())
    }
}

fn end_of_head(bytes: &[u8], from: usize) -> Option<usize> {
    let found = bytes[from..]
        .windows(4)
        .position(|four| four == b"\r\n\r\n");
    found.map(|position| from + position + 4)
}

fn content_length(head: &[u8]) -> Result<usize> {
    let head = std::str::from_utf8(head).context("a strange answer")?;
    ensure!(
        head.starts_with("HTTP/1.1 200 "),
        "an answer is no success: {head}"
    );
    let mut lines = head.split("\r\n").filter_map(|line| line.split_once(':'));
    let (_, value) = lines
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .context("an answer has no length")?;
    value.trim().parse().context("a length is none")
}
