//! `GET /v1/runs/{id}/log`. Not in the original.

use cts_testkit::assert_contains;
use serde_json::Value;

use crate::api::scene::Scene;
use crate::api::stream::Stream;

async fn newest_run(scene: &Scene) -> String {
    let page = scene
        .ask("GET", "/v1/runs?task=pool&limit=1")
        .await
        .expect(200);
    page["runs"][0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_log_of_a_run_is_read_and_followed() {
    let scene = Scene::with_steps().await;
    let run = newest_run(&scene).await;
    let log = scene.ask("GET", &format!("/v1/runs/{run}/log")).await;
    assert_eq!(log.status, 200);
    assert_eq!(
        log.header("Content-Type"),
        Some("text/plain; charset=utf-8")
    );
    assert_contains(log.text(), ["a step for <web-1>", "Apply complete!"]);

    let lines = scene
        .ask("GET", &format!("/v1/runs/{run}/log?format=ndjson"))
        .await;
    assert_eq!(lines.header("Content-Type"), Some("application/x-ndjson"));
    let mut texts = String::new();
    let mut position = 0;
    for line in lines.text().lines() {
        let part: Value = serde_json::from_str(line).unwrap();
        position = part["position"].as_u64().unwrap();
        for line in part["lines"].as_array().unwrap() {
            assert!(line["stream"].is_string(), "{line}");
            texts += line["text"].as_str().unwrap();
            texts.push('\n');
        }
    }
    assert_eq!(texts, log.text());
    let nothing = scene
        .ask("GET", &format!("/v1/runs/{run}/log?after={position}"))
        .await;
    assert_eq!((nothing.status, nothing.text()), (200, String::new()));

    scene.hold_at_work().await;
    let run = newest_run(&scene).await;
    let target = format!("/v1/runs/{run}/log?follow=true");
    let mut followed = Stream::open(scene.instance.api.address(), &target).await;
    followed.wait_for("a step for <web-1,web-2>").await;
    let running = scene
        .ask("GET", &format!("/v1/runs/{run}"))
        .await
        .expect(200);
    assert_eq!(
        running["run"]["status"], "running",
        "it is told while it runs"
    );
    scene.site.release();
    let rest = followed.rest().await;
    assert!(
        rest.contains("Apply complete!"),
        "and ends with the run: {rest}"
    );
    scene.instance.stop().await;
}

#[tokio::test]
async fn a_log_is_read_backwards_and_searched() {
    let scene = Scene::with_steps().await;
    let run = newest_run(&scene).await;
    let ask = async |query: &str| {
        let path = format!("/v1/runs/{run}/log?{query}");
        scene.ask("GET", &path).await
    };
    let whole = ask("").await.text();
    let texts: Vec<&str> = whole.lines().collect();
    let window = async |query: &str| -> Value {
        let answer = ask(&format!("format=ndjson&{query}")).await;
        assert_eq!(answer.status, 200, "{query}: {}", answer.text());
        serde_json::from_str(&answer.text()).unwrap()
    };
    let lines = |window: &Value| -> Vec<(u64, String)> {
        let lines = window["lines"].as_array().unwrap().iter();
        lines
            .map(|line| {
                let text = line["text"].as_str().unwrap().to_owned();
                (line["position"].as_u64().unwrap(), text)
            })
            .collect()
    };
    let numbered: Vec<_> = (1..)
        .zip(texts.iter().map(|&text| text.to_owned()))
        .collect();
    let tail = window("tail=2").await;
    assert_eq!(lines(&tail), numbered[numbered.len() - 2..]);
    assert_eq!(tail["last_position"], numbered.len());
    let all = serde_json::json!([
        {"number": 1, "first_position": 1, "lines": numbered.len()},
    ]);
    assert_eq!(tail["attempts"], all);
    assert_eq!(lines(&window("before=4").await), numbered[..3]);
    assert_eq!(lines(&window("around=3&limit=2").await), numbered[1..3]);
    assert_eq!(
        lines(&window("after=1&limit=2&attempt=1").await),
        numbered[1..3]
    );
    assert_eq!(ask("line=2").await.text(), format!("{}\n", texts[1]));
    assert_eq!(
        ask("tail=1").await.text().trim_end(),
        *texts.last().unwrap()
    );

    let answer = ask("format=ndjson&search=Apply+complete!").await.text();
    let parts: Vec<Value> = answer
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let found: Vec<_> = parts.iter().flat_map(lines).collect();
    let expected = numbered
        .iter()
        .filter(|(_, text)| text.contains("Apply complete!"));
    assert_eq!(found, expected.cloned().collect::<Vec<_>>());
    let end = parts.last().unwrap();
    assert_eq!(
        (&end["state"], &end["searched_from"]),
        (&"complete".into(), &1.into())
    );
    let none = ask("search=apply+COMPLETE").await.text();
    assert_eq!(none, "searched from line 1\n");
    assert_eq!(ask("attempt=7").await.status, 409);
    scene.instance.stop().await;
}
