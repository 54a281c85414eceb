//! Documents and commands agree: each command line of a document can be read, and each command, option and exit code
//! is in docs/cli.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::{Arg, Command, CommandFactory as _};
use regex::Regex;

use crate::arguments::Arguments;

/// Inline code, which may go on in the next line.
static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`([^`]+)`").unwrap());

/// A call of the program in a line of a shell, with its words.
static CALL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?:\$ )?(?:\w+=\S+ )*cts ([a-z-][^;&>#)\\`]*)").unwrap());

/// The output of another program as a word of a call.
static SUBSTITUTION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\$\([^)]*\)").unwrap());

/// An option in prose.
static OPTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:^|[\s(\[`])--?([a-z][a-z-]*)").unwrap());

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../..").canonicalize().unwrap()
}

/// The documents of the repository, by their paths.
fn documents() -> BTreeMap<PathBuf, String> {
    let root = root();
    let folders = ["", "docs", "deploy"];
    let files = folders.iter().flat_map(|folder| {
        let entries = fs::read_dir(root.join(folder)).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path())
    });
    let documents = files.filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    documents
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            (path.strip_prefix(&root).unwrap().to_owned(), text)
        })
        .collect()
}

/// Command lines of a document: in fenced and indented blocks, and in inline code.
fn calls(document: &str) -> Vec<String> {
    let mut fenced = false;
    let mut lines = Vec::new();
    let mut prose = String::new();
    for line in document.replace("\\\n", " ").lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced || line.starts_with("    ") {
            lines.push(line.trim().to_owned());
        } else {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    let code = CODE.captures_iter(&prose);
    lines.extend(code.map(|found| found[1].replace('\n', " ")));
    let calls = lines.iter().filter_map(|line| {
        let line = SUBSTITUTION.replace_all(line, "VALUE");
        Some(CALL.captures(&line)?[1].to_owned())
    });
    // The words after a pipe are for another program.
    calls
        .map(|call| call.split(" | ").next().unwrap_or_default().to_owned())
        .collect()
}

fn tree() -> Command {
    let mut root = Arguments::command();
    root.build();
    root
}

fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command
        .get_arguments()
        .filter(|argument| !argument.is_positional())
}

fn has_option(command: &Command, name: &str) -> bool {
    let is_called = |argument: &Arg| {
        let long = argument.get_long_and_visible_aliases().unwrap_or_default();
        let hidden = argument.get_all_aliases().unwrap_or_default();
        let short = argument.get_short_and_visible_aliases().unwrap_or_default();
        long.contains(&name)
            || hidden.contains(&name)
            || short.iter().any(|letter| name == letter.to_string())
    };
    options(command).any(is_called)
}

/// Complaint about a call, if it cannot be read. Placeholders in capitals end the words that are looked at.
fn fault(root: &Command, call: &str) -> Option<String> {
    let mut command = root;
    for word in call.split_whitespace() {
        let word = word.trim_matches(|c| "[](),.:;'\"…".contains(c));
        if let Some(option) = word.strip_prefix('-') {
            let option = option.trim_start_matches('-');
            let name = option.split(['=', '[']).next().unwrap_or_default();
            let is_name = name.starts_with(|c: char| c.is_ascii_lowercase());
            if is_name && !has_option(command, name) {
                return Some(format!("no option -{name}"));
            }
            continue;
        }
        if command.get_subcommands().next().is_none() {
            continue;
        }
        let names: Vec<&str> = word.split('|').collect();
        let is_name = |name: &&str| name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        if !names.iter().all(is_name) {
            return None;
        }
        for name in names {
            let Some(below) = command.find_subcommand(name) else {
                return Some(format!("no command {name}"));
            };
            if name == word {
                command = below;
            }
        }
    }
    None
}

/// Every command without commands of its own, by its words.
fn leaves(command: &Command, words: &str, found: &mut BTreeMap<String, Command>) {
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        let words = format!("{words} {}", below.get_name());
        if below.get_name() == "help" {
            continue;
        }
        if below.get_subcommands().next().is_none() {
            found.insert(words.clone(), below.clone());
        }
        leaves(below, &words, found);
    }
}

#[test]
fn every_command_line_of_a_document_can_be_read() {
    let root = tree();
    let mut wrong = Vec::new();
    let mut number = 0;
    for (path, text) in documents() {
        for call in calls(&text) {
            number += 1;
            if let Some(fault) = fault(&root, &call) {
                wrong.push(format!("{}: cts {call}: {fault}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(number > 200, "only {number} command lines are found");
}

#[test]
fn every_command_and_option_is_documented() {
    let document = &documents()[Path::new("docs/cli.md")];
    let mut commands = BTreeMap::new();
    leaves(&tree(), "cts", &mut commands);
    let named: BTreeSet<&str> = OPTION
        .captures_iter(document)
        .map(|found| found.get(1).unwrap().as_str())
        .collect();
    let mut missing = Vec::new();
    for (words, command) in &commands {
        if !document.contains(words.as_str()) {
            missing.push(words.clone());
        }
        let options = options(command).filter(|option| !option.is_hide_set());
        let options = options.filter(|option| {
            let long = option.get_long_and_visible_aliases().unwrap_or_default();
            let short = option.get_short().map(String::from);
            !long
                .iter()
                .copied()
                .chain(short.as_deref())
                .any(|name| named.contains(name))
        });
        missing.extend(options.map(|option| format!("{words} -{}", option.get_id())));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn the_table_of_commands_is_complete() {
    let document = &documents()[Path::new("docs/cli.md")];
    let section = document.split("\n## Commands of `cts`\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.strip_prefix("| ")?.split(" | ").next());
    let cells: String = cells.collect();
    let named: BTreeSet<&str> = CODE
        .captures_iter(&cells)
        .map(|found| found.get(1).unwrap().as_str())
        .filter_map(|code| code.trim_start_matches("cts ").split(' ').next())
        .collect();
    let tree = tree();
    let commands = tree
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    let missing: Vec<&str> = commands
        .map(Command::get_name)
        .filter(|name| !named.contains(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?} of {named:?}");
}

#[test]
fn the_table_of_exit_codes_is_complete() {
    let document = &documents()[Path::new("docs/cli.md")];
    let section = document.split("\n## Exit codes\n").nth(1).unwrap();
    let rows = section.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let numbers = cells.flat_map(|cell| cell.split(','));
    let documented: BTreeSet<u8> = numbers
        .filter_map(|text| text.trim().parse().ok())
        .collect();
    let source = include_str!("exit_code.rs");
    let numbers = source.lines().filter_map(|line| line.split("u8 = ").nth(1));
    let numbers = numbers.map(|text| text.trim_end_matches(';').parse().unwrap());
    let defined: BTreeSet<u8> = numbers.chain([0]).collect();
    assert_eq!(documented, defined);
}
