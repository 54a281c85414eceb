//! Options with values, and what ends options.

use std::path::PathBuf;

use super::{Answer, BOTH, InvokedAs, answer, run};
use crate::arguments::{Command, ServiceCommand};
use crate::exit_code::{EXIT_MISSING, EXIT_USAGE};

/// The paths of the configuration and the tasks to inspect.
fn lists(invoked_as: InvokedAs, words: &[&str]) -> (Vec<PathBuf>, Vec<String>) {
    match run(invoked_as, words).0 {
        Command::Service(ServiceCommand::Start(start)) => {
            (start.service.configuration.paths, start.inspect_task)
        }
        other => panic!("{other:?}"),
    }
}

fn paths(words: &[&str]) -> Vec<PathBuf> {
    let [ours, original] = BOTH.map(|invoked_as| lists(invoked_as, words).0);
    assert_eq!(ours, original);
    ours
}

fn complaint(invoked_as: InvokedAs, words: &[&str]) -> String {
    let Answer {
        stdout,
        stderr,
        code,
    } = answer(invoked_as, words);
    assert_eq!(code, EXIT_USAGE, "{words:?}: {stdout}{stderr}");
    match invoked_as {
        InvokedAs::Original => stdout.lines().next().unwrap_or_default().to_owned(),
        InvokedAs::Ours | InvokedAs::Service { .. } => {
            assert_eq!(stdout, "");
            let line = stderr.lines().next().unwrap_or_default();
            line.strip_prefix("error: ").unwrap_or(line).to_owned()
        }
    }
}

#[test]
fn files_and_directories_are_one_list_in_the_order_given() {
    let line = [
        "start",
        "-config-file",
        "a",
        "--config-dir=b",
        "-config-file=c",
        "--config-dir",
        "d",
    ];
    assert_eq!(paths(&line), ["a", "b", "c", "d"].map(PathBuf::from));
}

#[test]
fn a_value_may_look_like_an_option_or_be_empty_or_hold_an_equals_sign() {
    assert_eq!(
        paths(&["start", "-config-file", "-once"]),
        [PathBuf::from("-once")]
    );
    assert_eq!(
        paths(&["start", "-config-file", "--"]),
        [PathBuf::from("--")]
    );
    assert_eq!(paths(&["start", "-config-file="]), [PathBuf::new()]);
    assert_eq!(paths(&["start", "-config-file", ""]), [PathBuf::new()]);
    assert_eq!(
        paths(&["start", "-config-file=a=b"]),
        [PathBuf::from("a=b")]
    );
    assert_eq!(
        paths(&["start", "-config-file", "=b"]),
        [PathBuf::from("=b")]
    );
}

#[test]
fn tasks_to_inspect_are_a_list_too() {
    let line = [
        "start",
        "-config-file=a",
        "-inspect-task=y",
        "--inspect-task",
        "x",
    ];
    for invoked_as in BOTH {
        assert_eq!(lists(invoked_as, &line).1, ["y", "x"]);
    }
}

#[test]
fn options_that_take_one_value_use_the_last() {
    for invoked_as in BOTH {
        let line = [
            "start",
            "-config-file=a",
            "-client-type=test",
            "-client-type",
            "x",
        ];
        let said = format!("{:?}", run(invoked_as, &line).0);
        assert!(said.contains("client_type: Some(\"x\")"), "{said}");
    }
}

#[test]
fn the_first_argument_ends_the_options_of_start() {
    for (invoked_as, warned) in [(InvokedAs::Ours, true), (InvokedAs::Original, false)] {
        for end in ["-", "word", "", "--"] {
            let line = ["start", "-config-file=a", end, "-config-file=b"];
            let notice = run(invoked_as, &line).1;
            let paths = lists(invoked_as, &line).0;
            assert_eq!(paths, [PathBuf::from("a")], "{end:?}");
            assert_eq!(!notice.is_empty(), warned, "{notice}");
        }
    }
}

#[test]
fn arguments_of_a_task_command_come_last_for_the_original_and_anywhere_for_us() {
    let line = ["task", "delete", "web", "-auto-approve"];
    let original = format!("{:?}", run(InvokedAs::Original, &line).0);
    assert!(original.contains("auto_approve: false"), "{original}");
    assert!(
        original.contains(r#"names: ["web", "-auto-approve"]"#),
        "{original}"
    );
    let ours = format!("{:?}", run(InvokedAs::Ours, &line).0);
    assert!(ours.contains("auto_approve: true"), "{ours}");
    assert!(ours.contains(r#"names: ["web"]"#), "{ours}");
}

#[test]
fn refuses_invalid_options_with_the_messages_of_the_original() {
    for invoked_as in BOTH {
        let complaint = |word| complaint(invoked_as, &["start", word]);
        assert_eq!(complaint("-=x"), "bad flag syntax: -=x");
        assert_eq!(complaint("---once"), "bad flag syntax: ---once");
        assert_eq!(complaint("-x"), "flag provided but not defined: -x");
        assert_eq!(complaint("--x=1"), "flag provided but not defined: -x");
        assert_eq!(complaint("-conf"), "flag provided but not defined: -conf");
        assert_eq!(
            complaint("-config-file"),
            "flag needs an argument: -config-file"
        );
    }
}

#[test]
fn the_original_has_none_of_our_options() {
    for option in [
        "-bind-address=::1",
        "-grpc-address=[::1]:1",
        "-log-format=json",
    ] {
        let line = ["start", "-config-file=a", option];
        complaint(InvokedAs::Original, &line);
        run(InvokedAs::Ours, &line);
    }
    complaint(InvokedAs::Original, &["task", "enable", "-wait", "web"]);
}

#[test]
fn a_misspelt_option_is_put_right_under_our_name_only() {
    let words = ["start", "-confg-file=a"];
    let ours = answer(InvokedAs::Ours, &words).stderr;
    assert!(ours.contains("did you mean -config-file?"), "{ours}");
    let short = answer(InvokedAs::Ours, &["start", "-config=a"]).stderr;
    let hint = "did you mean -config-file or -config-dir?";
    assert!(short.contains(hint), "{short}");
    let original = answer(InvokedAs::Original, &words);
    assert!(!original.stdout.contains("did you mean"));
    assert_eq!(original.stderr, "");
}

#[test]
fn options_may_have_one_letter_under_our_name() {
    for spelling in [
        &["-o", "json"][..],
        &["-o=json"],
        &["--output=json"],
        &["-output", "json"],
    ] {
        let line = [&["workers", "list"], spelling].concat();
        let said = format!("{:?}", run(InvokedAs::Ours, &line).0);
        assert!(said.contains("output: Json"), "{said}");
    }
}

#[test]
fn a_missing_argument_and_one_too_many_have_the_same_code() {
    assert_eq!(
        answer(InvokedAs::Ours, &["workers", "drain"]).code,
        EXIT_MISSING
    );
    assert_eq!(
        answer(InvokedAs::Ours, &["migrate", "word"]).code,
        EXIT_MISSING
    );
    assert_eq!(
        answer(InvokedAs::Ours, &["start", "-grpc-address", "x"]).code,
        EXIT_USAGE
    );
}

#[test]
fn bytes_that_are_no_text_are_kept_in_values() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    let path = OsString::from_vec(b"-config-file=\xff.hcl".to_vec());
    let words = vec![OsString::from("start"), path];
    let super::Request::Run { command, .. } = super::read(InvokedAs::Original, words) else {
        panic!("not run");
    };
    let Command::Service(command) = *command else {
        panic!("{command:?}");
    };
    let expected = PathBuf::from(OsString::from_vec(b"\xff.hcl".to_vec()));
    assert_eq!(command.options().configuration.paths, [expected]);
}
