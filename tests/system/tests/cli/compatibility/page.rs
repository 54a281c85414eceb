//! Rows of docs/compatibility.md, and the results of calls and requests that they name.

use std::fs;
use std::path::{Path, PathBuf};

/// Statuses of HTTP that the page names. Other numbers of three digits are sizes and counts.
const STATUSES: [u16; 16] = [
    200, 201, 301, 302, 303, 307, 308, 400, 404, 405, 409, 413, 422, 429, 500, 503,
];

/// Exit codes that are not mistaken for anything else.
const CLEAR_EXIT_CODES: [u16; 2] = [127, 130];

/// Words in front of any other exit code.
const BEFORE_EXIT_CODES: [&str; 3] = ["code", "exit", "with"];

/// Begins of command lines and configuration, which are no messages.
const COMMANDS: [&str; 11] = [
    "cts",
    "task",
    "terraform",
    "workspace",
    "echo",
    "printf",
    "init",
    "GET",
    "PATCH",
    "POST",
    "PUT",
];

/// Characters of configuration, code and paths.
const CODE: [char; 12] = ['{', '}', '=', '<', '>', '[', ']', '$', '"', '|', '/', '\\'];

/// A row of a table.
#[derive(Debug)]
pub(crate) struct Row {
    line: String,
}

/// Root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All rows of the page, without the headings of its tables.
pub(crate) fn rows() -> Vec<Row> {
    let page = fs::read_to_string(repository().join("docs/compatibility.md")).unwrap();
    let lines: Vec<&str> = page.lines().collect();
    let is_rule = |line: &&str| line.starts_with("| ---");
    let is_row = |line: &&str| line.starts_with("| ") && !is_rule(line);
    let rows = lines.iter().enumerate().filter(|(number, line)| {
        let heads_table = lines.get(number + 1).is_some_and(is_rule);
        is_row(line) && !heads_table
    });
    rows.map(|(_, line)| Row {
        line: (*line).to_owned(),
    })
    .collect()
}

impl Row {
    /// Whether its first cell begins like this.
    pub(crate) fn begins(&self, begin: &str) -> bool {
        self.line["| ".len()..].starts_with(begin)
    }

    /// The whole row.
    pub(crate) fn text(&self) -> &str {
        &self.line
    }

    /// Whether it names a code or a message.
    pub(crate) fn names_results(&self) -> bool {
        !self.codes().is_empty() || !self.messages().is_empty()
    }

    /// Exit codes and statuses.
    pub(crate) fn codes(&self) -> Vec<u16> {
        let words = self
            .line
            .split(|c: char| !(c.is_alphanumeric() || "\\.,-".contains(c)));
        let words = words.map(|word| word.trim_end_matches(['.', ',']));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let pairs = [""].iter().chain(&words).zip(&words);
        let codes = pairs.filter_map(|(before, word)| {
            let number: u16 = word.parse().ok()?;
            let is_code = STATUSES.contains(&number)
                || CLEAR_EXIT_CODES.contains(&number)
                || (number < 100 && BEFORE_EXIT_CODES.contains(before));
            is_code.then_some(number)
        });
        codes.collect()
    }

    /// Texts of programs in code marks.
    pub(crate) fn messages(&self) -> Vec<&str> {
        let marked = self.line.split('`').skip(1).step_by(2);
        marked.filter(|text| is_message(text)).collect()
    }
}

fn is_message(text: &str) -> bool {
    let words: Vec<&str> = text.split(' ').collect();
    let is_command = COMMANDS.contains(&words[0]) || words.iter().any(|word| word.starts_with('-'));
    let is_word = |word: &str| word.chars().filter(|c| c.is_alphabetic()).count() > 1;
    words.iter().filter(|word| is_word(word)).count() > 1 && !is_command && !text.contains(CODE)
}

#[test]
fn results_are_told_from_other_numbers_and_texts() {
    let row = |cells: &str| Row {
        line: format!("| {cells} |"),
    };
    let names: [(&str, &[u16], &[&str]); 6] = [
        (
            "exit code 11, exit 12, exits with 13 | a 400; (404)",
            &[11, 12, 13, 400, 404],
            &[],
        ),
        ("after 10 s, 16 MiB, `\"\\400\"`, 512 bits, 1,500", &[], &[]),
        (
            "usage, 127 | `unable to read` and `certificate required`",
            &[127],
            &["unable to read", "certificate required"],
        ),
        (
            "`Error: unable to …`, `'x' enable complete!`",
            &[],
            &["Error: unable to …", "'x' enable complete!"],
        ),
        (
            "`cts task delete web`, `init -reconfigure`, `a = 1 b`",
            &[],
            &[],
        ),
        (
            "`condition \"schedule\"`, `terraform.tfvars`, `<no value>`",
            &[],
            &[],
        ),
    ];
    for (cells, codes, messages) in names {
        let row = row(cells);
        assert_eq!(
            (row.codes().as_slice(), row.messages().as_slice()),
            (codes, messages)
        );
    }
}
