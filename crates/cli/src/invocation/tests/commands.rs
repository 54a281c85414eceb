//! Commands, groups, help and version.

use super::{BOTH, InvokedAs, Request, answer, request, run, version};
use crate::arguments::{Command, ServiceCommand, Start};
use crate::exit_code::{EXIT_GROUP, EXIT_MISSING, EXIT_UNKNOWN_COMMAND, EXIT_USAGE};
use crate::original::install::Edit;

const WORKER: InvokedAs = InvokedAs::Service {
    name: "cts-worker",
    command: "worker",
};

#[test]
fn the_version_has_two_lines() {
    let text = version::text("cts-worker", ">= 1");
    let (first, second) = text.split_once('\n').unwrap();
    let expected = format!("cts-worker v{}", env!("CARGO_PKG_VERSION"));
    assert!(first.starts_with(&expected), "{first}");
    assert_eq!(second, "Compatible with Terraform >= 1\n");
}

#[test]
fn version_is_asked_for_before_any_word() {
    for invoked_as in BOTH {
        for words in [
            &["-v"][..],
            &["-version"],
            &["--version"],
            &["-h", "-version"],
            &["-version", "--help"],
            &["-once", "-frob", "-v"],
            &["-v", "start"],
            &["-v", "nonsense"],
        ] {
            let request = request(invoked_as, words);
            assert!(
                matches!(request, Request::Version),
                "{words:?}: {request:?}"
            );
        }
    }
    assert!(matches!(request(WORKER, &["-version"]), Request::Version));
}

#[test]
fn version_behind_a_word_is_something_else() {
    for invoked_as in BOTH {
        let code = |words: &[&str]| answer(invoked_as, words).code;
        assert_eq!(code(&["start", "-version"]), 14);
        assert_eq!(code(&["task", "-version"]), EXIT_GROUP);
        assert_eq!(
            code(&["-config-file", "x", "-version"]),
            EXIT_UNKNOWN_COMMAND
        );
        assert_eq!(code(&["-once", "start", "-version"]), EXIT_GROUP);
    }
    let original = answer(InvokedAs::Original, &["version"]);
    assert_eq!(original.code, EXIT_UNKNOWN_COMMAND);
}

#[test]
fn help_is_found_anywhere_before_the_end_of_options() {
    for invoked_as in BOTH {
        let help = answer(invoked_as, &["start", "-h"]);
        assert_eq!((help.code, help.stderr.as_str()), (0, ""));
        for words in [
            &["start", "-help"][..],
            &["start", "--help"],
            &["start", "-frob", "-h"],
            &["start", "-config-file", "-h"],
            &["start", "word", "-h"],
            &["start", "-once", "-version", "-h"],
            &["start", "-autocomplete-install", "-h"],
        ] {
            assert_eq!(answer(invoked_as, words), help, "{words:?}");
        }
        assert_eq!(
            answer(invoked_as, &["start", "--", "-h"]).code,
            EXIT_MISSING
        );
    }
}

#[test]
fn the_general_help_is_that_of_the_old_form() {
    for invoked_as in BOTH {
        let help = answer(invoked_as, &["-h"]);
        assert_eq!((help.code, help.stderr.as_str()), (0, ""));
        assert!(help.stdout.contains("start") && help.stdout.contains("task"));
        for words in [
            &["-help"][..],
            &["-config-file", "x", "--help"],
            &["-h", "x"],
        ] {
            assert_eq!(answer(invoked_as, words), help, "{words:?}");
        }
        let nothing = answer(invoked_as, &[]);
        assert_eq!((nothing.code, nothing.stderr.as_str()), (EXIT_MISSING, ""));
        assert_eq!(nothing.stdout, help.stdout);
        for words in [&["-"][..], &["--"], &["-once"], &["--", "-h"]] {
            assert_eq!(answer(invoked_as, words), nothing, "{words:?}");
        }
    }
}

#[test]
fn a_group_alone_is_an_error_and_with_help_an_answer() {
    for invoked_as in BOTH {
        let alone = answer(invoked_as, &["task"]);
        assert_eq!((alone.code, alone.stdout.as_str()), (EXIT_GROUP, ""));
        for words in [&["task", "-once"][..], &["task", "--"]] {
            assert_eq!(answer(invoked_as, words), alone, "{words:?}");
        }
        for words in [&["task", "word"][..], &["task", ""]] {
            let other = answer(invoked_as, words);
            assert_eq!((other.code, other.stdout.as_str()), (EXIT_GROUP, ""));
            let is_page = other.stderr == alone.stderr;
            assert_eq!(is_page, invoked_as == InvokedAs::Original, "{words:?}");
        }
        for words in [&["task", "-h"][..], &["task", "word", "-h"]] {
            let help = answer(invoked_as, words);
            assert_eq!(
                (help.code, help.stdout),
                (0, alone.stderr.clone()),
                "{words:?}"
            );
        }
    }
    assert_eq!(
        answer(InvokedAs::Original, &["task", "list"]).code,
        EXIT_GROUP
    );
    assert_eq!(answer(InvokedAs::Ours, &["workers"]).code, EXIT_GROUP);
}

#[test]
fn an_unknown_word_is_told_whatever_follows() {
    for invoked_as in BOTH {
        for words in [
            &["nonsense"][..],
            &[""],
            &["", "-version"],
            &["nonsense", "-h"],
            &["nonsense", "-version"],
            &["nonsense", "-autocomplete-install"],
            &["task create"],
        ] {
            let answer = answer(invoked_as, words);
            assert_eq!(answer.code, EXIT_UNKNOWN_COMMAND, "{words:?}");
            assert_eq!(answer.stdout, "", "{words:?}");
            let is_page = answer.stderr.contains("Usage");
            assert_eq!(is_page, invoked_as == InvokedAs::Original, "{words:?}");
        }
    }
    for ours in [
        "watcher",
        "workers",
        "migrate",
        "archive",
        "cluster",
        "config",
        "status",
        "help",
        "version",
        "man",
        "completion",
    ] {
        let answer = answer(InvokedAs::Original, &[ours]);
        assert_eq!(answer.code, EXIT_UNKNOWN_COMMAND, "{ours}");
    }
    let misspelt = answer(InvokedAs::Ours, &["strat"]);
    assert!(
        misspelt.stderr.contains("did you mean \"start\"?"),
        "{}",
        misspelt.stderr
    );
}

#[test]
fn a_misspelt_command_is_put_right_in_two_lines() {
    for (words, code, said) in [
        (
            &["task", "shwo"][..],
            EXIT_GROUP,
            "error: `cts task` has no command \"shwo\"; did you mean \"show\"?\n\
             `cts task -help` lists its commands\n",
        ),
        (
            &["rnus", "list"],
            EXIT_UNKNOWN_COMMAND,
            "error: `cts` has no command \"rnus\"; did you mean \"runs\"?\n\
             `cts -help` lists its commands\n",
        ),
        (
            &["help", "runs", "xyzzy"],
            EXIT_UNKNOWN_COMMAND,
            "error: `cts runs` has no command \"xyzzy\"\n`cts runs -help` lists its commands\n",
        ),
    ] {
        let answer = answer(InvokedAs::Ours, words);
        assert_eq!((answer.code, answer.stderr.as_str()), (code, said));
    }
}

#[test]
fn help_and_version_are_commands_too() {
    for path in [&[][..], &["task"], &["task", "create"], &["status"]] {
        let asked = answer(InvokedAs::Ours, &[&["help"], path].concat());
        assert_eq!(asked, answer(InvokedAs::Ours, &[path, &["-h"]].concat()));
        assert_eq!(asked.code, 0);
    }
    let version = request(InvokedAs::Ours, &["version"]);
    assert!(matches!(version, Request::Version), "{version:?}");
}

#[test]
fn the_old_form_starts_with_a_warning() {
    for invoked_as in BOTH {
        let (command, notice) = run(invoked_as, &["-once", "-config-dir", "x"]);
        assert!(matches!(
            command,
            Command::Service(ServiceCommand::Start(Start { once: true, .. }))
        ));
        assert!(
            notice.contains(&format!("{} start", invoked_as.name())),
            "{notice}"
        );
        assert!(notice.contains("start -help"), "{notice}");
        let (_, notice) = run(invoked_as, &["start", "-config-dir", "x"]);
        assert_eq!(notice, "");
    }
}

#[test]
fn a_start_without_configuration_says_so_on_both_streams() {
    for invoked_as in BOTH {
        let answer = answer(invoked_as, &["start", "-once"]);
        assert_eq!(answer.code, EXIT_MISSING);
        let hint = format!("{} start --help", invoked_as.name());
        assert!(answer.stdout.contains(&hint), "{}", answer.stdout);
        assert!(
            answer.stdout.contains("no config file provided"),
            "{}",
            answer.stdout
        );
        assert!(
            answer.stderr.starts_with("==> Error: "),
            "{}",
            answer.stderr
        );
    }
}

#[test]
fn shell_files_are_asked_for_with_or_without_a_command() {
    let edit = |words: &[&str]| match request(InvokedAs::Original, words) {
        Request::ShellFiles(edit) => Some(edit),
        _ => None,
    };
    for words in [
        &["-autocomplete-install"][..],
        &["--autocomplete-install"],
        &["start", "-autocomplete-install"],
        &["-config-file", "x", "-autocomplete-install"],
        &["task", "-autocomplete-install"],
    ] {
        assert_eq!(edit(words), Some(Edit::Install), "{words:?}");
    }
    assert_eq!(edit(&["-autocomplete-uninstall"]), Some(Edit::Uninstall));
    let both = ["-autocomplete-install", "-autocomplete-uninstall"];
    assert_eq!(edit(&both), Some(Edit::Both));
    assert_eq!(edit(&["start", "--", "-autocomplete-install"]), None);
    let ours = answer(InvokedAs::Ours, &["-autocomplete-install"]);
    assert_eq!(ours.code, EXIT_USAGE);
}

#[test]
fn a_service_needs_no_command() {
    let (command, _) = run(
        WORKER,
        &["-config-file=a", "-scheduler", "b:1,c:2", "-scheduler=d:3"],
    );
    let Command::Service(ServiceCommand::Worker(worker)) = command else {
        panic!("another command");
    };
    assert_eq!(worker.schedulers.schedulers, ["b:1", "c:2", "d:3"]);
    let help = answer(WORKER, &["-h"]);
    assert!(
        help.stdout.contains("Usage: cts-worker [OPTIONS]"),
        "{}",
        help.stdout
    );
    assert_eq!(answer(WORKER, &["worker"]).code, EXIT_MISSING);
}
