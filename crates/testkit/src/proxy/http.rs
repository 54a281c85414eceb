//! Answers to HTTP requests instead of the server's.

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::link::{Link, Route};

/// Longest body of a request that is read to its end.
const BODY: u64 = 16 * 1024 * 1024;

/// Answers requests of one connection as long as the link says so.
pub(super) async fn answer(
    client: TcpStream,
    status: u16,
    text: &str,
    route: &mut watch::Receiver<Route>,
) {
    let mut client = BufReader::new(client);
    let answering = async {
        while request(&mut client).await.is_some() {
            let head = format!(
                "HTTP/1.1 {status} x\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n",
                text.len()
            );
            let written = client.write_all((head + text).as_bytes()).await;
            if written.is_err() || client.flush().await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = answering => {}
        _changed = route.wait_for(|route| route.link != Link::Answer(status, text_of(route.link))) => {}
    }
}

const fn text_of(link: Link) -> &'static str {
    match link {
        Link::Answer(_, text) => text,
        _ => "",
    }
}

/// Reads a request; `None` at the end of the connection, or if the text is not a request.
async fn request(client: &mut BufReader<TcpStream>) -> Option<()> {
    let mut length = 0;
    let mut first = true;
    loop {
        let mut line = String::new();
        if client.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() && !first {
            break;
        }
        first = false;
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    if length > BODY {
        return None;
    }
    let mut body = client.take(length);
    tokio::io::copy(&mut body, &mut tokio::io::sink())
        .await
        .ok()
        .map(drop)
}
