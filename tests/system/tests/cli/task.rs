//! `cts task` against a server that answers as docs/rest.md says, and against a real cts.

mod approvals;
mod arguments;
mod broken_log;
pub(crate) mod call;
mod causes;
mod connection;
mod create;
mod delete;
mod disable;
mod enable;
mod fragments;
mod import;
mod mcp;
mod ours;
mod real;
mod release;
mod replace;
mod run;
mod run_ids;
mod tables;

use cts_testkit::{ScriptedAnswer, ScriptedHttp};
use serde_json::{Value, json};

use self::call::{Call, CommandOutput};

/// Id of requests in answers.
const REQUEST_ID: &str = "5f0c2a52-64bb-41c0-8d2e-0c61c6f1a9ee";

/// A server, and the requests to it.
struct Conversation {
    server: ScriptedHttp,
}

impl Conversation {
    async fn with(script: impl IntoIterator<Item = ScriptedAnswer>) -> Self {
        Self {
            server: ScriptedHttp::start(script).await,
        }
    }

    /// `call`, whose environment names the server.
    fn call(&self, call: Call) -> Call {
        call.variable("CTS_ADDRESS", format!("http://{}", self.server.address()))
    }

    /// Runs `call` against the server and demands that these requests come, and no others.
    async fn run(&self, call: Call, requests: &[&str]) -> CommandOutput {
        let said = self.call(call).run().await;
        assert_eq!(self.server.lines(), requests, "{said}");
        assert_eq!(self.server.answers_left(), 0, "{said}");
        self.without_port(said)
    }

    /// Replaces the server's address, whose port differs each time.
    fn without_port(&self, said: CommandOutput) -> CommandOutput {
        said.replace(&self.server.address().to_string(), "SERVER")
    }
}

fn unknown_task(name: &str) -> ScriptedAnswer {
    let message =
        format!("a task with name '{name}' does not exist or has not been initialized yet");
    refused(404, &message)
}

fn busy_task(name: &str) -> ScriptedAnswer {
    refused(
        500,
        &format!("task '{name}' is active and cannot be updated at this time"),
    )
}

fn refused(status: u16, message: &str) -> ScriptedAnswer {
    let body = json!({"error": {"message": message}, "request_id": REQUEST_ID});
    ScriptedAnswer::Json(status, body)
}

fn ok(body: Value) -> ScriptedAnswer {
    ScriptedAnswer::Json(200, body)
}

fn accepted() -> ScriptedAnswer {
    ScriptedAnswer::Json(202, json!({"request_id": REQUEST_ID}))
}
