//! README: a first Consul, a first start, a first change.

use std::fs;
use std::path::Path;

use cts_testkit::{ConsulAgent, assert_contains, consul_path, eventually, terraform_path};
use cts_tests::{DEADLINE, met};

use super::blocks::{Block, section};
use super::terminal::Machine;

/// The only section of its document.
const DEMO: &str = "Demo: a pool that follows a service";

/// Copies the examples, in whose directories services keep their data.
pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// A checkout, without its sources.
pub(super) fn check_out(machine: &Machine) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    copy(&root.join("examples"), &machine.path().join("examples"));
    machine.write("services/cts/Cargo.toml", "");
}

#[tokio::test]
async fn the_demo_goes_as_printed() {
    let machine = Machine::new(None);
    check_out(&machine);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
    copy(&root, &machine.path().join("scripts"));
    let readme = section("README.md", "See it work");
    let own = section("examples/demo/README.md", DEMO);
    let commands = [&readme[0], &own[0]].map(Block::commands);
    assert!(
        commands
            .iter()
            .flatten()
            .all(|it| it.starts_with("scripts/demo")),
        "{commands:?}"
    );
    let mut terminal = machine.terminal("");
    for (name, path) in [("CONSUL", consul_path()), ("TERRAFORM", terraform_path())] {
        terminal
            .works(&format!("export CTS_TEST_{name}={}", path.display()))
            .await;
    }
    let said = terminal.works(&commands[0][0]).await;
    assert_contains(&said, ["no process and no file is left"]);
    terminal.close().await;
}

#[tokio::test]
async fn the_demo_goes_by_hand_as_printed() {
    let consul = ConsulAgent::start().await;
    let machine = Machine::new(Some(&consul.address()));
    check_out(&machine);
    let blocks = section("examples/demo/README.md", DEMO);
    let [_script, start, change] = blocks.as_slice() else {
        panic!("a script and two terminals: {blocks:?}");
    };
    let mut first = machine.terminal("");
    first.leave(&start.text).await;
    machine.until_healthy().await;
    machine.until_quiet("web_pool", 1).await;
    let mut second = machine.terminal("");
    let mut said = String::new();
    for command in change.commands() {
        said += &second.works(&command).await;
        if command.contains("register") {
            machine.until_quiet("web_pool", 2).await;
        }
    }
    assert_contains(&said, ["10.20.0.1", "8081", "\"success\":true"]);
    second.close().await;
    first.close().await;
}

#[tokio::test]
async fn the_first_day_goes_as_printed() {
    let machine = Machine::new(None);
    check_out(&machine);
    let blocks = section("README.md", "Run it");
    let [consul, start, change] = blocks.as_slice() else {
        panic!("three terminals: {blocks:?}");
    };

    let mut first = machine.terminal("");
    first.leave(&consul.text).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let leader = format!("http://{}/v1/status/leader", machine.consul());
    eventually(DEADLINE, async || {
        let answer = http
            .get(&leader)
            .send()
            .await
            .map_err(|error| error.to_string())?;
        let answer = answer.text().await.map_err(|error| error.to_string())?;
        met(answer.contains(':'), answer)
    })
    .await;

    let mut second = machine.terminal("");
    second.leave(&start.text).await;
    machine.until_healthy().await;
    machine.until_quiet("hello", 1).await;

    let mut third = machine.terminal("");
    let commands = change.commands();
    third.works(&commands[0]).await;
    machine.until_quiet("hello", 2).await;
    let mut said = String::new();
    for command in &commands[1..] {
        said += &third.works(command).await;
    }
    assert_contains(
        &said,
        [
            "No problems.",
            "succeeded",
            "services: web",
            "successful",
            "'hello' has run",
        ],
    );
    third.close().await;
    second.close().await;
    first.close().await;
}
