//! Help of every command, and the version.

use crate::cli::calls::{BOTH, Called, ORIGINAL, OURS, Place, assert_said};

/// The words of every command that `name` has, as its own help lists them.
async fn commands(place: &Place, name: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut groups = vec![Vec::new()];
    while let Some(group) = groups.pop() {
        let words: Vec<&str> = group.iter().map(String::as_str).collect();
        let help = help(place, name, &words).await;
        for command in listed(&help.stdout) {
            let path = [group.clone(), vec![command]].concat();
            groups.push(path.clone());
            found.push(path);
        }
    }
    found.sort_unstable();
    found
}

/// The first word of each line below `Commands:`.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.skip_while(|line| line.is_empty());
    let lines = lines.take_while(|line| line.starts_with(' '));
    // Deeper lines continue a description.
    let lines = lines.filter(|line| !line.starts_with("      "));
    lines
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect()
}

async fn help(place: &Place, name: &str, words: &[&str]) -> Called {
    let help = place.call(name, &[words, &["-h"]].concat()).await;
    assert_eq!(
        (help.code, help.stderr.as_str()),
        (0, ""),
        "{name} {words:?}"
    );
    help
}

#[tokio::test]
async fn every_command_has_a_help_text() {
    let place = Place::new();
    for name in BOTH {
        let general = help(&place, name, &[]).await;
        assert_said!(format!("help-{name}"), general.stdout);
        for command in commands(&place, name).await {
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            let help = help(&place, name, &words).await;
            // Under our name the pages are clap's.
            if name == ORIGINAL || words == ["start"] {
                assert_said!(format!("help-{name}-{}", command.join("-")), help.stdout);
            }
        }
    }
}

#[tokio::test]
async fn the_commands_are_those_that_each_name_has() {
    let place = Place::new();
    let joined = async |name| {
        let commands = commands(&place, name).await;
        commands
            .iter()
            .map(|words| words.join(" "))
            .collect::<Vec<_>>()
    };
    let original = joined(ORIGINAL).await;
    let expected = [
        "start",
        "task",
        "task create",
        "task delete",
        "task disable",
        "task enable",
    ];
    assert_eq!(original, expected);
    let ours = joined(OURS).await;
    for command in expected
        .iter()
        .chain(&["config validate", "workers drain", "migrate", "man"])
    {
        assert!(
            ours.iter().any(|other| other == command),
            "{command} in {ours:?}"
        );
    }
}

#[tokio::test]
async fn the_version_has_two_lines_and_the_name_in_the_first() {
    let place = Place::new();
    for name in BOTH {
        let version = place.call(name, &["-version"]).await;
        assert_said!(format!("version-{name}"), version.transcript());
        for words in [&["-v"][..], &["--version"], &["-x", "-v", "-h"]] {
            assert_eq!(place.call(name, words).await, version, "{words:?}");
        }
    }
}
