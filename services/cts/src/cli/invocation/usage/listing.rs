//! The parts of a help text with one dash.

use clap::Command;

use crate::cli::invocation::definitions::Leaf;
use crate::cli::invocation::original;

/// Columns of a help text.
const WIDTH: usize = 80;

const INDENT: &str = "    ";

/// One line each: name and what it is for.
pub(super) fn commands(commands: &[&Command]) -> String {
    let mut rows: Vec<(&str, String)> = commands
        .iter()
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

/// `-name [Default: x]` in the order of the alphabet, each with its description below.
pub(super) fn options(leaf: &Leaf<'_>, shown: impl Fn(&str) -> bool) -> String {
    let mut spellings = leaf.spellings();
    spellings.retain(|spelling| shown(spelling.name));
    spellings.sort_unstable_by_key(|spelling| spelling.name);
    let texts = spellings.iter().map(|spelling| {
        let default = match original::default(spelling.name) {
            "" => String::new(),
            default => format!(" [Default: {default}]"),
        };
        let help = spelling.option.get_help().map(ToString::to_string);
        let help = wrapped(&help.unwrap_or_default());
        format!("  -{}{default}\n{help}", spelling.name)
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
