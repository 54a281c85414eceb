//! Parts of the output that scripts of the original look for, each on its stream, and on one line.

use cts_testkit::ScriptedAnswer;
use serde_json::json;

use super::call::Call;
use super::{Conversation, REQUEST_ID, accepted, ok, refused};
use crate::cli::calls::{ORIGINAL, OURS};

/// A call, and on each line below it a stream with a fragment, under both names of the program. `{name}` stands
/// for the name.
const BOTH_NAMES: &str = "
task create -task-file=web.hcl
    out Creating the task will perform the actions described above.
    out Do you want to perform these actions for 'web'?
    out  - This action cannot be undone.
    out Only 'yes' will be accepted to approve, enter 'no' or leave blank to reject.
    out Cancelled creating task 'web'
task create -task-file=used.hcl
    err Error: unable to generate plan for 'used'
    out task with name used already exists
task create
    err Error: unable to create request
    out no task file provided
    out For additional help try '{name} task create --help'
task create -task-file=two.hcl
    out task file 'two.hcl' cannot contain more than 1 task, contains 2 tasks
task create -task-file=missing.hcl
    err Error: unable to create request
    out unable to read task file
task create -task-file=open.hcl
    out literal not terminated
task create -task-file=name.hcl
    out must start with a letter or underscore and may
task create -task-file=module.hcl
    out module for the task is required
task create -task-file=old.hcl
    out the 'source' field in the task block is no longer supported
    out the 'source_input' block in the task is no longer supported
    out the 'services' field in the task block is no longer supported
task create -task-file=older.hcl
    out the 'source_includes_var' field in the task's 'condition \"services\"' block is no longer supported
task enable web
    out Enabling the task will perform the actions described above.
    out Do you want to perform these actions for 'web'?
    out  - This action cannot be undone.
    out Only 'yes' will be accepted to approve, enter 'no' or leave blank to reject.
    out Cancelled enabling task 'web'
task enable a b
    err Error: this command requires one argument
    out 2 arguments were passed to the command: 'a, b'
    out For additional help try '{name} task enable --help'
task disable
    err Error: this command requires one argument
    out No arguments were passed to the command
    out For additional help try '{name} task disable --help'
task enable -port=x a
    err Error: unsupported arguments in flags '-port=x, a'
task delete -unknown -x a
    err Error: unsupported arguments in flags '-unknown, -x, a'
task delete -auto-approve web
    out Marking task 'web' for deletion...
    out Task 'web' has been marked for deletion and will be deleted when not running.
start
    err unable to start {name}
    out no config file provided
    out For additional help try '{name} start --help'
";

/// Under the original's name only: its usage pages, and the place of options.
const ORIGINAL_NAME: &str = "
-h
    out Usage CLI: {name} <command> [-help] [options]
-help
    out Usage CLI: {name} <command> [-help] [options]
--help
    out Usage CLI: {name} <command> [-help] [options]
-once=false
    out Usage CLI: {name} <command> [-help] [options]
start -h
    out Usage CLI: {name} start [-help] [options]
    out -once [Default: false]
task enable -help
    out Usage: {name} task enable [-help] [options] <task name>
    out auto-approve [Default: false]
task disable -help
    out Usage: {name} task disable [-help] [options] <task name>
task delete -help
    out Usage: {name} task delete [-help] [options] <task name>
    out auto-approve [Default: false]
task create -help
    out Usage: {name} task create [-help] [options] -task-file=<task config>
    out auto-approve [Default: false]
task enable a -auto-approve
    out 2 arguments were passed to the command: 'a, -auto-approve'
    out All flags are required to appear before positional arguments if set
";

const TASK: &str = "task {\n  name = \"web\"\n  module = \"acme/lb/cts\"\n  condition \"services\" { names = [\"api\"] }\n}\n";

/// Writes the task files of the tables.
fn with_files(call: Call) -> Call {
    let old = "services = [\"api\"]\n  source_input \"consul-kv\" { path = \"p\" }";
    let older =
        "condition \"services\" {\n    names = [\"api\"]\n    source_includes_var = true\n  }";
    let with = |lines: &str| format!("task {{\n  name = \"web\"\n  {lines}\n}}\n");
    call.file("web.hcl", TASK)
        .file("used.hcl", &TASK.replace("web", "used"))
        .file("two.hcl", &(TASK.to_owned() + &TASK.replace("web", "used")))
        .file("open.hcl", "task {\n  name = \"web\n}\n")
        .file("name.hcl", &TASK.replace("web", "n 7"))
        .file("module.hcl", &with(""))
        .file("old.hcl", &with(&format!("source = \"m\"\n  {old}")))
        .file("older.hcl", &with(&format!("module = \"m\"\n  {older}")))
}

fn plan(member: &str) -> ScriptedAnswer {
    let plan = json!({"changes_present": true, "plan": "Plan: 1 to add."});
    ok(json!({"request_id": REQUEST_ID, member: plan, "task": {"name": "web"}}))
}

/// Answers of the API to a call.
fn script(call: &str) -> Vec<ScriptedAnswer> {
    match call {
        "task create -task-file=web.hcl" => vec![plan("run")],
        "task enable web" => vec![plan("inspect")],
        "task create -task-file=used.hcl" => {
            vec![refused(400, "task with name used already exists")]
        }
        "task delete -auto-approve web" => vec![ok(json!({"task": {"name": "web"}})), accepted()],
        _ => Vec::new(),
    }
}

async fn assert_table(table: &str, name: &str) {
    let mut said = None;
    for line in table.lines().filter(|line| !line.is_empty()) {
        let Some(row) = line.strip_prefix("    ") else {
            let words: Vec<&str> = line.split_whitespace().collect();
            let call = match name {
                OURS => Call::cts(&words),
                _ => Call::original(&words),
            };
            let server = Conversation::with(script(line)).await;
            said = Some(server.call(with_files(call).input("no\n")).run().await);
            continue;
        };
        let (stream, fragment) = row.split_once(' ').unwrap();
        let fragment = fragment.replace("{name}", name);
        let said = said.as_ref().unwrap();
        match stream {
            "out" => said.stdout_has([fragment.as_str()]),
            _ => said.stderr_has([fragment.as_str()]),
        }
    }
}

#[tokio::test]
async fn each_fragment_is_on_its_stream() {
    assert_table(BOTH_NAMES, OURS).await;
    assert_table(BOTH_NAMES, ORIGINAL).await;
    assert_table(ORIGINAL_NAME, ORIGINAL).await;
}

#[tokio::test]
async fn without_a_command_the_usage_is_shown() {
    let said = Call::original(&[]).run().await;
    said.stdout_has(["Usage CLI: consul-terraform-sync <command> [-help] [options]"]);
}
