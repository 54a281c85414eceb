//! A server behind a proxy, with a certificate of an authority that the system does not know.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use cts_testkit::hcp::STUB_NAME;
use cts_tests::{Instance, RemoteServer, task};
use rstest::rstest;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::stage::Stage;

/// A proxy that resolves every name to this machine. Ends when dropped.
struct Proxy {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    _connections: JoinSet<()>,
}

impl Proxy {
    async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&requests);
        let mut connections = JoinSet::new();
        connections.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                open.spawn(tunnel(client, Arc::clone(&noted)));
            }
        });
        Self {
            address,
            requests,
            _connections: connections,
        }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// First lines of the requests since the last call.
    fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }
}

/// Notes the request of a connection, and connects it. `None` if the request is not `CONNECT`, or a side has gone.
async fn tunnel(client: TcpStream, requests: Arc<Mutex<Vec<String>>>) -> Option<()> {
    let mut client = BufReader::new(client);
    let mut first = String::new();
    client.read_line(&mut first).await.ok()?;
    let mut line = first.clone();
    while !line.trim().is_empty() {
        line.clear();
        client.read_line(&mut line).await.ok()?;
    }
    requests.lock().unwrap().push(first.trim().to_owned());
    let target = first.strip_prefix("CONNECT ")?.split(' ').next()?;
    let port: u16 = target.rsplit_once(':')?.1.parse().ok()?;
    let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.ok()?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
    copy_bidirectional(&mut client, &mut server).await.ok()?;
    Some(())
}

/// Applies a new instance.
async fn apply(stage: &Stage, id: &str, all: &[&str]) {
    stage.register(id).await;
    let cts = Instance::start_embedded(&stage.site).await;
    stage.recorded(all).await;
    cts.stop().await;
}

#[rstest]
#[case("HTTP_PROXY", "HTTPS_PROXY")]
#[case("http_proxy", "https_proxy")]
#[tokio::test]
async fn a_proxy_and_an_authority_of_the_environment_are_used(
    #[case] http: &str,
    #[case] https: &str,
) {
    let mut stage = Stage::new().await;
    let proxy = Proxy::start().await;
    let edge = task("edge", "./modules/edge", &["web"], "");
    let RemoteServer { access, prefix } = RemoteServer::of_stub(&stage.server, stage.site.path());
    let configure = |stage: &Stage, change: &dyn Fn(&mut cts_testkit::hcp::HcpAccess)| {
        let mut access = access.clone();
        change(&mut access);
        let driver = access.driver(&prefix, "");
        let consul = stage.consul.address();
        stage.site.write_configuration(&consul, &driver, &edge);
    };
    let authority = access.authority.clone().unwrap();
    let named = access.address.replace("127.0.0.1", STUB_NAME);
    stage.site.set_environment(http, proxy.url());
    stage.site.set_environment(https, proxy.url());

    // Only the proxy knows the name of the server. Consul is on this machine.
    configure(&stage, &|access| access.address.clone_from(&named));
    apply(&stage, "web-1", &["web-1"]).await;
    let requests = proxy.take_requests();
    let host = named.trim_start_matches("https://");
    let to_server = format!("CONNECT {host} HTTP/1.1");
    assert!(requests.contains(&to_server), "{requests:?}");
    let consul = stage.consul.address();
    assert!(
        !requests.iter().any(|request| request.contains(&consul)),
        "{requests:?}"
    );

    // Without an authority in the file and in the environment the server is not trusted.
    configure(&stage, &|access| access.authority = None);
    let exception = access.address.trim_start_matches("https://");
    let (exception, _port) = exception.rsplit_once(':').unwrap();
    stage.site.set_environment("NO_PROXY", exception);
    stage.register("web-2").await;
    let cts = Instance::start_embedded(&stage.site).await;
    cts.until_logged("cannot set up TLS with ").await;
    cts.stop().await;

    let authority = authority.display().to_string();
    stage.site.set_environment("SSL_CERT_FILE", authority);
    apply(&stage, "web-3", &["web-1", "web-2", "web-3"]).await;
    assert_eq!(proxy.take_requests(), [""; 0]);
}
