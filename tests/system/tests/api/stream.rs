//! Answers that go on.

use std::net::SocketAddr;

use cts_tests::DEADLINE;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// An answer that is read line by line while it comes.
#[derive(Debug)]
pub(crate) struct Stream {
    lines: BufReader<TcpStream>,
    pub(crate) head: Vec<String>,
}

impl Stream {
    /// Asks for `target` and reads the head of the answer, whose status must be 200.
    pub(crate) async fn open(address: SocketAddr, target: &str) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut opened = Self {
            lines: BufReader::new(stream),
            head: Vec::new(),
        };
        loop {
            match opened.line().await {
                Some(line) if line.is_empty() => break,
                Some(line) => opened.head.push(line),
                None => panic!("{target}: closed after {:?}", opened.head),
            }
        }
        assert!(
            opened.head[0].starts_with("HTTP/1.1 200 "),
            "{target}: {:?}",
            opened.head
        );
        opened
    }

    /// The next line, the lengths of chunks among them; nothing when the connection is closed.
    pub(crate) async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let reading = timeout(DEADLINE, self.lines.read_line(&mut line));
        match reading.await {
            Ok(Ok(0)) => None,
            Ok(Ok(_)) => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
            Ok(Err(error)) => panic!("{error}"),
            Err(elapsed) => panic!("no line: {elapsed}"),
        }
    }

    /// Reads until a line contains `text`. Signs of life do not prolong the wait.
    pub(crate) async fn wait_for(&mut self, text: &str) -> String {
        let found = async {
            loop {
                match self.line().await {
                    Some(line) if line.contains(text) => return line,
                    Some(_) => {}
                    None => panic!("closed without {text:?}"),
                }
            }
        };
        let found = timeout(DEADLINE, found).await;
        found.unwrap_or_else(|elapsed| panic!("without {text:?}: {elapsed}"))
    }

    /// Everything that still comes, lengths of chunks included.
    pub(crate) async fn rest(&mut self) -> String {
        let mut rest = String::new();
        while let Some(line) = self.line().await {
            // The end of a chunked body; the connection itself stays open.
            if line == "0" {
                break;
            }
            rest.push_str(&line);
            rest.push('\n');
        }
        rest
    }

    /// The data of the next event of the type `run`.
    pub(crate) async fn run_event(&mut self) -> Value {
        self.event("run").await
    }

    /// The data of the next event of this type.
    pub(crate) async fn event(&mut self, kind: &str) -> Value {
        self.wait_for(&format!("event: {kind}")).await;
        let line = self.wait_for("data: ").await;
        let data = line.split_once("data: ").map(|(_, data)| data);
        serde_json::from_str(data.unwrap()).unwrap()
    }
}
