//! The name `consul-terraform-sync` alone: the commands and options of cts that the original has too, and the
//! completion that it installs in shells (docs/cli.md).

pub(crate) mod install;

use clap::Command;

/// Name of the original program.
pub(crate) const NAME: &str = "consul-terraform-sync";

/// An option that the original lacks: the option is accepted, but appears in no help.
pub(crate) const TOKEN_FILE: &str = "token-file";

/// How a running instance is reached.
const CLIENT: [&str; 8] = [
    "ca-cert",
    "ca-path",
    "client-cert",
    "client-key",
    "http-addr",
    "port",
    "ssl-verify",
    TOKEN_FILE,
];

const START: [&str; 8] = [
    "client-type",
    "config-dir",
    "config-file",
    "deprecated-start-up",
    "inspect",
    "inspect-task",
    "once",
    "reset-storage",
];

/// Options that edit the files of shells, found before the command, and their help.
pub(crate) const SHELL_FILES: [(&str, &str); 2] = [
    (
        "autocomplete-install",
        "Make the shells of this user complete commands, options and names of tasks",
    ),
    ("autocomplete-uninstall", "Undo that"),
];

const TASKS: [&str; 4] = ["create", "delete", "disable", "enable"];

/// The definitions without the commands and options that the original lacks.
pub(crate) fn definitions(everything: &Command) -> Command {
    part(NAME, everything, &[])
}

/// The definition of the command `name`, to which `path` leads.
fn part(name: &'static str, command: &Command, path: &[&str]) -> Command {
    let names: &[&'static str] = match path {
        [] => &["start", "task"],
        ["task"] => &TASKS,
        _ => &[],
    };
    let commands = names.iter().filter_map(|name| {
        let below = command.find_subcommand(name)?;
        Some(part(name, below, &[path, &[*name]].concat()))
    });
    let arguments = command.get_arguments().filter(|argument| {
        let name = argument.get_long();
        name.is_none_or(|name| has_option(path, name))
    });
    let mut known = Command::new(name)
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        .args(arguments.cloned())
        .subcommands(commands);
    if let Some(about) = command.get_about() {
        known = known.about(about.clone());
    }
    if let Some(example) = command.get_after_help() {
        known = known.after_help(example.clone());
    }
    known
}

/// Whether the original's command has this option.
fn has_option(path: &[&str], option: &str) -> bool {
    match (path, option) {
        (["start"], _) => START.contains(&option),
        (["task", "create"], "task-file")
        | (["task", "create" | "delete" | "enable"], "auto-approve") => true,
        (["task", command], _) => TASKS.contains(command) && CLIENT.contains(&option),
        _ => false,
    }
}

/// Whether the original's command accepts any number of arguments and ignores them.
pub(crate) fn ignores_arguments(path: &[&str]) -> bool {
    matches!(path, ["start"] | ["task", "create"])
}

/// Default of an option, as the help shows it; empty without one. For options that can also come from the environment,
/// so that clap has no default for them.
pub(crate) fn default(option: &str) -> &'static str {
    match option {
        "http-addr" => "http://localhost:8558",
        "port" => "8558",
        "ssl-verify" => "true",
        _ => "",
    }
}
