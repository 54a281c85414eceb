//! The commands and options that there are under the name that the program was called by.

use std::any::TypeId;

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::invoked_as::InvokedAs;
use crate::arguments::Arguments;
use crate::original;

/// All definitions of clap, and the definitions of the invoked name.
#[derive(Debug)]
pub(crate) struct Definitions {
    invoked_as: InvokedAs,
    /// Every command and option, for the parser.
    all: Command,
    /// The commands and options that this name has.
    known: Command,
}

impl Definitions {
    pub(crate) fn new(invoked_as: InvokedAs) -> Self {
        let all = prepared(Arguments::command(), invoked_as);
        let known = match invoked_as {
            InvokedAs::Original => {
                prepared(original::definitions(&Arguments::command()), invoked_as)
            }
            InvokedAs::Ours | InvokedAs::Service { .. } => all.clone(),
        };
        Self {
            invoked_as,
            all,
            known,
        }
    }

    pub(crate) const fn invoked_as(&self) -> InvokedAs {
        self.invoked_as
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.invoked_as.name()
    }

    /// The definitions for the parser.
    pub(crate) const fn all(&self) -> &Command {
        &self.all
    }

    /// The command at `path`, whose words come from [`Definitions::subcommand`].
    pub(crate) fn leaf<'a>(&'a self, path: &[&'a str]) -> Leaf<'a> {
        let command = path.iter().fold(&self.known, |command, word| {
            command.find_subcommand(word).unwrap_or(command)
        });
        Leaf {
            invoked_as: self.invoked_as,
            path: path.to_vec(),
            command,
        }
    }

    /// The command or group called `word` directly below `path`.
    pub(crate) fn subcommand<'a>(&'a self, path: &[&'a str], word: &str) -> Option<&'a str> {
        let command = self.leaf(path).command.find_subcommand(word);
        command.map(Command::get_name)
    }
}

/// A command or a group of commands.
#[derive(Debug)]
pub(crate) struct Leaf<'a> {
    invoked_as: InvokedAs,
    path: Vec<&'a str>,
    command: &'a Command,
}

/// One spelling of an option.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spelling<'a> {
    /// Without dashes.
    pub(crate) name: &'a str,
    pub(crate) option: &'a Arg,
}

impl<'a> Leaf<'a> {
    pub(crate) fn path(&self) -> &[&'a str] {
        &self.path
    }

    pub(crate) const fn command(&self) -> &'a Command {
        self.command
    }

    /// Whether this is a group of commands.
    pub(crate) fn is_group(&self) -> bool {
        self.command.has_subcommands()
    }

    /// All options under each of their long names, including hidden names.
    pub(crate) fn spellings(&self) -> Vec<Spelling<'a>> {
        let options = self.options();
        let spellings = options.flat_map(|option| {
            let aliases = option.get_all_aliases().unwrap_or_default();
            let names = option.get_long().into_iter().chain(aliases);
            names.map(move |name| Spelling { name, option })
        });
        spellings.collect()
    }

    /// The option called `name`, a long name or a letter.
    pub(crate) fn option(&self, name: &str) -> Option<&'a Arg> {
        let mut spellings = self.spellings().into_iter();
        let by_name = spellings.find(|spelling| spelling.name == name);
        let by_letter = || {
            let is_it = |short: char| name.chars().eq([short]);
            self.options().find(|it| it.get_short().is_some_and(is_it))
        };
        by_name.map(|spelling| spelling.option).or_else(by_letter)
    }

    /// All options, except those that are handled before clap.
    fn options(&self) -> impl Iterator<Item = &'a Arg> + use<'a> {
        self.command.get_arguments().filter(|argument| {
            let dealt_with = matches!(
                argument.get_action(),
                ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
            );
            !argument.is_positional() && !dealt_with
        })
    }

    /// Whether words after the options are ignored.
    pub(crate) fn ignores_arguments(&self) -> bool {
        original::ignores_arguments(&self.path)
    }

    /// Whether options may follow arguments.
    pub(crate) fn mixes_options_and_arguments(&self) -> bool {
        self.invoked_as != InvokedAs::Original && !self.ignores_arguments()
    }

    /// How the command is called, as in `cts task create`.
    pub(crate) fn call(&self) -> String {
        let name = self.invoked_as.name();
        match self.invoked_as {
            InvokedAs::Service { .. } => name.to_owned(),
            _ => [&[name], self.path.as_slice()].concat().join(" "),
        }
    }
}

/// The definitions with the names that help and errors show.
fn prepared(command: Command, invoked_as: InvokedAs) -> Command {
    let name = invoked_as.name();
    let mut root = command.name(name).bin_name(name);
    root.build();
    root = with_one_help(root);
    match invoked_as {
        InvokedAs::Service { command, .. } => root.mut_subcommand(command, |command| {
            let usage = format!("{name} [OPTIONS]");
            command.bin_name(name).override_usage(usage)
        }),
        _ => root,
    }
}

/// `--help` is not longer than `-h`, so neither is announced as the longer help.
fn with_one_help(command: Command) -> Command {
    command
        .mut_arg("help", |help| help.help("Print help"))
        .mut_subcommands(with_one_help)
}

/// Whether it is on or off. The word after a boolean option is not its value.
pub(crate) fn is_boolean(option: &Arg) -> bool {
    !option.get_action().takes_values()
        || option.get_value_parser().type_id() == TypeId::of::<bool>()
}

/// Whether every value counts, not only the last.
pub(crate) fn is_list(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::Append)
}
