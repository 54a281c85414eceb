//! Clients that take the log of a run slowly, while another run is at work.

use std::time::Duration;

use cts_proto::log::v1::ReadLogRequest;
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_tests::{DEADLINE, STEP_SCRIPT, STEPS, Site, task};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::api::scene::Scene;

const READERS: usize = 4;
const LINES: usize = 18_000;

/// Length of a line.
const LINE: usize = 1000;

/// Twice the life of a lease here, which is long enough for a busy machine to store 18 MB under it.
const WHILE: Duration = Duration::from_secs(20);

/// Time for an answer on a machine that is busy with sending logs.
const ANSWER: Duration = Duration::from_secs(10);

/// Prints 18 MB for the first instances.
const PRINT: &str = r#"
if [ "$IDS" = web-1 ]; then
  yes "$(head -c 1000 /dev/zero | tr '\0' x)" | head -n 18000
fi
"#;

fn write_module(site: &Site) {
    let place = site.path().to_str().unwrap();
    let module = STEPS.replace("@SITE@", place).replace("@TASK@", "pool");
    site.write("modules/pool/main.tf", &module);
    site.write("modules/pool/step.sh", &format!("{PRINT}{STEP_SCRIPT}"));
}

/// Reads 16 KiB every five seconds, for ever.
async fn read_slowly(mut socket: TcpStream) {
    let mut part = vec![0; 16 * 1024];
    loop {
        socket.read_exact(&mut part).await.unwrap();
        sleep(Duration::from_secs(5)).await;
    }
}

#[tokio::test]
async fn a_run_goes_on_while_clients_read_logs_slowly() {
    let site = Site::new();
    write_module(&site);
    let tasks = task("pool", "./modules/pool", &["web"], "");
    let scene = Scene::of_site(
        site,
        &format!("scheduler {{ lease_ttl = \"10s\" }}\n{tasks}"),
    )
    .await;
    scene.instance.api.wait_for_events("pool", 1).await;
    let page = scene
        .ask("GET", "/v1/runs?task=pool&limit=1")
        .await
        .expect(200);
    let run = page["runs"][0]["id"].as_str().unwrap();
    let log = format!("/v1/runs/{run}/log");

    scene.site.hold();
    scene.register("web", "web-2").await;
    let terraform = scene
        .site
        .wait_for_step("pool", "begin", "web-1,web-2")
        .await;
    let mut readers = JoinSet::new();
    for _ in 0..READERS {
        let mut socket = TcpStream::connect(scene.instance.api.address())
            .await
            .unwrap();
        let request = format!("GET {log} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        readers.spawn(read_slowly(socket));
    }
    // A gateway that takes nothing has the same connection for all that it asks.
    let mut stalled = LogServiceClient::new(scene.instance.grpc());
    let mut unread = Vec::new();
    for _ in 0..READERS {
        let request = ReadLogRequest {
            run_id: run.to_owned(),
            after_position: 0,
            follow: false,
            one_part: false,
        };
        unread.push(stalled.read_log(request).await.unwrap());
    }
    let begin = Instant::now();
    while begin.elapsed() < WHILE {
        let health = timeout(ANSWER, scene.ask("GET", "/v1/health"));
        let health = health.await.expect("an answer that waits for no reader");
        assert_eq!(health.status, 200);
        assert!(
            readers.try_join_next().is_none(),
            "a reader has lost its log"
        );
        sleep(Duration::from_millis(200)).await;
    }
    let whole = timeout(DEADLINE, scene.ask("GET", &log));
    let whole = whole.await.expect("who reads at once gets all at once");
    // Terraform shows a line in two parts if its end is late.
    let printed = whole.text().matches("xxxx").count();
    assert_eq!(printed.div_ceil(LINE / 4), LINES);
    drop((readers, stalled, unread));

    scene.site.release();
    let ended = scene.site.wait_for_step("pool", "end", "web-1,web-2").await;
    assert_eq!(ended, terraform, "the run was not interrupted");
    scene.instance.stop().await;
}
