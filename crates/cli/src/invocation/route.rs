//! The command of the line, and the answer to a line without a command (docs/cli.md#options-and-arguments, #start).

use std::ffi::{OsStr, OsString};

use super::definitions::Definitions;
use super::help;
use super::invoked_as::InvokedAs;
use crate::answer::Answer;
use crate::exit_code::{EXIT_GROUP, EXIT_UNKNOWN_COMMAND};
use crate::original::install::Edit;

/// The way that the words lead to.
#[derive(Debug)]
pub(super) enum Route<'a> {
    Answer(Answer),
    /// The answer is the version.
    Version,
    /// Something is to be done to the files of shells.
    ShellFiles(Edit),
    /// A command followed by these words.
    Command {
        /// The command.
        path: Vec<&'a str>,
        /// Words after it.
        words: Vec<OsString>,
    },
}

/// Flags that are found wherever they stand before `--`.
#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    help: bool,
    install: bool,
    uninstall: bool,
}

impl Flags {
    fn of(words: &[OsString]) -> Self {
        let mut flags = Self::default();
        for word in before_end(words) {
            match word.to_str() {
                Some("-h" | "-help" | "--help") => flags.help = true,
                Some("-autocomplete-install" | "--autocomplete-install") => flags.install = true,
                Some("-autocomplete-uninstall" | "--autocomplete-uninstall") => {
                    flags.uninstall = true;
                }
                _ => {}
            }
        }
        flags
    }

    const fn edit(self) -> Option<Edit> {
        match (self.install, self.uninstall) {
            (true, true) => Some(Edit::Both),
            (true, false) => Some(Edit::Install),
            (false, true) => Some(Edit::Uninstall),
            (false, false) => None,
        }
    }
}

/// Finds the way.
pub(super) fn find(definitions: &Definitions, mut words: Vec<OsString>) -> Route<'_> {
    if let InvokedAs::Service { command, .. } = definitions.invoked_as() {
        return find_service(definitions, command, words);
    }
    let has_no_command = words.first().is_none_or(|first| is_option(first));
    let old_form = has_no_command && !words.iter().any(|word| is_version(word));
    if old_form {
        words.splice(0..0, ["start", "-deprecated-start-up"].map(OsString::from));
    }
    let flags = Flags::of(&words);
    let before_end = before_end(&words);
    let command_at = before_end.iter().position(|word| !is_option(word));
    let before_command = &before_end[..command_at.unwrap_or(before_end.len())];
    if before_command.iter().any(|word| is_version(word)) {
        return Route::Version;
    }
    if flags.help && (old_form || command_at.is_none()) {
        return Route::Answer(Answer::printed(help::page(definitions, &[])));
    }
    let Some((path, behind)) = command_at.and_then(|at| command(definitions, &words[at..])) else {
        let word = command_at.map(|at| words[at].to_string_lossy());
        let answer = help::unknown_command(definitions, word.as_deref());
        return Route::Answer(Answer::complaint(answer, EXIT_UNKNOWN_COMMAND));
    };
    if flags.help {
        return Route::Answer(Answer::printed(help::page(definitions, &path)));
    }
    match path.as_slice() {
        ["help"] => return help_of(definitions, behind),
        ["version"] if behind.is_empty() => return Route::Version,
        _ => {}
    }
    if definitions.invoked_as() == InvokedAs::Original
        && let Some(edit) = flags.edit()
    {
        return Route::ShellFiles(edit);
    }
    if definitions.leaf(&path).is_group() {
        let word = behind.first().filter(|word| !is_option(word));
        let complaint = match word.map(|word| word.to_string_lossy()) {
            Some(word) => help::unknown_subcommand(definitions, &path, &word),
            None => help::page(definitions, &path),
        };
        return Route::Answer(Answer::complaint(complaint, EXIT_GROUP));
    }
    if !before_command.is_empty() {
        let complaint = format!(
            "options of a command stand behind it\n\n{}",
            help::page(definitions, &path)
        );
        return Route::Answer(Answer::complaint(complaint, EXIT_GROUP));
    }
    let words = behind.to_vec();
    Route::Command { path, words }
}

/// The answer to `cts help`, followed by the words of a command.
fn help_of<'a>(definitions: &'a Definitions, words: &[OsString]) -> Route<'a> {
    let found = command(definitions, words);
    let (path, rest) = found.unwrap_or((Vec::new(), words));
    let Some(word) = rest.first() else {
        return Route::Answer(Answer::printed(help::page(definitions, &path)));
    };
    let word = word.to_string_lossy();
    let complaint = if path.is_empty() {
        help::unknown_command(definitions, Some(&word))
    } else {
        help::unknown_subcommand(definitions, &path, &word)
    };
    Route::Answer(Answer::complaint(complaint, EXIT_UNKNOWN_COMMAND))
}

/// For an executable whose command is implied.
fn find_service<'a>(
    definitions: &'a Definitions,
    command: &'static str,
    words: Vec<OsString>,
) -> Route<'a> {
    let before_end = before_end(&words);
    let mut options = before_end.iter().take_while(|word| is_option(word));
    if options.any(|word| is_version(word)) {
        return Route::Version;
    }
    if Flags::of(&words).help {
        return Route::Answer(Answer::printed(help::page(definitions, &[command])));
    }
    let path = vec![command];
    Route::Command { path, words }
}

/// The command that the first words name, as far as they name commands, and the remaining words.
fn command<'a, 'w>(
    definitions: &'a Definitions,
    words: &'w [OsString],
) -> Option<(Vec<&'a str>, &'w [OsString])> {
    let mut path = Vec::new();
    let mut rest = words;
    while let Some((word, behind)) = rest.split_first() {
        let name = word
            .to_str()
            .and_then(|word| definitions.subcommand(&path, word));
        let Some(name) = name else { break };
        path.push(name);
        rest = behind;
    }
    (!path.is_empty()).then_some((path, rest))
}

fn before_end(words: &[OsString]) -> &[OsString] {
    let end = words.iter().position(|word| word == "--");
    &words[..end.unwrap_or(words.len())]
}

fn is_option(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

fn is_version(word: &OsStr) -> bool {
    matches!(word.to_str(), Some("-v" | "-version" | "--version"))
}
