//! `cts task`, `cts runs` and `cts import`: tasks and runs of a running cts, through its API.
//!
//! The commands of the original have its flows, streams and exit codes, under whatever name the program was
//! invoked (docs/cli.md#cts-task). `list`, `show`, `events`, `release`, `state` and `run` are cts-only, and
//! so is `cts runs`: their result alone is on standard output, everything else on standard error.

mod cancel;
mod create;
mod delete;
mod disable;
mod enable;
mod events;
mod import;
mod list;
mod prompt;
mod release;
mod run_now;
mod runs;
mod session;
mod show;
mod state;
pub(crate) mod table;
mod task_file;
mod time_text;
mod ui;
mod waiting;
mod watch;

use std::future::ready;
use std::io::{stderr, stdin, stdout};
use std::pin::pin;

use cts_runtime::ProcessEnv;
use tokio_util::sync::CancellationToken;

pub use self::ui::on_one_line;

use self::session::{ExitStatus, Session};
use self::ui::{Input, Interrupt, Ui};
use crate::arguments::{Import, OneTask, QueryOptions, RunsCommand, TaskCommand};
use crate::exit_code::EXIT_INTERRUPTED;

/// Runs `cts task` and returns the exit code (docs/cli.md#exit-codes). Prints everything itself.
pub(crate) async fn run(command: TaskCommand, process_env: &ProcessEnv) -> u8 {
    converse(process_env, async |session| task(command, session).await).await
}

/// Runs `cts runs` and returns the exit code. Prints everything itself.
pub(crate) async fn runs(command: RunsCommand, process_env: &ProcessEnv) -> u8 {
    converse(process_env, async |mut session| {
        runs::run(&mut session, command).await
    })
    .await
}

/// Runs `cts import` and returns the exit code. Prints everything itself.
pub(crate) async fn import(command: Import, process_env: &ProcessEnv) -> u8 {
    converse(process_env, async |mut session| {
        import::run(&mut session, &command).await
    })
    .await
}

/// Asks whether to do the announced action; `Err` is the exit code if no answer comes.
pub async fn confirm(question: &str, process_env: &ProcessEnv) -> Result<bool, u8> {
    let mut approved = false;
    let code = converse(process_env, async |mut session| {
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

/// Ctrl-C ends the command; at a prompt that is a refusal, which has its own text and exit code. The server
/// goes on with what it got before.
async fn converse(
    process_env: &ProcessEnv,
    command: impl AsyncFnOnce(Session<'_>) -> Result<(), ExitStatus>,
) -> u8 {
    let interrupted = Interrupt::of_this_process();
    let (mut stdout, mut stderr) = (stdout(), stderr());
    let input = Input::new(stdin());
    let passed_on = CancellationToken::new();
    let asked = Interrupt::new(passed_on.clone().cancelled_owned());
    let ui = Ui::new(&mut stdout, &mut stderr, input, asked);
    let session = Session { ui, process_env };
    let conversation = async {
        let result = command(session).await;
        result.map_or_else(ExitStatus::exit_code, |()| 0)
    };
    until_interrupted(conversation, interrupted, &passed_on).await
}

/// The exit code of a conversation, or the one of its interruption. Only one listens to the signal, and
/// passes it on: of two, either might get it first.
async fn until_interrupted(
    conversation: impl Future<Output = u8>,
    interrupted: Interrupt,
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

async fn task(command: TaskCommand, mut session: Session<'_>) -> Result<(), ExitStatus> {
    let session = &mut session;
    match command {
        TaskCommand::Create {
            client,
            task_file,
            auto_approve,
        } => create::run(session, &client, task_file, auto_approve).await,
        TaskCommand::Delete {
            client,
            auto_approve,
            retain,
            wait,
            names,
        } => {
            let name = session.one_name("delete", &names)?;
            let options = delete::Options {
                auto_approve,
                retain,
                wait,
            };
            delete::run(session, &client, name, options).await
        }
        TaskCommand::Enable {
            client,
            auto_approve,
            wait,
            names,
        } => {
            let name = session.one_name("enable", &names)?;
            enable::run(session, &client, name, auto_approve, wait).await
        }
        TaskCommand::Disable { client, names } => {
            let name = session.one_name("disable", &names)?;
            disable::run(session, &client, name).await
        }
        TaskCommand::List {
            query: QueryOptions { client, output },
        } => list::run(session, &client, output).await,
        TaskCommand::Show(OneTask { query, name }) => {
            show::run(session, &query.client, query.output, &name).await
        }
        TaskCommand::Events(OneTask { query, name }) => {
            events::run(session, &query.client, query.output, &name).await
        }
        TaskCommand::Release(OneTask { query, name }) => {
            release::run(session, &query.client, query.output, &name).await
        }
        TaskCommand::State {
            query: QueryOptions { client, output },
            keep,
            from,
            auto_approve,
            name,
        } => {
            let options = state::Options {
                keep,
                from: from.as_deref(),
                auto_approve,
            };
            state::run(session, &client, output, &name, options).await
        }
        TaskCommand::Run {
            query: QueryOptions { client, output },
            watch,
            wait,
            name,
        } => {
            let options = run_now::Options { wait, watch };
            run_now::run(session, &client, output, &name, options).await
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    async fn interrupted(
        conversation: impl Future<Output = u8>,
        passed_on: &CancellationToken,
    ) -> u8 {
        until_interrupted(conversation, Interrupt::new(ready(())), passed_on).await
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
