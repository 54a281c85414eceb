//! The manual pages, made of the definitions of commands and options.

use std::fs;
use std::io;
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use cts_runtime::ProcessEnv;

use crate::arguments::Arguments;
use crate::error::CommandError;
use crate::exit_code::EXIT_GENERAL;
use crate::output::{print, say};

/// Prints the page of the command that `words` name, or the page of cts without `words`. With a directory every page is
/// written there, as `NAME.1`.
pub(crate) fn run(
    words: &[String],
    directory: Option<&Path>,
    process_env: &ProcessEnv,
) -> Result<u8, CommandError> {
    let pages = pages();
    if let Some(directory) = directory {
        let directory = process_env.current_dir.join(directory);
        for (name, command) in pages {
            let path = directory.join(format!("{name}.1"));
            let written = roff(command).and_then(|page| fs::write(&path, page));
            written.map_err(|source| CommandError::Path { path, source })?;
        }
        return Ok(0);
    }
    let wanted = words.join("-").replace(' ', "-");
    let names: Vec<String> = pages.iter().map(|(name, _)| name.clone()).collect();
    let mut pages = pages.into_iter();
    let Some((_, command)) = pages.find(|(name, _)| is_called(name, &wanted)) else {
        let names = names.join(", ");
        say(&format!(
            "error: there is no page {wanted:?}; there are {names}"
        ));
        return Ok(EXIT_GENERAL);
    };
    let page = roff(command).map_err(CommandError::ProcessEnv)?;
    print(&String::from_utf8_lossy(&page))?;
    Ok(0)
}

/// `cts-task-create` is also `task-create`, and `cts` has the empty name too.
fn is_called(page: &str, wanted: &str) -> bool {
    let short = page.strip_prefix("cts").unwrap_or(page);
    page == wanted || short.strip_prefix('-').unwrap_or(short) == wanted
}

/// All commands and groups with the names of their pages, each group before its members.
fn pages() -> Vec<(String, Command)> {
    let mut root = Arguments::command();
    root.build();
    let mut pages = Vec::new();
    gather(root, &mut pages);
    pages
}

fn gather(command: Command, pages: &mut Vec<(String, Command)>) {
    let below: Vec<Command> = command.get_subcommands().cloned().collect();
    let name = command.get_display_name().unwrap_or(command.get_name());
    pages.push((name.to_owned(), command));
    for command in below {
        gather(command, pages);
    }
}

fn roff(command: Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(with_aliases(command))
        .manual("cts")
        .render(&mut page)?;
    Ok(page)
}

/// Adds option aliases, which clap shows only in help.
fn with_aliases(command: Command) -> Command {
    command.mut_args(|option| {
        if option.get_id() == "help" {
            return option.help("Print help");
        }
        let names = option.get_visible_aliases().unwrap_or_default();
        let Some(name) = names.first() else {
            return option;
        };
        let help = option.get_help().map(ToString::to_string);
        let help = format!("{} (also --{name})", help.unwrap_or_default());
        option.help(help)
    })
}
