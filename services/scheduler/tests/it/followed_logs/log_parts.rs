//! Windows of logs, and searches.

use std::time::Duration;

use cts_proto::log::v1 as log;
use cts_proto::log::v1::LogSearchState;
use cts_proto::run::v1 as run;
use tokio::time::timeout;
use tonic::{Code, Streaming};

use crate::calls::{completion, failed};
use crate::setup::{Setup, WORKER, task};

const LONG: Duration = Duration::from_mins(1);

fn line(text: impl Into<String>) -> log::LogLine {
    log::LogLine {
        stream: log::LogStream::Stdout.into(),
        text: text.into(),
    }
}

impl Setup {
    async fn log(&self, lease: &run::Lease, lines: Vec<log::LogLine>) {
        let batches = lines.chunks(100).map(|lines| log::AppendLogRequest {
            run_id: lease.run_id.clone(),
            epoch: lease.epoch,
            worker_id: WORKER.into(),
            lines: lines.to_vec(),
        });
        let batches = tokio_stream::iter(batches.collect::<Vec<_>>());
        self.logs.clone().append_log(batches).await.unwrap();
    }

    async fn window(
        &self,
        request: log::ReadLogWindowRequest,
    ) -> Result<log::ReadLogWindowResponse, tonic::Status> {
        let window = self.logs.clone().read_log_window(request).await?;
        Ok(window.into_inner())
    }

    async fn search(&self, lease: &run::Lease, text: &str) -> Streaming<log::SearchLogResponse> {
        let request = log::SearchLogRequest {
            run_id: lease.run_id.clone(),
            attempt: 0,
            text: text.into(),
        };
        self.logs
            .clone()
            .search_log(request)
            .await
            .unwrap()
            .into_inner()
    }
}

fn positions(lines: &[log::LogExcerpt]) -> Vec<u64> {
    lines.iter().map(|line| line.position).collect()
}

/// The found lines, and the last message.
async fn found(mut answers: Streaming<log::SearchLogResponse>) -> (Vec<u64>, LogSearchState, u64) {
    let mut found = Vec::new();
    let mut end = (LogSearchState::Unspecified, 0);
    loop {
        let answer = timeout(LONG, answers.message()).await;
        let Some(answer) = answer.expect("it goes on").unwrap() else {
            break;
        };
        found.extend(positions(&answer.lines));
        end = (answer.state(), answer.searched_from);
    }
    (found, end.0, end.1)
}

#[tokio::test]
async fn windows_are_read_from_any_place_and_attempt() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![]);
    let first = setup.acquired().await;
    let lines = |range: std::ops::RangeInclusive<u64>| range.map(|n| line(n.to_string()));
    setup.log(&first, lines(1..=400).collect()).await;
    let end = run::CompleteRunRequest {
        log: lines(401..=403).collect(),
        ..completion(&first, failed("no"))
    };
    setup.runs.clone().complete_run(end).await.unwrap();
    let second = setup.acquired().await;
    assert_eq!(second.run_id, first.run_id);
    setup.log(&second, lines(404..=1000).collect()).await;

    let request = log::ReadLogWindowRequest {
        run_id: first.run_id.clone(),
        ..log::ReadLogWindowRequest::default()
    };
    let all = setup.window(request.clone()).await.unwrap();
    assert_eq!(positions(&all.lines), (1..=1000).collect::<Vec<_>>());
    assert_eq!(all.lines[16].text, "17");
    assert_eq!(all.last_position, 1000);
    let attempts: Vec<_> = all
        .attempts
        .iter()
        .map(|it| (it.number, it.first_position, it.lines))
        .collect();
    assert_eq!(attempts, [(1, 1, 403), (2, 404, 597)]);

    let read = async |change: &dyn Fn(&mut log::ReadLogWindowRequest)| {
        let mut request = request.clone();
        change(&mut request);
        positions(&setup.window(request).await.unwrap().lines)
    };
    let tail = read(&|it| it.lines = 3).await;
    assert_eq!(tail, [998, 999, 1000]);
    let before = read(&|it| (it.lines, it.before_position) = (2, Some(404))).await;
    assert_eq!(before, [402, 403]);
    let before = read(&|it| it.before_position = Some(1)).await;
    assert!(before.is_empty(), "{before:?}");
    let around = read(&|it| (it.lines, it.around_position) = (5, Some(500))).await;
    assert_eq!(around, [498, 499, 500, 501, 502]);
    let around = read(&|it| (it.lines, it.around_position) = (5, Some(1))).await;
    assert_eq!(around, [1, 2, 3, 4, 5]);
    let around = read(&|it| (it.lines, it.around_position) = (4, Some(5000))).await;
    assert_eq!(around, [999, 1000]);
    let after = read(&|it| (it.lines, it.after_position) = (2, Some(0))).await;
    assert_eq!(after, [1, 2]);
    let of_first = read(&|it| (it.lines, it.attempt) = (2, 1)).await;
    assert_eq!(of_first, [402, 403]);
    let of_second = read(&|it| {
        (it.lines, it.attempt, it.around_position) = (4, 2, Some(404));
    })
    .await;
    assert_eq!(of_second, [404, 405, 406, 407]);

    let unknown = log::ReadLogWindowRequest {
        attempt: 3,
        ..request.clone()
    };
    let refused = setup.window(unknown).await.unwrap_err();
    assert_eq!(refused.code(), Code::OutOfRange);
    let unknown = log::ReadLogWindowRequest {
        run_id: "0197a000-0000-7000-8000-000000000009".into(),
        ..request
    };
    let refused = setup.window(unknown).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
}

#[tokio::test]
async fn windows_have_at_most_5000_lines_and_a_mebibyte() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![]);
    let lease = setup.acquired().await;
    let short = (0..5_100).map(|_| line(""));
    setup.log(&lease, short.collect()).await;
    let request = log::ReadLogWindowRequest {
        run_id: lease.run_id.clone(),
        lines: 6_000,
        ..log::ReadLogWindowRequest::default()
    };
    let window = setup.window(request.clone()).await.unwrap();
    assert_eq!(positions(&window.lines), (101..=5_100).collect::<Vec<_>>());

    let long = (0..300).map(|_| line("é".repeat(4_096)));
    setup.log(&lease, long.collect()).await;
    let window = setup.window(request.clone()).await.unwrap();
    assert_eq!(window.lines.len(), (1 << 20) / 4_097);
    let cut = |line: &log::LogExcerpt| line.text.len() == 4_096 && line.bytes == 8_192;
    assert!(window.lines.iter().all(cut));
    let around = log::ReadLogWindowRequest {
        around_position: Some(5_250),
        ..request
    };
    let window = setup.window(around).await.unwrap();
    let positions = positions(&window.lines);
    assert!(positions.contains(&5_250) && positions.contains(&5_249));
    assert_eq!(
        window.lines.len(),
        (1 << 19) / 4_097 + (1 << 19) / 4_097 + 1
    );
}

#[tokio::test]
async fn a_search_finds_the_newest_lines_first_and_at_most_1000() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![]);
    let lease = setup.acquired().await;
    let lines = (1..=1_400).map(|n| line(if n % 700 == 0 { "odd .* line" } else { "even" }));
    setup.log(&lease, lines.collect()).await;
    let odd = found(setup.search(&lease, ".* line").await).await;
    assert_eq!(odd, (vec![1_400, 700], LogSearchState::Complete, 1));
    let none = found(setup.search(&lease, "Even").await).await;
    assert_eq!(none, (vec![], LogSearchState::Complete, 1));
    let (positions, state, from) = found(setup.search(&lease, "even").await).await;
    assert_eq!((positions.len(), state), (1_000, LogSearchState::Full));
    assert!(positions.is_sorted_by(|a, b| a > b));
    assert_eq!(positions.last(), Some(&from));

    let request = log::SearchLogRequest {
        run_id: lease.run_id.clone(),
        ..log::SearchLogRequest::default()
    };
    let refused = setup.logs.clone().search_log(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_second_search_ends_the_first() {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![]);
    let lease = setup.acquired().await;
    // More than one page, each of which lasts for a while at the rate of all searches.
    let lines = (0..1_500).map(|_| line("x".repeat(8_192)));
    setup.log(&lease, lines.collect()).await;
    let first = setup.search(&lease, "y").await;
    let second = setup.search(&lease, "y").await;
    let (first, second) = tokio::join!(found(first), found(second));
    assert_eq!((first.0.len(), first.1), (0, LogSearchState::Replaced));
    assert_eq!(second, (vec![], LogSearchState::Complete, 1));
}
