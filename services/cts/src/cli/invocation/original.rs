//! Commands and options of cts that the original has too (docs/cli.md).

/// How a running instance is reached.
const CLIENT: [&str; 7] = [
    "ca-cert",
    "ca-path",
    "client-cert",
    "client-key",
    "http-addr",
    "port",
    "ssl-verify",
];

const START: [&str; 10] = [
    "autocomplete-install",
    "autocomplete-uninstall",
    "client-type",
    "config-dir",
    "config-file",
    "deprecated-start-up",
    "inspect",
    "inspect-task",
    "once",
    "reset-storage",
];

const TASKS: [&str; 4] = ["create", "delete", "disable", "enable"];

/// Whether it has this command or group of commands. The empty path is the program itself.
pub(super) fn has_command(path: &[&str]) -> bool {
    match path {
        [] | ["start" | "task"] => true,
        ["task", command] => TASKS.contains(command),
        _ => false,
    }
}

/// Whether its command has this option.
pub(super) fn has_option(path: &[&str], option: &str) -> bool {
    match (path, option) {
        (["start"], _) => START.contains(&option),
        (["task", "create"], "task-file")
        | (["task", "create" | "delete" | "enable"], "auto-approve") => true,
        (["task", command], _) => TASKS.contains(command) && CLIENT.contains(&option),
        _ => false,
    }
}

/// Whether its command takes any number of arguments and does nothing with them.
pub(super) fn ignores_arguments(path: &[&str]) -> bool {
    matches!(path, ["start"] | ["task", "create"])
}

/// Whether an option stands in the help of a command. `general` is the help of the program itself, which
/// lists the options of `start`.
pub(super) fn shows_option(option: &str, general: bool) -> bool {
    match option {
        "client-type" => false,
        "autocomplete-install" | "autocomplete-uninstall" => general,
        _ => true,
    }
}

/// Default of an option, as the help shows it; empty without one. For options that
/// can come from the environment too, so that clap knows of no default.
pub(super) fn default(option: &str) -> &'static str {
    match option {
        "http-addr" => "http://localhost:8558",
        "port" => "8558",
        "ssl-verify" => "true",
        _ => "",
    }
}
