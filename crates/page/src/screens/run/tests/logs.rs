use serde_json::json;

use super::*;

#[tokio::test]
async fn a_log_has_attempts_and_phases_as_groups() {
    insta::assert_snapshot!(api().fragment(&screen(), "", "log").await);
}

#[tokio::test]
async fn lines_that_are_cut_lead_to_the_whole_line() {
    let mut window = window();
    window["lines"][1]["text"] = "x".repeat(4096).into();
    window["lines"][1]["bytes"] = 1_048_576.into();
    let log = api_of(&run(), &plan(), &input(), &window)
        .fragment(&screen(), "", "log")
        .await;
    let whole = format!(
        "</bdi> <a class=\"cut\" href=\"/ui/runs/{ID}/log?line=4\" download>cut: the whole line has 1048576 bytes</a>"
    );
    assert!(log.contains(&whole), "{log}");
    window["lines"][1]["text"] = "x".repeat(1_048_576).into();
    let log = api_of(&run(), &plan(), &input(), &window)
        .fragment(&screen(), "", "log")
        .await;
    assert!(log.len() < 10_000, "{}", log.len());
}

#[tokio::test]
async fn a_query_chooses_the_lines() {
    for (query, call) in [
        ("line=4", "around=4&limit=1000"),
        ("before=7&attempt=2", "before=7&limit=1000&attempt=2"),
        ("after=0", "after=0&limit=1000"),
        ("attempt=1&tail", "tail=1000&attempt=1"),
        ("line=0&before=x&attempt=-1", "tail=1000"),
    ] {
        let api = FakeApi::new(&[
            (RUN, &json!({ "run": run() }).to_string()),
            (&log(call), &window().to_string()),
        ]);
        let log = api.fragment(&screen(), query, "log").await;
        assert!(log.contains("id=\"L6\""), "{query}: {log}");
        let attempt = call.split_once("&attempt=").map(|(_, number)| number);
        let attempt = attempt.map_or_else(String::new, |it| format!("&#38;attempt={it}"));
        let address = format!("href=\"/ui/{}?line=6{attempt}#L6\"", screen());
        assert!(log.contains(&address), "{query}: {log}");
        assert_eq!(
            log.contains("class=\"line\" id=\"L4\" aria-current=\"true\""),
            query == "line=4"
        );
    }
}

#[tokio::test]
async fn the_log_of_a_run_that_goes_on_is_followed_from_its_last_line() {
    let mut run = run();
    for (status, window, expected) in [
        ("running", window(), Some("data-after=\"6\"")),
        (
            "queued",
            json!({"lines": [], "last_position": 0, "attempts": []}),
            Some("data-after=\"0\""),
        ),
        (
            "running",
            json!({"lines": [line(1, "a")], "last_position": 9, "attempts": []}),
            None,
        ),
        ("failed", window(), None),
    ] {
        run["status"] = status.into();
        let api = api_of(&run, &plan(), &input(), &window);
        let log = api.fragment(&screen(), "", "log").await;
        assert!(
            log.contains(expected.unwrap_or("data-log=")),
            "{status}: {log}"
        );
        assert_eq!(
            log.contains("data-after"),
            expected.is_some(),
            "{status}: {log}"
        );
    }
}

#[tokio::test]
async fn a_search_lists_positions_in_their_order() {
    let messages = [
        json!({"lines": [line(900, &format!("{}full <b>", "y".repeat(300)))], "searched_from": 900, "state": "searching"}),
        json!({"lines": [line(5, "Error: full")], "searched_from": 5, "state": "searching"}),
        json!({"lines": [], "searched_from": 3, "state": "full"}),
    ];
    let body = messages.map(|message| format!("{message}\n")).concat();
    let api = FakeApi::new(&[
        (RUN, &json!({ "run": run() }).to_string()),
        (&log("search=full%20%3Cb%3E&attempt=2"), &body),
    ]);
    let query = "search=full+%3Cb%3E&attempt=2";
    insta::assert_snapshot!(api.fragment(&screen(), query, "found").await);
}

#[tokio::test]
async fn a_search_without_its_end_has_broken_off() {
    let api = FakeApi::new(&[
        (RUN, &json!({ "run": run() }).to_string()),
        (&log("search=a"), &String::new()),
    ]);
    let found = api.fragment(&screen(), "search=a", "found").await;
    assert!(found.contains("the search broke off"), "{found}");
}
