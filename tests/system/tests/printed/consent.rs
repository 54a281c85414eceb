//! The consent that a plan would need, as docs/cli.md prints it.

use cts_testkit::assert_contains;

use super::blocks::section;
use super::terminal::Machine;

const CONFIGURATION: &str = r#"task {
  name     = "edge-lb"
  module   = "./module"
  approval = "destroy"
  condition "services" { names = ["web"] }
}
"#;

#[tokio::test]
async fn a_plan_is_tested_as_printed() {
    let machine = Machine::new(None);
    machine.write("cts.hcl", CONFIGURATION);
    machine.write("module/main.tf", "");
    let mut terminal = machine.terminal("");
    machine.write("main.tf", "resource \"terraform_data\" \"old\" {}\n");
    terminal.works("terraform init").await;
    terminal.works("terraform apply -auto-approve").await;
    let new = "resource \"terraform_data\" \"new\" {\n  count = 2\n}\n";
    machine.write("main.tf", new);
    terminal.works("terraform plan -out plan.out").await;
    let blocks = section("docs/cli.md", "What a plan would need");
    let lines = || blocks[0].text.lines();
    let mut commands = lines().filter_map(|line| line.strip_prefix("$ "));
    terminal.works(commands.next().unwrap()).await;
    let tested = terminal.run(commands.next().unwrap()).await;
    assert_eq!(
        (tested.code, commands.next()),
        (18, None),
        "{}",
        tested.text
    );
    let said = lines().filter(|line| !line.starts_with('$'));
    for line in said.map(|line| line.replace("aws_instance", "terraform_data")) {
        assert_contains(&tested.text, [line.trim_end()]);
    }
    terminal.close().await;
}
