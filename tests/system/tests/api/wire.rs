//! HTTP/1.1 as bytes on a connection of its own, so that method, path and headers arrive as they are written.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longest time for an answer. Creations wait for Terraform, and many of these may compete for the processors.
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_mins(5);

/// A request that is not sent yet. Requests the end of its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.target)?;
        for (name, value) in &self.headers {
            write!(f, ", {name}: {value}")?;
        }
        if let Some(body) = &self.body {
            let shown = &body[..body.len().min(300)];
            write!(f, ", {}", String::from_utf8_lossy(shown))?;
        }
        Ok(())
    }
}

impl Request {
    pub(crate) fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: None,
        }
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a body, with its length and no content type.
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Adds a JSON body with its content type.
    pub(crate) fn json(self, body: &Value) -> Self {
        self.header("Content-Type", "application/json")
            .body(body.to_string())
    }

    /// The bytes up to the body.
    pub(crate) fn head(&self, host: SocketAddr) -> String {
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n",
            self.method, self.target
        );
        for (name, value) in &self.headers {
            head += &[name, ": ", value, "\r\n"].concat();
        }
        if let Some(body) = &self.body {
            let length = body.len().to_string();
            head += &["Content-Length: ", &length, "\r\n"].concat();
        }
        head + "\r\n"
    }

    /// Sends it and leaves the answer to come.
    pub(crate) async fn begin(&self, address: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut bytes = self.head(address).into_bytes();
        bytes.extend(self.body.as_deref().unwrap_or_default());
        stream.write_all(&bytes).await.unwrap();
        stream
    }

    /// Sends it and reads the answer.
    pub(crate) async fn send(&self, address: SocketAddr) -> Answer {
        let mut stream = self.begin(address).await;
        match answer(&mut stream, self.method == "HEAD").await {
            Ok(answer) => answer,
            Err(error) => panic!("{self}: {error}"),
        }
    }
}

/// Sends exactly these bytes, and reads the answer.
pub(crate) async fn exchange(address: SocketAddr, bytes: &[u8]) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(bytes).await?;
    stream.shutdown().await?;
    answer(&mut stream, false).await
}

/// Reads until the connection is closed.
pub(crate) async fn answer(stream: &mut TcpStream, of_head: bool) -> io::Result<Answer> {
    let mut bytes = Vec::new();
    timeout(ANSWER_LIMIT, stream.read_to_end(&mut bytes))
        .await
        .map_err(io::Error::other)??;
    Answer::parse(&bytes, of_head).ok_or_else(|| {
        io::Error::other(format!(
            "no complete answer: {:?}",
            String::from_utf8_lossy(&bytes)
        ))
    })
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.text())
    }
}

impl Answer {
    fn parse(bytes: &[u8], of_head: bool) -> Option<Self> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&bytes[..end]).ok()?;
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let mut answer = Self {
            status,
            headers,
            body: bytes[end + 4..].to_vec(),
        };
        if answer.header("Transfer-Encoding") == Some("chunked") {
            answer.body = joined(&answer.body)?;
        } else if let Some(length) = answer.header("Content-Length") {
            let length: usize = length.parse().ok()?;
            (of_head || answer.body.len() == length).then_some(())?;
        }
        Some(answer)
    }

    /// The only header of this name. Panics if several have it.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self
            .headers
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str());
        let value = values.next();
        assert_eq!(values.next(), None, "{name} came twice: {self:?}");
        value
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body, which must be JSON.
    pub(crate) fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(error) => panic!("{error}: {self}"),
        }
    }

    /// Text of an error.
    pub(crate) fn message(&self) -> String {
        match &self.json()["error"]["message"] {
            Value::String(text) => text.clone(),
            _ => panic!("no error: {self}"),
        }
    }

    /// The body of an answer with this status.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self}");
        self.json()
    }

    /// The text of an error with this status.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{self}");
        self.message()
    }
}

/// The content of a chunked body; nothing if it broke off.
fn joined(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let length = std::str::from_utf8(&rest[..end]).ok()?;
        let length = usize::from_str_radix(length, 16).ok()?;
        rest = &rest[end + 2..];
        if length == 0 {
            return Some(body);
        }
        body.extend(rest.get(..length)?);
        rest = rest.get(length + 2..)?;
    }
}
