//! Commands, groups, help and version.

use super::{Answer, BOTH, InvokedAs, Request, answer, request, run};
use crate::cli::arguments::Command;
use crate::cli::invocation::Edit;
use crate::failure::{EXIT_GROUP, EXIT_MISSING, EXIT_UNKNOWN_COMMAND};

const WORKER: InvokedAs = InvokedAs::Service {
    name: "cts-worker",
    command: "worker",
};

fn is_version(answer: &Answer, name: &str) -> bool {
    let lines: Vec<&str> = answer.stdout.lines().collect();
    let [first, second] = lines[..] else {
        return false;
    };
    answer.code == 0
        && answer.stderr.is_empty()
        && first.starts_with(&format!("{name} v{}", env!("CARGO_PKG_VERSION")))
        && second == "Compatible with Terraform >= 0.13.0, <= 1.14.3"
}

#[test]
fn version_is_asked_for_before_any_word() {
    for personality in BOTH {
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
            let answer = answer(personality, words);
            assert!(
                is_version(&answer, personality.name()),
                "{words:?}: {answer:?}"
            );
        }
    }
    assert!(is_version(&answer(WORKER, &["-version"]), "cts-worker"));
}

#[test]
fn version_behind_a_word_is_something_else() {
    for personality in BOTH {
        let code = |words: &[&str]| answer(personality, words).code;
        assert_eq!(code(&["start", "-version"]), 14);
        assert_eq!(code(&["task", "-version"]), EXIT_GROUP);
        assert_eq!(
            code(&["-config-file", "x", "-version"]),
            EXIT_UNKNOWN_COMMAND
        );
        assert_eq!(code(&["version"]), EXIT_UNKNOWN_COMMAND);
        assert_eq!(code(&["-once", "start", "-version"]), EXIT_GROUP);
    }
}

#[test]
fn help_is_found_anywhere_before_the_end_of_options() {
    for personality in BOTH {
        let help = answer(personality, &["start", "-h"]);
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
            assert_eq!(answer(personality, words), help, "{words:?}");
        }
        assert_eq!(
            answer(personality, &["start", "--", "-h"]).code,
            EXIT_MISSING
        );
    }
}

#[test]
fn the_general_help_is_that_of_the_old_form() {
    for personality in BOTH {
        let help = answer(personality, &["-h"]);
        assert_eq!((help.code, help.stderr.as_str()), (0, ""));
        assert!(help.stdout.contains("start") && help.stdout.contains("task"));
        for words in [
            &["-help"][..],
            &["-config-file", "x", "--help"],
            &["-h", "x"],
        ] {
            assert_eq!(answer(personality, words), help, "{words:?}");
        }
        let nothing = answer(personality, &[]);
        assert_eq!((nothing.code, nothing.stderr.as_str()), (EXIT_MISSING, ""));
        assert_eq!(nothing.stdout, help.stdout);
        for words in [&["-"][..], &["--"], &["-once"], &["--", "-h"]] {
            assert_eq!(answer(personality, words), nothing, "{words:?}");
        }
    }
}

#[test]
fn a_group_alone_is_an_error_and_with_help_an_answer() {
    for personality in BOTH {
        let alone = answer(personality, &["task"]);
        assert_eq!((alone.code, alone.stdout.as_str()), (EXIT_GROUP, ""));
        for words in [
            &["task", "word"][..],
            &["task", "-once"],
            &["task", "--"],
            &["task", ""],
        ] {
            assert_eq!(answer(personality, words), alone, "{words:?}");
        }
        for words in [&["task", "-h"][..], &["task", "word", "-h"]] {
            let help = answer(personality, words);
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
    for personality in BOTH {
        for words in [
            &["nonsense"][..],
            &[""],
            &["", "-version"],
            &["nonsense", "-h"],
            &["nonsense", "-version"],
            &["nonsense", "-autocomplete-install"],
            &["task create"],
            &["help"],
        ] {
            let answer = answer(personality, words);
            assert_eq!(answer.code, EXIT_UNKNOWN_COMMAND, "{words:?}");
            assert_eq!(answer.stdout, "", "{words:?}");
            assert!(answer.stderr.contains("Usage: "), "{words:?}");
        }
    }
    for ours in [
        "watcher",
        "workers",
        "migrate",
        "archive",
        "cluster",
        "config",
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
fn the_old_form_starts_with_a_warning() {
    for personality in BOTH {
        let (command, notice) = run(personality, &["-once", "-config-dir", "x"]);
        assert!(matches!(command, Command::Start { once: true, .. }));
        assert!(
            notice.contains(&format!("{} start", personality.name())),
            "{notice}"
        );
        assert!(notice.contains("start -help"), "{notice}");
        let (_, notice) = run(personality, &["start", "-config-dir", "x"]);
        assert_eq!(notice, "");
    }
}

#[test]
fn a_start_without_configuration_says_so_on_both_streams() {
    for personality in BOTH {
        let answer = answer(personality, &["start", "-once"]);
        assert_eq!(answer.code, EXIT_MISSING);
        let hint = format!("{} start --help", personality.name());
        assert!(answer.stdout.contains(&hint), "{}", answer.stdout);
        assert!(
            answer.stdout.contains("no configuration"),
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
}

#[test]
fn a_service_needs_no_command() {
    let (command, _) = run(
        WORKER,
        &["-config-file=a", "-scheduler", "b:1,c:2", "-scheduler=d:3"],
    );
    let Command::Worker { schedulers, .. } = command else {
        panic!("another command");
    };
    assert_eq!(schedulers.schedulers, ["b:1", "c:2", "d:3"]);
    let help = answer(WORKER, &["-h"]);
    assert!(
        help.stdout.contains("Usage: cts-worker [OPTIONS]"),
        "{}",
        help.stdout
    );
    assert_eq!(answer(WORKER, &["worker"]).code, EXIT_MISSING);
}
