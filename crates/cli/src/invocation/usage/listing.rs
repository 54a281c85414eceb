//! The parts of a help text with one dash.

use clap::Command;

use crate::invocation::definitions::{Leaf, is_boolean};
use crate::original::{TOKEN_FILE, default};

/// Columns of a help text.
const WIDTH: usize = 80;

const INDENT: &str = "    ";

/// Default of a switch.
const OFF: &str = "false";

/// One line for each command: its name and purpose.
pub(super) fn commands(group: &Command) -> String {
    let mut rows: Vec<(&str, String)> = group
        .get_subcommands()
        .map(|command| {
            let about = command.get_about().map(ToString::to_string);
            (command.get_name(), about.unwrap_or_default())
        })
        .collect();
    rows.sort_unstable();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = rows
        .into_iter()
        .map(|(name, about)| format!("{INDENT}{name:width$}    {about}"));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// `-name [Default: x]` in the order of the alphabet, each with its description below; also the switches of
/// `more`.
pub(super) fn options(leaf: &Leaf<'_>, more: &[(&str, &str)]) -> String {
    let spellings = leaf.spellings().into_iter();
    let mut options: Vec<(&str, &str, String)> = spellings
        .filter(|spelling| !["client-type", TOKEN_FILE].contains(&spelling.name))
        .map(|spelling| {
            let help = spelling.option.get_help().map(ToString::to_string);
            let default = match default(spelling.name) {
                "" if is_boolean(spelling.option) => OFF,
                default => default,
            };
            (spelling.name, default, help.unwrap_or_default())
        })
        .chain(
            more.iter()
                .map(|(name, help)| (*name, OFF, (*help).to_owned())),
        )
        .collect();
    options.sort_unstable();
    let texts = options.iter().map(|(name, default, help)| {
        let default = match *default {
            "" => String::new(),
            default => format!(" [Default: {default}]"),
        };
        format!("  -{name}{default}\n{}", wrapped(help))
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// ` <name>` for each argument without a name.
pub(super) fn arguments(command: &Command) -> String {
    let arguments = command.get_positionals();
    let names = arguments.filter_map(|argument| argument.get_value_names()?.first().cloned());
    names.fold(String::new(), |text, name| {
        text + " <" + &name.to_lowercase() + ">"
    })
}

fn wrapped(text: &str) -> String {
    let mut lines = vec![String::from(INDENT)];
    for word in text.split_whitespace() {
        let fits = lines
            .last()
            .is_some_and(|line| line.len() + word.len() < WIDTH);
        if !fits {
            lines.push(String::from(INDENT));
        }
        if let Some(line) = lines.last_mut() {
            if line.len() > INDENT.len() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}
