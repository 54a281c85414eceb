//! Logs of runs.

use cts_core::RunId;

use crate::Fixture;
use crate::scene::{Scene, line, seconds};
use cts_store::{LogLine, LogStream};

async fn texts<F: Fixture>(scene: &Scene<F>, run: RunId) -> Vec<String> {
    let page = scene.log_page(run, 0, 1000).await;
    page.lines.into_iter().map(|line| line.text).collect()
}

pub async fn lines_come_back_in_order_page_by_page<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let lease = scene.leased("a", "1").await;
    let other = scene.leased("b", "1").await;
    let all: Vec<_> = (0..25)
        .map(|number| line(format!("line {number}")))
        .collect();
    scene.append(&lease, all[..12].to_vec()).await;
    scene.append(&other, vec![line("of the other")]).await;
    scene.append(&lease, Vec::new()).await;
    scene.append(&lease, all[12..].to_vec()).await;

    let mut seen = Vec::new();
    let mut after = 0;
    loop {
        let page = scene.log_page(lease.run, after, 10).await;
        assert!(page.lines.len() <= 10);
        assert!(!page.ended);
        if page.lines.is_empty() {
            assert_eq!(page.position, after);
            break;
        }
        assert!(page.position > after);
        after = page.position;
        seen.extend(page.lines);
    }
    assert_eq!(seen, all);
    assert_eq!(scene.log_page(lease.run, 0, 0).await.lines, []);
    assert_eq!(scene.log_page(lease.run, u64::MAX, 10).await.lines, []);
    assert_eq!(texts(&scene, other.run).await, ["of the other"]);
    scene.append(&lease, vec![line("more")]).await;
    assert_eq!(
        scene.log_page(lease.run, after, 10).await.lines,
        [line("more")]
    );
}

pub async fn a_log_has_ended_when_its_run_has<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue("a", "1").await;
    assert!(!scene.log_page(run, 0, 1).await.ended);
    let lease = scene.lease().await;
    assert!(!scene.log_page(run, 0, 1).await.ended);
    scene.failed(&lease, "no").await;
    assert!(!scene.log_page(run, 0, 1).await.ended);
    scene.advance(seconds(1));
    let lease = scene.lease().await;
    scene.applied(&lease).await;
    assert!(scene.log_page(run, 0, 1).await.ended);

    let failed = scene.leased("a", "2").await;
    scene.fail_thrice(failed.clone()).await;
    assert!(scene.log_page(failed.run, 0, 1).await.ended);
    scene.advance(seconds(60));
    let cancelled = scene.lease().await;
    scene.queue("a", "3").await;
    scene.interrupted(&cancelled).await;
    assert!(scene.log_page(cancelled.run, 0, 1).await.ended);
}

/// Without NUL, which not every database can keep in a text.
pub async fn lines_come_back_unchanged<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let hostile = [
        "",
        " ",
        "null",
        "1e999",
        "{\"@level\":\"info\",\"text\":\"\\u0000\"}",
        "quotes \" ' ` \\ and\nbreaks\r\n",
        "\u{1b}[1mbold\u{1b}[0m \u{1}\u{7f} ünïcödé 🦀 \u{feff}",
        &"x".repeat(1 << 20),
    ];
    let lines: Vec<_> = hostile
        .iter()
        .flat_map(|text| {
            [LogStream::Stdout, LogStream::Stderr].map(|stream| LogLine {
                stream: stream.into(),
                text: (*text).to_owned(),
            })
        })
        .collect();
    scene.append(&lease, lines.clone()).await;
    assert!(scene.log_page(lease.run, 0, 100).await.lines == lines);
}

pub async fn logs_that_have_gone_on_are_found_among_many<F: Fixture>() {
    let scene = Scene::<F>::new(&["quiet", "queued", "written", "ended"]).await;
    let quiet = scene.leased("quiet", "1").await;
    let written = scene.leased("written", "1").await;
    let ended = scene.leased("ended", "1").await;
    let queued = scene.queue("queued", "1").await;
    scene.append(&quiet, vec![line("one"), line("two")]).await;
    scene.append(&written, vec![line("one"), line("two")]).await;
    scene.applied(&ended).await;
    let gone = scene.run_id();
    let read = [
        (quiet.run, 2),
        (queued, 0),
        (written.run, 1),
        (ended.run, 0),
        (gone, 0),
    ];
    let moved = async |read: &[(RunId, u64)]| {
        let moved = scene.store().moved_logs(read).await;
        let mut moved = moved.expect("logs can be looked at");
        moved.sort_unstable();
        moved
    };
    let mut expected = [written.run, ended.run, gone];
    expected.sort_unstable();
    assert_eq!(moved(&read).await, expected);
    assert_eq!(moved(&[(written.run, u64::MAX)]).await, []);
    assert_eq!(moved(&[]).await, []);
    scene.append(&quiet, vec![line("three")]).await;
    assert_eq!(moved(&read[..2]).await, [quiet.run]);
}
