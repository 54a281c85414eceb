//! The long error texts for a wrong command line.

use crate::cli::calls::{BOTH, OURS, Place, assert_said};

async fn said(place: &Place, name: &str, snapshot: &str, words: &[&str]) {
    let called = place.call(name, words).await;
    assert_said!(format!("{snapshot}-{name}"), called.transcript());
}

#[tokio::test]
async fn an_option_that_there_is_not() {
    let place = Place::new();
    for name in BOTH {
        said(&place, name, "unknown-option", &["start", "-confg-file=a"]).await;
        said(
            &place,
            name,
            "unknown-task-option",
            &["task", "disable", "-auto-approve", "web"],
        )
        .await;
        said(
            &place,
            name,
            "bad-value",
            &["task", "disable", "-port=x", "web"],
        )
        .await;
    }
}

#[tokio::test]
async fn a_start_without_configuration() {
    let place = Place::new();
    for name in BOTH {
        said(&place, name, "no-configuration", &["start", "-once"]).await;
    }
}

#[tokio::test]
async fn the_old_form_is_deprecated() {
    let place = Place::new();
    for name in BOTH {
        said(&place, name, "old-form", &["-config-file=missing.hcl"]).await;
    }
}

#[tokio::test]
async fn a_command_that_there_is_not() {
    let place = Place::new();
    for name in BOTH {
        said(&place, name, "unknown-command", &["strat"]).await;
        said(&place, name, "group", &["task", "crate"]).await;
    }
    said(&place, OURS, "missing-argument", &["workers", "drain"]).await;
}

#[tokio::test]
async fn reading_no_further_is_no_failure() {
    let mut place = Place::new();
    place.set("PATH", "/usr/bin:/bin");
    let program = place.program(OURS);
    let script = format!("set -o pipefail; {} man | head -n 1", program.display());
    let called = place
        .call_program("/bin/bash".as_ref(), &["-c", &script])
        .await;
    assert_eq!(
        (called.code, called.stderr.as_str()),
        (0, ""),
        "{}",
        called.stdout
    );
}
