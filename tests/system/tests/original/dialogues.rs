//! Dialogues on a terminal, as `expect` has them: prompt line by prompt line, then each answer that a user may give.

use cts_tests::task;

use super::site::Server;
use crate::cli::task::call::{Call, CommandOutput};

/// Lines that scripts wait for, in their order; `X` is the task.
const CREATE: [&str; 7] = [
    "Inspecting the changes for creating 'X'",
    "Request Payload:",
    "Creating the task will perform the actions described above.",
    "Do you want to perform these actions for 'X'?",
    " - This action cannot be undone.",
    "Only 'yes' will be accepted to approve, enter 'no' or leave blank to reject.",
    "Enter a value: ",
];

const ENABLE: [&str; 6] = [
    "Inspecting the changes for enabling 'X'",
    "Enabling the task will perform the actions described above.",
    "Do you want to perform these actions for 'X'?",
    " - This action cannot be undone.",
    "Only 'yes' will be accepted to approve, enter 'no' or leave blank to reject.",
    "Enter a value: ",
];

const DELETE: [&str; 4] = [
    "Do you want to delete 'X'?",
    " - This action cannot be undone.",
    "Only 'yes' will be accepted to approve, enter 'no' or leave blank to reject.",
    "Enter a value: ",
];

/// Typed keys, the exit code, and the text after it. `DONE` is that of the command, `VERB` its gerund.
const ANSWERS: [(&str, i32, &str); 10] = [
    ("no\n", 0, "Cancelled VERB task 'X'"),
    ("\n", 0, "Cancelled VERB task 'X'"),
    ("y\n", 0, "Cancelled VERB task 'X'"),
    ("YES\n", 0, "Cancelled VERB task 'X'"),
    (" yes\n", 0, "Cancelled VERB task 'X'"),
    ("yes \n", 0, "Cancelled VERB task 'X'"),
    // Ctrl-D: the end of the input.
    ("\u{4}", 11, "Error asking for approval: EOF"),
    ("yes\u{4}\u{4}", 11, "Error asking for approval: EOF"),
    // Ctrl-C.
    ("\u{3}", 11, "Error asking for approval: interrupted"),
    ("yes\n", 0, "DONE"),
];

struct Command {
    words: &'static [&'static str],
    task: &'static str,
    prompt: &'static [&'static str],
    verb: &'static str,
    done: &'static str,
}

/// In an order in which each finds what it needs.
const COMMANDS: [Command; 3] = [
    Command {
        words: &["task", "create", "-task-file=made.hcl"],
        task: "made",
        prompt: &CREATE,
        verb: "creating",
        done: "Task 'made' created",
    },
    Command {
        words: &["task", "enable", "cold"],
        task: "cold",
        prompt: &ENABLE,
        verb: "enabling",
        done: "'cold' enable complete!",
    },
    Command {
        words: &["task", "delete", "made"],
        task: "made",
        prompt: &DELETE,
        verb: "deleting",
        done: "Task 'made' has been marked for deletion and will be deleted when not running.",
    },
];

fn cold() -> String {
    task("cold", "./module", &["web"], "enabled = false")
}

async fn talk(server: &Server, command: &Command, keys: &str) -> CommandOutput {
    let call = Call::original(command.words)
        .file("made.hcl", &server.task_file("made"))
        .variable("CTS_ADDRESS", server.address());
    let lines = command.prompt.iter();
    let lines: Vec<String> = lines.map(|line| line.replace('X', command.task)).collect();
    let mut dialogue: Vec<(&str, &str)> = lines.iter().map(|line| (line.as_str(), "")).collect();
    dialogue.last_mut().unwrap().1 = keys;
    call.dialogue(&dialogue).await
}

#[tokio::test]
async fn each_answer_on_a_terminal() {
    let server = Server::start_with(&cold()).await;
    let mut faults = Vec::new();
    for command in &COMMANDS {
        for (keys, code, text) in ANSWERS {
            let said = talk(&server, command, keys).await;
            let text = text
                .replace("DONE", command.done)
                .replace("VERB", command.verb);
            let text = text.replace('X', command.task);
            if said.code != Some(code) || !said.stdout.contains(&text) {
                faults.push(format!("{:?}, {keys:?}: {text:?}\n{said}", command.words));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    server.end().await;
}

#[tokio::test]
async fn a_refused_answer_changes_nothing() {
    let server = Server::start_with(&cold()).await;
    for command in &COMMANDS[..2] {
        talk(&server, command, "no\n").await;
    }
    assert_eq!(server.ask("/v1/tasks/made").await.0, 404);
    assert_eq!(
        server.ask("/v1/tasks/cold").await.1["task"]["enabled"],
        false
    );
    server.end().await;
}

/// Words on standard input, as from a pipe.
#[tokio::test]
async fn an_answer_from_a_pipe_needs_its_end_of_line() {
    let server = Server::start_with(&cold()).await;
    for (input, code, text) in [
        ("no\nyes\n", 0, "Cancelled enabling task 'cold'"),
        ("", 11, ""),
        ("yes", 11, ""),
        ("yes\r\n", 0, "'cold' enable complete!"),
    ] {
        let said = Call::original(&["task", "enable", "cold"])
            .variable("CTS_ADDRESS", server.address())
            .input(input)
            .run()
            .await;
        assert_eq!(said.code, Some(code), "{input:?}: {said}");
        assert!(said.stdout.contains(text), "{input:?}: {said}");
        if code == 11 {
            said.stderr_has(["Error asking for approval: EOF"]);
        }
    }
    server.end().await;
}
