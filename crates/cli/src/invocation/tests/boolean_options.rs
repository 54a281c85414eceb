//! Options that are on or off.

use super::{BOTH, answer, run};
use crate::arguments::{Command, ServiceCommand};
use crate::exit_code::EXIT_USAGE;

/// Whether the line runs every task once.
fn once(words: &[&str]) -> bool {
    let both = BOTH.map(|invoked_as| {
        let line = [&["start", "-config-file", "a.hcl"], words].concat();
        match run(invoked_as, &line).0 {
            Command::Service(ServiceCommand::Start(start)) => start.once,
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(both[0], both[1], "{words:?}");
    both[0]
}

#[test]
fn boolean_options_are_on_by_their_name_alone() {
    assert!(once(&["-once"]));
    assert!(once(&["--once"]));
    assert!(!once(&[]));
}

#[test]
fn a_value_stands_behind_the_equals_sign() {
    for value in ["1", "t", "T", "true", "TRUE", "True"] {
        assert!(once(&[&format!("-once={value}")]), "{value}");
    }
    for value in ["0", "f", "F", "false", "FALSE", "False"] {
        assert!(!once(&[&format!("--once={value}")]), "{value}");
    }
}

#[test]
fn a_word_behind_is_an_argument_and_ends_the_options() {
    assert!(once(&["-once", "false"]));
    assert!(!once(&["false", "-once"]));
}

#[test]
fn last_value_of_a_boolean_option_counts() {
    assert!(!once(&["-once", "-once=false"]));
    assert!(once(&["-once=false", "--once=t"]));
}

#[test]
fn other_values_are_refused() {
    for invoked_as in BOTH {
        for value in ["yes", "", "tRUE", "2"] {
            let line = format!("-once={value}");
            let answer = answer(invoked_as, &["start", &line]);
            let expected = format!("invalid boolean value {value:?} for -once: parse error");
            assert_eq!(answer.code, EXIT_USAGE);
            let said = answer.stdout + &answer.stderr;
            assert!(said.contains(&expected), "{said}");
        }
    }
}

#[test]
fn options_that_are_on_by_default_can_be_switched_off() {
    for invoked_as in BOTH {
        let line = ["task", "disable", "-ssl-verify=F", "web"];
        let (command, _) = run(invoked_as, &line);
        let said = format!("{command:?}");
        assert!(said.contains("ssl_verify: Some(false)"), "{said}");
        let line = ["task", "disable", "-ssl-verify", "web"];
        let said = format!("{:?}", run(invoked_as, &line).0);
        assert!(said.contains("ssl_verify: Some(true)"), "{said}");
    }
}
