//! The commands and options that there are under the name that the program was called by.

use std::any::TypeId;

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::invoked_as::InvokedAs;
use crate::arguments::Arguments;
use crate::original;

/// All of clap's definitions, seen from one name.
#[derive(Debug)]
pub(crate) struct Definitions {
    invoked_as: InvokedAs,
    root: Command,
}

impl Definitions {
    pub(crate) fn new(invoked_as: InvokedAs) -> Self {
        let name = invoked_as.name();
        let mut root = Arguments::command().name(name).bin_name(name);
        root.build();
        root = with_one_help(root);
        if let InvokedAs::Service { command, .. } = invoked_as {
            let usage = format!("{name} [OPTIONS]");
            root = root.mut_subcommand(command, |command| {
                command.bin_name(name).override_usage(usage)
            });
        }
        Self { invoked_as, root }
    }

    pub(crate) const fn invoked_as(&self) -> InvokedAs {
        self.invoked_as
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.invoked_as.name()
    }

    pub(crate) const fn root(&self) -> &Command {
        &self.root
    }

    /// The command at `path`, whose words come from [`Definitions::subcommand`].
    pub(crate) fn leaf<'a>(&'a self, path: &[&'a str]) -> Leaf<'a> {
        let command = path.iter().fold(&self.root, |command, word| {
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
        self.subcommands(path)
            .into_iter()
            .map(Command::get_name)
            .find(|name| *name == word)
    }

    /// Commands and groups directly below `path`; empty if that is a command.
    pub(crate) fn subcommands<'a>(&'a self, path: &[&'a str]) -> Vec<&'a Command> {
        let known = |command: &&Command| match self.invoked_as {
            InvokedAs::Original => original::has_command(&[path, &[command.get_name()]].concat()),
            InvokedAs::Ours | InvokedAs::Service { .. } => !command.is_hide_set(),
        };
        self.leaf(path)
            .command
            .get_subcommands()
            .filter(known)
            .collect()
    }
}

/// One command, or group of commands.
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
    /// The option.
    pub(crate) option: &'a Arg,
}

impl<'a> Leaf<'a> {
    pub(crate) fn path(&self) -> &[&'a str] {
        &self.path
    }

    pub(crate) const fn command(&self) -> &'a Command {
        self.command
    }

    /// All options by all their long names, hidden ones included.
    pub(crate) fn spellings(&self) -> Vec<Spelling<'a>> {
        let options = self
            .command
            .get_arguments()
            .filter(|option| is_ours(option));
        options
            .flat_map(|option| {
                let aliases = option.get_all_aliases().unwrap_or_default();
                let names = option.get_long().into_iter().chain(aliases);
                names.map(move |name| Spelling { name, option })
            })
            .filter(|spelling| self.has(spelling.name))
            .collect()
    }

    /// The option called `name`, a long name or a letter.
    pub(crate) fn option(&self, name: &str) -> Option<&'a Arg> {
        let by_name = || {
            let mut spellings = self.spellings().into_iter();
            spellings.find(|spelling| spelling.name == name)
        };
        let by_letter = || {
            let mut options = self
                .command
                .get_arguments()
                .filter(|option| is_ours(option));
            options.find(|option| {
                let mut letter = [0; 4];
                let short = option
                    .get_short()
                    .map(|short| short.encode_utf8(&mut letter));
                short.is_some_and(|short| short == name) && self.has(name)
            })
        };
        by_name().map(|spelling| spelling.option).or_else(by_letter)
    }

    /// Whether words after the options are passed over.
    pub(crate) fn ignores_arguments(&self) -> bool {
        original::ignores_arguments(&self.path)
    }

    /// Whether options may stand behind arguments.
    pub(crate) fn mixes_options_and_arguments(&self) -> bool {
        match self.invoked_as {
            InvokedAs::Original => false,
            InvokedAs::Ours | InvokedAs::Service { .. } => !self.ignores_arguments(),
        }
    }

    /// How the command is called, as in `cts task create`.
    pub(crate) fn call(&self) -> String {
        match self.invoked_as {
            InvokedAs::Service { name, .. } => name.to_owned(),
            InvokedAs::Ours | InvokedAs::Original => {
                [&[self.invoked_as.name()], self.path.as_slice()]
                    .concat()
                    .join(" ")
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        match self.invoked_as {
            InvokedAs::Original => original::has_option(&self.path, name),
            InvokedAs::Ours | InvokedAs::Service { .. } => true,
        }
    }
}

/// There is no longer help behind `--help` than behind `-h`, so that none has to be announced.
fn with_one_help(command: Command) -> Command {
    command
        .mut_arg("help", |help| help.help("Print help"))
        .mut_subcommands(with_one_help)
}

/// Not an argument without a name, nor one that is dealt with before clap.
fn is_ours(option: &Arg) -> bool {
    let dealt_with = matches!(
        option.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    );
    !option.is_positional() && !dealt_with
}

/// Whether it is on or off. The word behind such an option is not its value.
pub(crate) fn is_boolean(option: &Arg) -> bool {
    !option.get_action().takes_values()
        || option.get_value_parser().type_id() == TypeId::of::<bool>()
}

/// Whether every value counts, and not only the last.
pub(crate) fn is_list(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::Append)
}
