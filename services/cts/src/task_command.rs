//! `cts task`: tasks of a running cts, through its API.
//!
//! The commands of the original have its flows, streams and exit codes, whatever name the program was
//! called by (spec/cli.md 4, 8-12). `list`, `show`, `events` and `run` are ours: their result alone is on
//! standard output, everything else on standard error.

mod arguments;
mod create;
mod delete;
mod disable;
mod enable;
mod events;
mod list;
mod prompt;
mod run_now;
mod session;
mod show;
mod table;
mod task_file;
mod time_text;
mod ui;

use std::io::{stderr, stdin, stdout};

pub(crate) use self::arguments::TaskCommand;

use self::session::{Session, Told};
use self::ui::{Input, Interrupt, Ui};
use crate::surroundings::Surroundings;

/// Ended by Ctrl-C: what a shell says of a program that the signal has ended.
const EXIT_INTERRUPTED: u8 = 130;

/// Runs the command and gives the exit code (spec/cli.md 3). It prints itself.
///
/// Ctrl-C ends it; at a prompt that is a refusal, which has its own text and exit code. The server goes on
/// with what it was told before.
pub(crate) async fn run(command: TaskCommand, surroundings: &Surroundings) -> u8 {
    let interrupted = Interrupt::of_this_process();
    let (mut stdout, mut stderr) = (stdout(), stderr());
    let input = Input::new(stdin());
    let ui = Ui::new(
        &mut stdout,
        &mut stderr,
        input,
        Interrupt::of_this_process(),
    );
    let session = Session { ui, surroundings };
    tokio::select! {
        // A prompt answers an interrupt first.
        biased;
        result = converse(command, session) => result.map_or_else(session::Told::exit_code, |()| 0),
        () = interrupted => EXIT_INTERRUPTED,
    }
}

async fn converse(command: TaskCommand, mut session: Session<'_>) -> Result<(), Told> {
    match command {
        TaskCommand::Create {
            client,
            task_file,
            auto_approve,
        } => create::run(&mut session, &client, task_file, auto_approve).await,
        TaskCommand::Delete {
            client,
            auto_approve,
            wait,
            names,
        } => {
            let name = session.one_name("delete", &names)?;
            delete::run(&mut session, &client, name, auto_approve, wait).await
        }
        TaskCommand::Enable {
            client,
            auto_approve,
            wait,
            names,
        } => {
            let name = session.one_name("enable", &names)?;
            enable::run(&mut session, &client, name, auto_approve, wait).await
        }
        TaskCommand::Disable { client, names } => {
            let name = session.one_name("disable", &names)?;
            disable::run(&mut session, &client, name).await
        }
        TaskCommand::List { client, output } => list::run(&mut session, &client, output).await,
        TaskCommand::Show {
            client,
            output,
            names,
        } => {
            let name = session.one_name("show", &names)?;
            show::run(&mut session, &client, output, name).await
        }
        TaskCommand::Events {
            client,
            output,
            names,
        } => {
            let name = session.one_name("events", &names)?;
            events::run(&mut session, &client, output, name).await
        }
        TaskCommand::Run {
            client,
            output,
            wait,
            names,
        } => {
            let name = session.one_name("run", &names)?;
            run_now::run(&mut session, &client, output, name, wait).await
        }
    }
}
