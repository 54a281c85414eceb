//! README: the four services on one machine.

use cts_testkit::{ConsulAgent, Postgres, assert_contains};

use super::blocks::section;
use super::first_day::check_out;
use super::terminal::Machine;

#[tokio::test]
async fn four_services_start_as_printed() {
    let consul = ConsulAgent::start().await;
    let machine = Machine::new(Some(&consul.address()));
    check_out(&machine);
    machine.use_database(&Postgres::shared().await.create_database().await);
    let blocks = section("README.md", "Run it as four services");
    let [all] = blocks.as_slice() else {
        panic!("one terminal: {blocks:?}");
    };
    let mut terminal = machine.terminal("examples/cluster");
    let commands = all.commands();
    let (start, look): (Vec<&String>, Vec<&String>) = commands
        .iter()
        .partition(|command| !command.contains("status") && !command.contains("list"));
    for command in start {
        terminal.works(command).await;
    }
    machine.until_healthy().await;
    machine.until_quiet("hello", 1).await;
    let mut said = String::new();
    for command in look {
        said += &terminal.works(command).await;
    }
    assert_contains(&said, ["No problems.", "leads", "1 active", "0/4"]);
    terminal.close().await;
}
