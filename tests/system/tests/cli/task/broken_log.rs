//! `cts task run -watch` over a connection that breaks off.

use serde_json::json;

use cts_testkit::ScriptedAnswer;

use super::run::{LOG, RUN, RUNS, SHOW, STATUS, TASK, a_run, ended, run, successful_run, watched};
use super::{Conversation, ok};

/// A part of the log, as lines of NDJSON, up to `position`.
fn part(position: u32, text: &str) -> String {
    let line = json!({"position": position, "lines": [{"stream": "stdout", "text": text}]});
    format!("{line}\n")
}

fn broken_off(text: String) -> ScriptedAnswer {
    ScriptedAnswer::Cut(200, "application/x-ndjson", text)
}

#[tokio::test]
async fn a_watched_log_that_breaks_off_is_followed_again() {
    let [task, before, done, after] = successful_run();
    let known = ok(json!({"runs": [a_run("id-1", "failed")]}));
    let [found, _log, show] = watched(&ended("succeeded", ""));
    let first = broken_off(part(1, "Creating...") + "{\"position\":2,\"li");
    let rest = part(2, "Still creating...") + &part(3, "Creation complete");
    let rest = ScriptedAnswer::Text(200, "application/x-ndjson", rest);
    let closed = ScriptedAnswer::Close;
    let script = [
        task, before, known, done, found, first, closed, rest, show, after,
    ];
    let server = Conversation::with(script).await;
    let again = LOG.replace("after=0", "after=1");
    let requests = [
        TASK, STATUS, RUNS, RUN, RUNS, LOG, &again, &again, SHOW, STATUS,
    ];
    let said = server.run(run(&["-watch"]), &requests).await;
    let lines: Vec<&str> = said.stdout.lines().map(str::trim).collect();
    let log = ["Creating...", "Still creating...", "Creation complete"];
    assert!(lines.windows(3).any(|lines| lines == log), "{said}");
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said}");
}

#[tokio::test]
async fn a_watched_log_that_stays_broken_off_is_not_taken_for_whole() {
    let [task, before, done, after] = successful_run();
    let known = ok(json!({"runs": [a_run("id-1", "failed")]}));
    let [found, _log, _show] = watched(&ended("succeeded", ""));
    let mut script = vec![task, before, known, done, found];
    script.push(broken_off(part(1, "Creating...")));
    script.extend(vec![ScriptedAnswer::Close; 10]);
    script.push(after);
    let server = Conversation::with(script).await;
    let again = LOG.replace("after=0", "after=1");
    let mut requests = vec![TASK, STATUS, RUNS, RUN, RUNS, LOG];
    requests.extend([again.as_str(); 10]);
    requests.push(STATUS);
    let said = server.run(run(&["-watch"]), &requests).await;
    assert!(said.stdout.contains("Creating...\n"), "{said}");
    let warning = "The rest of the run cannot be shown: no answer from the API at http://SERVER";
    assert!(said.stderr.starts_with(warning), "{said}");
    assert_eq!(said.code, Some(0), "the run has succeeded: {said}");
}
