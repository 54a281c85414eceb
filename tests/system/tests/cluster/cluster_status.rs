//! `GET /v1/status/cluster`, and followers that refuse as followers of CTS Enterprise do.

use std::collections::BTreeSet;

use cts_testkit::eventually;
use cts_tests::{Api, Cluster, DEADLINE, Plan, Service};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cluster::scene::{POLL, Scene};

fn keys(object: &Value) -> BTreeSet<&str> {
    let object = object.as_object().unwrap();
    object.keys().map(String::as_str).collect()
}

fn member<'a>(answer: &'a Value, id: &str) -> Option<&'a Value> {
    let members = answer["members"].as_array().unwrap();
    members.iter().find(|member| member["id"] == id)
}

/// Panics unless the answer has the documented shape, with this leader.
fn assert_documented(answer: &Value, leader: usize) {
    let of_answer = BTreeSet::from(["cluster_name", "members", "request_id"]);
    assert_eq!(keys(answer), of_answer);
    assert_eq!(answer["cluster_name"], "edge");
    let request_id = answer["request_id"].as_str().unwrap();
    assert_eq!(request_id.len(), 36, "{request_id}");
    for member in answer["members"].as_array().unwrap() {
        let mut of_member = BTreeSet::from(["healthy", "id", "leader", "service_name"]);
        let leads = member["id"] == format!("scheduler-{leader}");
        assert_eq!(member["leader"], leads, "{answer}");
        if member["healthy"] == true {
            of_member.insert("address");
            let id = member["id"].as_str().unwrap();
            assert_eq!(member["address"], format!("{id}.example.net:8558"));
        }
        assert_eq!(keys(member), of_member);
        assert_eq!(member["service_name"], "consul-terraform-sync");
    }
}

#[tokio::test]
async fn every_gateway_tells_of_the_replicas_and_of_one_that_died() {
    let plan = Plan::of(1, 3, 1, 2);
    let ttl = plan.session_ttl;
    let mut scene = Scene::start(plan).await;
    let leader = scene.cluster.wait_for_leader().await;
    let apis = [scene.cluster.api(0), scene.cluster.api(1)];
    for api in &apis {
        let answer = api.get("/v1/status/cluster").await;
        assert_documented(&answer, leader);
        let ids: BTreeSet<&str> = answer["members"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|member| member["id"].as_str())
            .collect();
        let all = BTreeSet::from(["scheduler-0", "scheduler-1", "scheduler-2"]);
        assert_eq!(ids, all);
    }

    let follower = (0..3).find(|index| *index != leader).unwrap();
    let killed = Instant::now();
    scene.cluster.kill(Service::Scheduler, follower).await;
    let id = format!("scheduler-{follower}");
    for api in &apis {
        eventually(DEADLINE, async || {
            let answer = api.get("/v1/status/cluster").await;
            assert_documented(&answer, leader);
            match member(&answer, &id) {
                Some(member) if member["healthy"] == false => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }
    assert!(killed.elapsed() < ttl + POLL, "{:?}", killed.elapsed());
    for api in &apis {
        eventually(DEADLINE, async || {
            let answer = api.get("/v1/status/cluster").await;
            assert_documented(&answer, leader);
            match member(&answer, &id) {
                None => Ok(()),
                Some(member) => Err(member.to_string()),
            }
        })
        .await;
    }
    assert!(killed.elapsed() < ttl * 3 + POLL, "{:?}", killed.elapsed());
}

#[tokio::test]
async fn without_high_availability_there_is_no_cluster_to_tell_of() {
    let plan = Plan {
        storage: None,
        ..Plan::default()
    };
    let scene = Scene::start(plan).await;
    let (status, body) = scene
        .cluster
        .api(0)
        .ask("/v1/status/cluster")
        .await
        .unwrap();
    assert_eq!(status, 405, "{body}");
    let message = "this endpoint is only available with high availability configured";
    assert_eq!(body["error"]["message"], message);
}

/// One more gateway, in strict mode, for one scheduler alone.
async fn strict_gateway(cluster: &mut Cluster, scheduler: usize) -> Api {
    let gateway = cluster.add(Service::Gateway);
    let arguments = [
        format!(
            "-scheduler={}",
            cluster.grpc_address(Service::Scheduler, scheduler)
        ),
        "-config-file=strict.hcl".to_owned(),
    ];
    cluster.launch_with(Service::Gateway, gateway, &arguments);
    cluster.wait_until_healthy(Service::Gateway, gateway).await;
    let api = cluster.api(gateway);
    eventually(DEADLINE, async || match api.ask("/v1/health").await {
        Ok((200, _)) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    api
}

/// Asks for the tasks again and again, and returns each answer once.
async fn answers(api: Api, end: CancellationToken) -> BTreeSet<(u16, String)> {
    let mut answers = BTreeSet::new();
    while !end.is_cancelled() {
        let (status, body) = api.ask("/v1/tasks").await.unwrap();
        answers.insert((status, body["error"].to_string()));
    }
    answers
}

#[tokio::test]
async fn a_strict_gateway_names_the_leader_or_fails_while_its_scheduler_is_replaced() {
    let mut scene = Scene::start(Plan::of(1, 2, 1, 0)).await;
    scene
        .site
        .write("strict.hcl", "gateway { mode = \"strict-follower\" }\n");
    let leader = scene.cluster.wait_for_leader().await;
    let follower = 1 - leader;
    let api = strict_gateway(&mut scene.cluster, follower).await;
    let (end, mut asking) = (CancellationToken::new(), JoinSet::new());
    for _ in 0..8 {
        asking.spawn(answers(api.clone(), end.clone()));
    }
    for _ in 0..2 {
        scene.cluster.restart(Service::Scheduler, follower).await;
        scene.cluster.kill(Service::Scheduler, follower).await;
        scene.cluster.run(Service::Scheduler, follower).await;
        scene.wait_until_api_answers(0).await;
    }
    end.cancel();
    let redirection = format!("redirect requests to leader 'scheduler-{leader}' at ");
    let mut statuses = BTreeSet::new();
    for (status, error) in asking.join_all().await.into_iter().flatten() {
        statuses.insert(status);
        match status {
            400 => assert!(error.contains(&redirection), "{error}"),
            503 => assert!(error.len() > 20, "{error}"),
            _ => panic!("{status} {error}"),
        }
    }
    assert!(statuses.contains(&400), "{statuses:?}");
    let (status, body) = api.ask("/v1/tasks").await.unwrap();
    assert_eq!(status, 400, "{body}");
    scene.change_is_applied().await;
}
