//! A start that is refused says why, ends with the right code and leaves nothing running. About `cts start`
//! itself, so embedded whatever the shape of the test run.

use std::net::{Ipv4Addr, TcpListener};

use cts_testkit::{ConsulAgent, free_port};
use cts_tests::{Backend, Instance, RECORDER, Site, task};

/// Runs `cts` to its end and checks exit code, text and that nothing was written.
async fn refused(site: &Site, arguments: &[&str], code: i32, texts: &[&str]) {
    drop(std::fs::remove_file(site.path().join("refused.log")));
    let exit = site.run("cts", arguments, "refused.log").wait().await;
    exit.assert_code(code).says(texts);
    assert!(!site.work().exists(), "{arguments:?} left something behind");
}

const START: [&str; 3] = ["start", "-config-file", "cts.hcl"];

async fn refused_configuration(text: &str, texts: &[&str]) {
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    site.write("cts.hcl", text);
    refused(&site, &START, 15, texts).await;
}

#[tokio::test]
async fn all_problems_are_in_one_report() {
    refused_configuration(
        "working_dir = \"work\"\nprot = 1\nport = \"eight\"\ntask { name = \"pool\" }\n",
        &[
            "[ERROR] config: unknown key `prot`: file=cts.hcl line=2 column=1 help=\"did you mean `port`?\"",
            "file=cts.hcl line=3 column=8",
            "file=cts.hcl line=4 column=1",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_wrong_brake_of_the_fleet_is_refused_at_its_line() {
    refused_configuration(
        "working_dir = \"work\"\nfleet_max_shrink {\n  share = \"120%\"\n}\n",
        &[
            "`fleet_max_shrink.share` is no percentage between",
            "file=cts.hcl line=3 column=11",
        ],
    )
    .await;
}

/// A site that could start; `consul` may be a place where none listens.
fn startable(consul: &str) -> Site {
    let site = Site::new();
    site.write("modules/pool/main.tf", RECORDER);
    site.configure(
        consul,
        Backend::Local,
        &task("pool", "./modules/pool", &["web"], ""),
    );
    site.write("port.hcl", &format!("port = {}\n", free_port()));
    site
}

const START_ON_LOOPBACK: [&str; 7] = [
    "start",
    "-config-file",
    "cts.hcl",
    "-config-file",
    "port.hcl",
    "-bind-address",
    "127.0.0.1",
];

/// Each would have tasks of its own, and lead.
#[tokio::test]
async fn members_of_a_cluster_without_a_database_are_refused() {
    let cluster = |storage: &str| {
        format!("high_availability {{\n  cluster {{\n    name = \"edge\"\n{storage}  }}\n}}\n")
    };
    let scheduler = [
        "scheduler",
        "-config-file",
        "cts.hcl",
        "-grpc-address",
        "127.0.0.1:0",
    ];
    for (block, commands) in [
        (
            cluster("    storage \"postgres\" {}\n"),
            &[&START[..], &scheduler][..],
        ),
        (
            cluster("    storage \"consul\" {}\n"),
            &[&START, &scheduler],
        ),
        (cluster(""), &[&START, &scheduler]),
        (String::new(), &[&scheduler]),
    ] {
        let site = Site::new();
        site.write("modules/pool/main.tf", RECORDER);
        let pool = task("pool", "./modules/pool", &["web"], "");
        let nowhere = format!("127.0.0.1:{}", free_port());
        site.configure(&nowhere, Backend::Shared, &(pool + &block));
        for command in commands {
            let words = ["CTS_DATABASE_URL", "SQLite is for a single `cts start`"];
            refused(&site, command, 15, &words).await;
        }
    }
}

#[tokio::test]
async fn an_unreachable_consul_is_named() {
    let nobody = format!("127.0.0.1:{}", free_port());
    let site = startable(&nobody);
    let texts = [nobody.as_str(), "cannot be reached", "CONSUL_HTTP_ADDR"];
    // Without -once cts waits.
    let once = [&START_ON_LOOPBACK[..], &["-once"]].concat();
    refused(&site, &once, 15, &texts).await;
    let original = [
        "start",
        "-config-file",
        "cts.hcl",
        "-config-file",
        "port.hcl",
    ];
    let exit = site
        .run("consul-terraform-sync", &original, "refused.log")
        .wait()
        .await;
    exit.assert_code(15).says(texts);
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let consul = ConsulAgent::start().await;
    let site = startable(&consul.address());
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    site.write("port.hcl", &format!("port = {port}\n"));
    let place = format!("cannot listen on 127.0.0.1:{port}");
    refused(
        &site,
        &START_ON_LOOPBACK,
        11,
        &[&place, "Address already in use"],
    )
    .await;
}

#[tokio::test]
async fn a_second_process_in_the_same_directory_is_refused() {
    let consul = ConsulAgent::start().await;
    let site = startable(&consul.address());
    let cts = Instance::start_embedded(&site).await;
    cts.api.wait_for_events("pool", 1).await;

    let exit = site.run_cts(free_port(), &[]).wait().await;
    exit.assert_code(11);
    let text = "another cts is at work in";
    assert!(exit.output.contains(text), "{}", exit.output);

    // The first is not disturbed.
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    site.wait_for_ids("pool", &["web-1"]).await;
    cts.stop().await;
}

#[tokio::test]
async fn strict_mode_lists_everything_that_is_not_safe() {
    let pool = |module: &str| {
        format!(
            "working_dir = \"work\"\nsecurity {{ strict = true }}\nlog_level = \"DEBUG\"\n\
             driver \"terraform\" {{\n  persist_log = true\n  backend \"local\" {{}}\n}}\n{}",
            task("pool", module, &["web"], "")
        )
    };
    refused_configuration(
        &pool("./modules/pool"),
        &[
            "security.strict = true refuses settings that are not safe: ",
            "everybody who reaches the API",
            "Terraform's trace is kept",
            "chmod o-r",
        ],
    )
    .await;
    refused_configuration(
        &pool("acme/web/any"),
        &[
            "the module of task \"pool\" has no exact version: write `version = \"1.2.3\"`",
            "file=cts.hcl line=10 column=12",
        ],
    )
    .await;
}
