//! `cts task`, `cts runs`, `cts audit` and `cts import`: tasks, runs and records of a running cts, through its API.
//!
//! The commands of the original have its flows, streams and exit codes, under whatever name the program was invoked
//! (docs/cli.md#cts-task). All other commands exist only in cts: standard output has only their result, standard error
//! everything else.

mod audit;
mod create;
mod delete;
mod differences;
mod disable;
mod enable;
mod events;
mod explain;
mod import;
mod list;
mod members;
mod prompt;
mod release;
mod replace;
mod run_now;
mod runs;
mod session;
mod show;
mod state;
mod state_text;
mod status;
mod task_file;
mod ui;
mod waiting;
mod watch;

use std::future::{pending, ready};
use std::io::{stderr, stdin, stdout};
use std::pin::pin;

use cts_api_client::{ClientSettings, ErrorForm};
use cts_core::ApprovalRule;
use cts_runtime::ProcessEnv;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

pub use self::runs::approvals::text as consent_text;
pub use self::runs::plan::numbers as plan_numbers;
use self::session::{ExitStatus, Session, Style};
use self::ui::{Input, Stream, Ui};
use crate::arguments::{
    ApprovalsCommand, Audit, Causes, ClientOptions, Import, RunsCommand, SchedulerCommand, Status,
    TaskCommand, TestPlan,
};
use crate::exit_code::EXIT_INTERRUPTED;

/// Runs `cts task` and returns the exit code (docs/cli.md#exit-codes). Prints everything itself.
pub(crate) async fn run(command: TaskCommand, process_env: &ProcessEnv) -> u8 {
    let style = match command {
        TaskCommand::Create(_) | TaskCommand::Delete(_) => Style::Original(ErrorForm::New),
        TaskCommand::Enable(_) | TaskCommand::Disable(_) => Style::Original(ErrorForm::Legacy),
        _ => Style::Ours,
    };
    converse(process_env, style, async |mut session| {
        Box::pin(task(command, &mut session)).await
    })
    .await
}

/// Runs `cts runs` and returns the exit code. Prints everything itself.
pub(crate) async fn runs(command: RunsCommand, process_env: &ProcessEnv) -> u8 {
    converse(
        process_env,
        Style::Ours,
        async |mut session| match command {
            RunsCommand::List(options) => runs::list(&mut session, options).await,
            RunsCommand::Show { query, id } => runs::show(&mut session, &query, &id).await,
            RunsCommand::Plan { query, id } => runs::plan::run(&mut session, &query, &id).await,
            RunsCommand::Input { query, diff, id } => {
                runs::input::run(&mut session, &query, diff, &id).await
            }
            RunsCommand::Logs { query, part, id } => {
                runs::logs::of_run(&mut session, &query, &part, &id).await
            }
            RunsCommand::Cancel(options) => runs::cancel::run(&mut session, &options).await,
        },
    )
    .await
}

/// Runs `cts causes` and returns the exit code. Prints everything itself.
pub(crate) async fn causes(command: Causes, process_env: &ProcessEnv) -> u8 {
    converse(process_env, Style::Ours, async |mut session| {
        runs::causes::list(&mut session, &command).await
    })
    .await
}

/// Runs `cts approvals` and returns the exit code. Prints everything itself.
pub(crate) async fn approvals(command: ApprovalsCommand, process_env: &ProcessEnv) -> u8 {
    converse(
        process_env,
        Style::Ours,
        async |mut session| match command {
            ApprovalsCommand::List { place, patterns } => {
                runs::approvals::list(&mut session, &place.query, &patterns).await
            }
            ApprovalsCommand::Show { place, id } => {
                runs::approvals::show(&mut session, &place.query, &id).await
            }
            ApprovalsCommand::Approve(options) => {
                runs::approvals::approve(&mut session, options).await
            }
            ApprovalsCommand::Reject {
                place,
                effect,
                comment,
                id,
            } => {
                let query = &place.query;
                runs::approvals::decide(&mut session, query, &id, (&effect, true), &comment).await
            }
            ApprovalsCommand::Reopen { place, name } => {
                runs::approvals::reopen(&mut session, &place.query, &name).await
            }
            ApprovalsCommand::Test(_) => {
                let headline = "Error: a client alone cannot test a plan";
                Err(session.fail(headline, "`cts approvals test` needs more than the API"))
            }
        },
    )
    .await
}

/// The rule that a running cts names for the task of `cts approvals test`, and the address of the API; `Err` is the exit
/// code if no answer comes.
pub async fn rule_in_force(
    test: &TestPlan,
    process_env: &ProcessEnv,
) -> Result<(ApprovalRule, String), u8> {
    let mut found = None;
    let code = converse(process_env, Style::Ours, async |mut session| {
        found = Some(runs::approvals::rule(&mut session, &test.query, &test.task).await?);
        Ok(())
    })
    .await;
    found.ok_or(code)
}

/// Runs `cts status` and returns the exit code. Prints everything itself.
pub(crate) async fn status(command: Status, process_env: &ProcessEnv) -> u8 {
    converse(process_env, Style::Ours, async |mut session| {
        status::run(&mut session, &command).await
    })
    .await
}

/// Runs `cts workers` or `cts cluster` through the API, and returns the exit code. Prints everything itself.
pub(crate) async fn scheduler(command: SchedulerCommand, process_env: &ProcessEnv) -> u8 {
    converse(process_env, Style::Ours, async |mut session| {
        members::run(&mut session, &command).await
    })
    .await
}

/// Runs `cts audit` and returns the exit code. Prints everything itself.
pub(crate) async fn audit(command: Audit, process_env: &ProcessEnv) -> u8 {
    converse(process_env, Style::Ours, async |mut session| {
        audit::run(&mut session, &command).await
    })
    .await
}

/// Runs `cts mcp` and returns the exit code.
pub(crate) async fn mcp(options: ClientOptions, process_env: &ProcessEnv) -> u8 {
    converse(process_env, Style::Ours, async |mut session| {
        // Reports what cannot be used before the assistant begins.
        session.client(&options)?;
        let environment = process_env.text_environment();
        let (settings, _warnings) = ClientSettings::resolve(&(&options).into(), &environment);
        let ended = Box::pin(super::mcp::serve(settings)).await;
        ended.map_err(|error| session.fail("Error: unable to serve tools", &error.to_string()))
    })
    .await
}

/// Runs `cts import` and returns the exit code. Prints everything itself.
pub(crate) async fn import(command: Import, process_env: &ProcessEnv) -> u8 {
    converse(process_env, Style::Ours, async |mut session| {
        import::run(&mut session, &command).await
    })
    .await
}

/// Asks whether to carry out the announced action; `Err` is the exit code if no answer comes.
pub async fn confirm(question: &str, process_env: &ProcessEnv) -> Result<bool, u8> {
    let mut approved = false;
    let code = converse(process_env, Style::Ours, async |mut session| {
        session.ui.info(question);
        approved = prompt::ask(&mut session, "Cancelled").await?;
        Ok(())
    })
    .await;
    match code {
        0 => Ok(approved),
        code => Err(code),
    }
}

/// Ctrl-C ends the command; at a prompt Ctrl-C is a refusal, which has its own text and exit code. The server continues
/// with the requests that it has received.
async fn converse(
    process_env: &ProcessEnv,
    style: Style,
    command: impl AsyncFnOnce(Session<'_>) -> Result<(), ExitStatus>,
) -> u8 {
    // If the signal cannot be caught, it ends the process.
    let signals = signal(SignalKind::interrupt());
    let interrupted = async {
        match signals {
            Ok(mut signals) => drop(signals.recv().await),
            Err(_not_caught) => pending().await,
        }
    };
    let (mut stdout, mut stderr) = (stdout(), stderr());
    let passed_on = CancellationToken::new();
    let input = Input::new(stdin());
    let (to_stdout, to_stderr) = (Stream::new(&mut stdout), Stream::new(&mut stderr));
    let ui = Ui::new(to_stdout, to_stderr, input, passed_on.clone());
    let conversation = async {
        let session = Session {
            ui,
            process_env,
            style,
        };
        let result = command(session).await;
        result.map_or_else(ExitStatus::exit_code, |()| 0)
    };
    until_interrupted(conversation, interrupted, &passed_on).await
}

/// Returns the exit code of a conversation, or of its interruption. A single listener receives the signal and passes it
/// on: with two listeners, either might get the signal first.
async fn until_interrupted(
    conversation: impl Future<Output = u8>,
    interrupted: impl Future<Output = ()>,
    passed_on: &CancellationToken,
) -> u8 {
    let mut conversation = pin!(conversation);
    tokio::select! {
        biased;
        code = &mut conversation => return code,
        () = interrupted => passed_on.cancel(),
    }
    // A prompt answers at once, and nothing else does.
    tokio::select! {
        biased;
        code = conversation => code,
        () = ready(()) => EXIT_INTERRUPTED,
    }
}

async fn task(command: TaskCommand, session: &mut Session<'_>) -> Result<(), ExitStatus> {
    match command {
        TaskCommand::Create(options) => create::run(session, &options).await,
        TaskCommand::Replace(options) => replace::run(session, &options).await,
        TaskCommand::Delete(options) => delete::run(session, &options).await,
        TaskCommand::Enable(options) => enable::run(session, &options).await,
        TaskCommand::Disable(options) => disable::run(session, &options).await,
        TaskCommand::List(options) => list::run(session, &options).await,
        TaskCommand::Show(task) => show::run(session, &task).await,
        TaskCommand::Explain(task) => explain::run(session, &task).await,
        TaskCommand::Logs(options) => runs::logs::of_task(session, &options).await,
        TaskCommand::Events(task) => events::run(session, &task).await,
        TaskCommand::Release(options) => release::run(session, &options).await,
        TaskCommand::State(options) => state::run(session, &options).await,
        TaskCommand::Run(options) => run_now::run(session, &options).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn interrupted(
        conversation: impl Future<Output = u8>,
        passed_on: &CancellationToken,
    ) -> u8 {
        until_interrupted(conversation, ready(()), passed_on).await
    }

    #[tokio::test]
    async fn a_prompt_answers_an_interrupt_and_anything_else_is_ended_by_it() {
        let passed_on = CancellationToken::new();
        let prompt = async {
            passed_on.cancelled().await;
            11
        };
        assert_eq!(interrupted(prompt, &passed_on).await, 11);
        let passed_on = CancellationToken::new();
        assert_eq!(interrupted(pending(), &passed_on).await, EXIT_INTERRUPTED);
        assert_eq!(interrupted(ready(0), &passed_on).await, 0);
    }
}
