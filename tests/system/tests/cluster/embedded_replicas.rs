//! `cts start` twice over one Postgres database.

use std::net::{Ipv4Addr, SocketAddr};

use cts_testkit::{ConsulAgent, eventually, free_port};
use cts_tests::{Api, DEADLINE, Process, Site};

use crate::cluster::scene::pool;

const PORT_TRIES: usize = 5;

struct Replica {
    api: Api,
    process: Process,
}

impl Replica {
    /// Starts the replica of this number and waits until it is healthy.
    async fn start(site: &Site, number: usize) -> Self {
        for _ in 0..PORT_TRIES {
            let port = free_port();
            let own = format!("replica-{number}.hcl");
            let text = format!(
                "id = \"replica-{number}\"\nport = {port}\nworking_dir = \"work-{number}\"\n\
                 scheduler {{ lease_ttl = \"6s\" }}\n\
                 high_availability {{\n  cluster {{\n    name = \"edge\"\n    \
                 storage \"postgres\" {{ session_ttl = \"2s\" }}\n  }}\n}}\n"
            );
            site.write(&own, &text);
            let arguments = [
                "start",
                "-config-file=cts.hcl",
                "-config-file=database.hcl",
                &format!("-config-file={own}"),
                "-bind-address=127.0.0.1",
            ];
            let log = format!("replica-{number}.log");
            let mut process = site.run("cts", &arguments, &log);
            let api = Api::new(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
            let began = eventually(DEADLINE, async || {
                if !process.is_running() {
                    return Ok(false);
                }
                match api.ask("/v1/health").await {
                    Ok((200, _)) => Ok(true),
                    other => Err(format!("{other:?}")),
                }
            })
            .await;
            if began {
                return Self { api, process };
            }
            let output = process.output();
            assert!(output.contains("cannot listen on"), "{output}");
        }
        panic!("ports were taken {PORT_TRIES} times one after the other");
    }

    /// Index of the only leader, as this replica sees it.
    async fn leader(&self) -> Result<usize, String> {
        let answer = self.api.get("/v1/status/cluster").await;
        let members = answer["members"].as_array().unwrap();
        let leaders: Vec<&str> = members
            .iter()
            .filter(|member| member["leader"] == true)
            .filter_map(|member| member["id"].as_str())
            .collect();
        match leaders.as_slice() {
            ["replica-0"] => Ok(0),
            ["replica-1"] => Ok(1),
            _ => Err(answer.to_string()),
        }
    }
}

async fn one_is_killed(the_leader: bool) {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.database().await;
    pool(&site, &consul.address());
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let (first, second) = tokio::join!(Replica::start(&site, 0), Replica::start(&site, 1));
    let mut replicas = vec![first, second];
    site.wait_for_step("pool", "end", "web-1").await;
    for replica in &replicas {
        replica.api.wait_for_events("pool", 1).await;
    }
    let leader = replicas[0].leader().await.unwrap();
    assert_eq!(replicas[1].leader().await.unwrap(), leader);

    let victim = if the_leader { leader } else { 1 - leader };
    replicas.remove(victim).process.kill().await;
    let survivor = &replicas[0];
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    site.wait_for_step("pool", "end", "web-1,web-2").await;
    survivor.api.wait_for_events("pool", 2).await;
    eventually(DEADLINE, async || {
        let leader = survivor.leader().await?;
        if leader == victim {
            Err("the dead one leads".to_owned())
        } else {
            Ok(())
        }
    })
    .await;

    // The replica starts again in its old directory.
    let again = Replica::start(&site, victim).await;
    consul.register_service("web", "web-3", 3, &[], &[]).await;
    site.wait_for_step("pool", "end", "web-1,web-2,web-3").await;
    again.api.wait_for_events("pool", 3).await;
    let journal = site.journal("pool");
    assert!(
        !journal.iter().any(|line| line.starts_with("overlap")),
        "{journal:?}"
    );
    for replica in [again, replicas.remove(0)] {
        let exit = replica.process.terminate().await;
        exit.assert_code(0);
    }
}

#[tokio::test]
async fn follower_goes_on_when_the_leader_is_killed() {
    one_is_killed(true).await;
}

#[tokio::test]
async fn leader_goes_on_when_the_follower_is_killed() {
    one_is_killed(false).await;
}
