//! docs/common-jobs.md: each command of the first table, and the request that it makes.

use std::fs;

use cts_testkit::{ConsulAgent, Postgres, assert_contains, eventually};
use cts_tests::{DEADLINE, STEP_SCRIPT, STEPS, met, task};
use serde_json::Value;

use super::blocks::section;
use super::terminal::{Machine, Terminal};

const DOCUMENT: &str = include_str!("../../../../docs/common-jobs.md");

const TASK: &str = r#"{"task": {"name": "web", "module": "./modules/web", "condition": {"services": {"names": ["web"]}}}}"#;

/// Makes a task again, in the words of the table.
const CREATE: &str = "cts task create -auto-approve -task-file web.hcl";

/// The commands and requests of the jobs, in their order.
fn commands() -> Vec<String> {
    let rows = DOCUMENT
        .lines()
        .skip_while(|line| !line.starts_with("| job |"))
        .skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let commands = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    commands.map(str::to_owned).collect()
}

struct Place {
    machine: Machine,
    consul: ConsulAgent,
    terminal: Terminal,
    changes: u32,
}

impl Place {
    async fn new() -> Self {
        let consul = ConsulAgent::start().await;
        let machine = Machine::new(Some(&consul.address()));
        machine.use_database(&Postgres::shared().await.create_database().await);
        let here = machine.path().to_str().unwrap().to_owned();
        let steps = STEPS.replace("@SITE@", &here).replace("@TASK@", "web");
        machine.write("modules/web/main.tf", &steps);
        machine.write("modules/web/step.sh", STEP_SCRIPT);
        let web = task("web", "./modules/web", &["web"], "");
        machine.write(
            "cts.hcl",
            &format!("buffer_period {{ enabled = false }}\n{web}"),
        );
        machine.write("web.hcl", &web);
        machine.write("web.json", TASK);
        consul.register_service("web", "web-1", 1, &[], &[]).await;
        let terminal = machine.terminal("");
        Self {
            machine,
            consul,
            terminal,
            changes: 1,
        }
    }

    /// Starts cts in a terminal of its own.
    async fn start(&mut self) -> Terminal {
        self.terminal
            .works("cts migrate -config-file cts.hcl")
            .await;
        let mut terminal = self.machine.terminal("");
        terminal.leave("cts start -config-file cts.hcl").await;
        self.machine.until_healthy().await;
        self.machine.until_quiet("web", 1).await;
        terminal
    }

    async fn newest_run(&self) -> Value {
        let runs = self.machine.api().get("/v1/runs?limit=1").await;
        runs["runs"][0].clone()
    }

    async fn worker(&self) -> String {
        let overview = self.machine.api().get("/v1/overview").await;
        overview["workers"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Begins a run that does not end by itself.
    async fn hold_a_run(&mut self) {
        self.machine.write("hold", "");
        self.changes += 1;
        let id = format!("web-{}", self.changes);
        self.consul.register_service("web", &id, 1, &[], &[]).await;
        eventually(DEADLINE, async || {
            let run = self.newest_run().await;
            let journal = fs::read_to_string(self.machine.path().join("web.journal"));
            let begun = journal
                .unwrap_or_default()
                .lines()
                .any(|line| line.starts_with("begin") && line.ends_with(&id));
            met(run["status"] == "running" && begun, run.to_string())
        })
        .await;
    }

    async fn until_gone(&self) {
        eventually(DEADLINE, async || {
            match self.machine.api().ask("/v1/tasks/web").await {
                Ok((404, _)) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }

    async fn delete(&mut self) {
        self.terminal
            .works("cts task delete -auto-approve web")
            .await;
        self.until_gone().await;
    }

    /// Runs a command as printed, with what it needs before and leaves behind.
    async fn run(&mut self, printed: &str) {
        let (makes, removes) = (
            printed.contains("task create")
                || printed.contains("-X POST 'localhost:8558/v1/tasks?"),
            printed.contains("task delete") || printed.contains("-X DELETE"),
        );
        let cancels = printed.contains("cancel");
        if makes {
            self.delete().await;
        }
        if cancels {
            self.hold_a_run().await;
        }
        let run = self.newest_run().await;
        let mut command = printed.replace("ID", run["id"].as_str().unwrap());
        if command.contains("NAME") {
            command = command.replace("NAME", &self.worker().await);
        }
        let is_endless = command.ends_with("-watch");
        if is_endless {
            command = format!("timeout 3 {command}");
        }
        let said = self.terminal.run(&command).await;
        let well = match printed {
            _ if is_endless => 124..=124,
            // Differences, and warnings.
            _ if printed.starts_with("cts config diff") => 0..=2,
            _ if printed.starts_with("cts doctor") => 0..=3,
            _ => 0..=0,
        };
        assert!(well.contains(&said.code), "{command}: {said:?}");
        assert!(!said.text.is_empty(), "{command} printed nothing");
        if cancels {
            fs::remove_file(self.machine.path().join("hold")).unwrap();
        }
        if removes {
            self.until_gone().await;
            self.terminal.works(CREATE).await;
        }
        if printed.contains("drain") {
            return;
        }
        if printed.contains("disable") || printed.contains("\"enabled\":false") {
            self.terminal
                .works("cts task enable -auto-approve web")
                .await;
        }
        self.machine.until_quiet("web", 0).await;
    }
}

#[tokio::test]
async fn common_jobs_are_done_as_printed() {
    let mut place = Place::new().await;
    let all = commands();
    assert!(all.len() > 40, "{all:?}");
    // A worker that is drained leaves, and with it its process; no process runs while a database is migrated.
    let (last, first): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|it| it.contains("drain") || it.contains("migrate"));
    let (migrations, drains): (Vec<_>, Vec<_>) =
        last.into_iter().partition(|it| it.contains("migrate"));
    let mut terminal = place.start().await;
    for command in first {
        place.run(&command).await;
    }
    for command in drains {
        place.run(&command).await;
        terminal.until_idle().await;
        terminal.close().await;
        terminal = place.start().await;
    }
    terminal.close().await;
    for command in migrations {
        place.terminal.works(&command).await;
    }
    place.terminal.close().await;
}

/// Sections whose commands only look, and those that run a task.
const LOOKS: [(&str, &str); 8] = [
    ("docs/cli.md", "Examples"),
    ("docs/cli.md", "`cts status`"),
    ("docs/cli.md", "`cts config diff`"),
    ("docs/cli.md", "`cts approvals`"),
    ("docs/cli.md", "`cts doctor`"),
    ("docs/production.md", "For production"),
    ("docs/runbook.md", "Cts no leader"),
    ("docs/runbook.md", "Cts task failing"),
];

#[tokio::test]
async fn looks_at_a_running_cts_go_as_printed() {
    let mut place = Place::new().await;
    let terminal = place.start().await;
    for (document, name) in LOOKS {
        for block in section(document, name) {
            let commands = block.commands().into_iter();
            // After a prompt follows what the command has printed.
            let prompted = block.text.starts_with("$ ");
            let commands = commands.filter_map(|line| match line.strip_prefix("$ ") {
                Some(command) => Some(command.to_owned()),
                None => (!prompted).then_some(line),
            });
            for command in commands {
                let id = place.newest_run().await["id"].as_str().unwrap().to_owned();
                let command = command
                    .replace("NAME", "web")
                    .replace("logs ID", &format!("logs {id}"));
                let command = command.replace("0197a000-0000-7000-8000-000000000001", &id);
                let said = place.terminal.run(&command).await;
                // Differences, warnings, and rights that the token of the test has not.
                let mut words = command.split_whitespace().skip(1);
                let well = match (words.next(), words.next()) {
                    (Some("config"), _) => 0..=2,
                    (Some("doctor"), _) => 0..=4,
                    // The applies of this task have no plan as data, and nothing waits for consent.
                    (Some("runs"), Some("plan")) | (Some("approvals"), Some("approve")) => 11..=11,
                    _ => 0..=0,
                };
                assert!(well.contains(&said.code), "{command}: {said:?}");
                place.machine.until_quiet("web", 1).await;
            }
        }
    }
    terminal.close().await;
    place.terminal.close().await;
}

#[tokio::test]
async fn a_module_is_tried_as_printed() {
    let consul = ConsulAgent::start().await;
    let machine = Machine::new(Some(&consul.address()));
    let module = "variable \"services\" {\n  type = map(object({ name = string, address = string, port = number }))\n}\n\
        resource \"terraform_data\" \"hosts\" {\n  input = var.services\n}\n";
    machine.write("modules/hosts/main.tf", module);
    machine.write("cts.hcl", &task("hosts", "./modules/hosts", &["web"], ""));
    let blocks = section("docs/writing-modules.md", "Trying a module");
    let mut said = String::new();
    for block in blocks {
        let mut terminal = machine.terminal("");
        for command in block.commands() {
            said += &terminal.works(&command).await;
        }
        terminal.close().await;
    }
    assert_contains(
        &said,
        ["configuration is valid", "1 to add", "inspection results"],
    );
}
