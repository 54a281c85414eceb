//! Logs of runs.

use cts_core::RunId;

use crate::Fixture;
use crate::scene::{Scene, line, seconds};
use cts_core::runs::AttemptOutcome;
use cts_store::{EXCERPT_BYTES, LogExcerpts, LogLine, LogRange, LogStream, log_attempts};

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

fn all(run: RunId) -> LogRange {
    LogRange {
        run,
        after: 0,
        before: u64::MAX,
        newest_first: false,
        limit: 1000,
        text: String::new(),
    }
}

async fn excerpts<F: Fixture>(scene: &Scene<F>, wanted: &LogRange) -> LogExcerpts {
    let excerpts = scene.store().log_excerpts(wanted).await;
    excerpts.expect("logs can be read")
}

fn positions(excerpts: &LogExcerpts) -> Vec<u64> {
    excerpts.lines.iter().map(|line| line.position).collect()
}

pub async fn excerpts_come_from_both_ends_and_are_cut<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let lease = scene.leased("a", "1").await;
    let other = scene.leased("b", "1").await;
    scene.append(&other, vec![line("of the other")]).await;
    let long = "é".repeat(EXCERPT_BYTES);
    let odd = format!("x{long}");
    let whole = "y".repeat(EXCERPT_BYTES);
    let texts = ["one", &*long, &*odd, &*whole, ""];
    scene.append(&lease, texts.map(line).to_vec()).await;

    let oldest = excerpts(&scene, &all(lease.run)).await;
    assert_eq!(positions(&oldest), [1, 2, 3, 4, 5]);
    assert_eq!(oldest.reached, Some(5));
    let bytes = 3 + 3 * 2 * EXCERPT_BYTES as u64;
    assert_eq!(oldest.bytes, bytes - EXCERPT_BYTES as u64 + 1);
    let seen: Vec<_> = oldest
        .lines
        .iter()
        .map(|line| (line.text.len(), line.bytes))
        .collect();
    let twice = 2 * EXCERPT_BYTES as u64;
    let expected = [
        (3, 0),
        (EXCERPT_BYTES, twice),
        (EXCERPT_BYTES - 1, twice + 1),
        (EXCERPT_BYTES, 0),
        (0, 0),
    ];
    assert_eq!(seen, expected);
    assert!(long.starts_with(&oldest.lines[1].text));

    let newest = LogRange {
        after: 1,
        before: 5,
        newest_first: true,
        limit: 2,
        ..all(lease.run)
    };
    let two = excerpts(&scene, &newest).await;
    assert_eq!((positions(&two), two.reached), (vec![4, 3], Some(3)));
    let empty = LogRange {
        after: 2,
        before: 3,
        ..all(lease.run)
    };
    assert_eq!(excerpts(&scene, &empty).await, LogExcerpts::default());
    let unknown = all(scene.run_id());
    assert_eq!(excerpts(&scene, &unknown).await, LogExcerpts::default());
}

pub async fn excerpts_contain_the_text_as_it_is<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let late = format!("{}100%_\\ é.*", "x".repeat(2 * EXCERPT_BYTES));
    let texts = ["100%_\\ é.*", "100 percent", "", "100%_\\ É.*", &*late];
    scene.append(&lease, texts.map(line).to_vec()).await;
    for (text, found) in [
        ("100%_\\ é.*", vec![5, 1]),
        ("100", vec![5, 4, 2, 1]),
        ("é", vec![5, 1]),
        ("nothing", vec![]),
    ] {
        let wanted = LogRange {
            newest_first: true,
            text: text.to_owned(),
            ..all(lease.run)
        };
        let excerpts = excerpts(&scene, &wanted).await;
        assert_eq!(positions(&excerpts), found, "{text}");
        let total: usize = texts.iter().map(|text| text.len()).sum();
        assert_eq!(excerpts.reached, Some(1));
        assert_eq!(excerpts.bytes, total as u64, "all lines are examined");
    }
}

pub async fn records_of_attempts_have_the_last_line_of_each<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.append(&lease, vec![line("1"), line("2")]).await;
    let mut failed = scene.completion(&lease, AttemptOutcome::Failed("no".into()));
    failed.log = vec![line("3")];
    let wait = scene.complete(failed).await.next_due;
    scene.advance(wait.expect("there is another attempt"));
    let second = scene.lease().await;
    scene.append(&second, vec![line("4")]).await;
    scene.release_all().await;
    let third = scene.lease().await;
    scene.advance(crate::scene::LEASE);
    scene.reap().await;
    scene.advance(scene.next_due().await.expect("there is another attempt"));
    assert_eq!(third.run, lease.run);
    let last = scene.lease().await;
    scene.append(&last, vec![line("5"), line("6")]).await;
    let lines = async || {
        let attempts = scene.attempts(lease.run).await;
        let last = excerpts(&scene, &all(lease.run)).await.reached;
        let attempts = log_attempts(&attempts, last.unwrap_or_default());
        let lines = attempts.iter().map(|it| (it.first_position, it.lines));
        lines.collect::<Vec<_>>()
    };
    assert_eq!(lines().await, [(1, 3), (4, 1), (5, 0), (5, 2)]);
    let mut applied = scene.completion(&last, AttemptOutcome::Applied);
    applied.log = vec![line("7")];
    scene.complete(applied).await;
    assert_eq!(lines().await, [(1, 3), (4, 1), (5, 0), (5, 3)]);
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
