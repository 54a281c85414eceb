//! Every block of commands of README and the documents is run by a test, or is marked with the reason why it is not:
//! `<!-- not run: systemd -->` on the line before it.

use std::fs;
use std::path::{Path, PathBuf};

/// Reasons of blocks that are not run.
const REASONS: [&str; 5] = [
    "another machine",
    "a paid service",
    "systemd",
    "a browser",
    "destroys",
];

/// Number of marked blocks. It may only get smaller: a new block gets a test.
const MARKED: usize = 18;

/// Sections whose blocks are run, each with the file and the test that run them; all sections of a document as `*`.
pub(super) const RUN: &[(&str, &str, &str, &str)] = &[
    (
        "README.md",
        "See it work",
        "printed/first_day.rs",
        "the_demo_goes_as_printed",
    ),
    (
        "README.md",
        "Run it",
        "printed/first_day.rs",
        "the_first_day_goes_as_printed",
    ),
    (
        "README.md",
        "Run it as four services",
        "printed/cluster.rs",
        "four_services_start_as_printed",
    ),
    (
        "examples/demo/README.md",
        "Demo: a pool that follows a service",
        "printed/first_day.rs",
        "the_demo_goes_by_hand_as_printed",
    ),
    ("README.md", "Test it", "../../../scripts/test", "run_step"),
    (
        "deploy/README.md",
        "Compose",
        "../../../scripts/compose-printed.sh",
        "run_printed",
    ),
    (
        "docs/access.md",
        "Tokens",
        "printed/tokens.rs",
        "tokens_are_made_as_printed",
    ),
    (
        "docs/access.md",
        "Audit",
        "printed/tokens.rs",
        "records_are_read_as_printed",
    ),
    (
        "docs/api.md",
        "*",
        "api/documentation.rs",
        "every_documented_call_works",
    ),
    (
        "docs/cli.md",
        "Examples",
        "printed/jobs.rs",
        "looks_at_a_running_cts_go_as_printed",
    ),
    (
        "docs/cli.md",
        "`cts status`",
        "printed/jobs.rs",
        "looks_at_a_running_cts_go_as_printed",
    ),
    (
        "docs/cli.md",
        "`cts config diff`",
        "printed/jobs.rs",
        "looks_at_a_running_cts_go_as_printed",
    ),
    (
        "docs/cli.md",
        "`cts approvals`",
        "printed/jobs.rs",
        "looks_at_a_running_cts_go_as_printed",
    ),
    (
        "docs/cli.md",
        "What a plan would need",
        "printed/consent.rs",
        "a_plan_is_tested_as_printed",
    ),
    (
        "docs/cli.md",
        "`cts doctor`",
        "printed/jobs.rs",
        "looks_at_a_running_cts_go_as_printed",
    ),
    (
        "docs/production.md",
        "For production",
        "printed/jobs.rs",
        "looks_at_a_running_cts_go_as_printed",
    ),
    (
        "docs/runbook.md",
        "Cts no leader",
        "printed/jobs.rs",
        "looks_at_a_running_cts_go_as_printed",
    ),
    (
        "docs/runbook.md",
        "Cts task failing",
        "printed/jobs.rs",
        "looks_at_a_running_cts_go_as_printed",
    ),
    (
        "docs/configuration.md",
        "Moving from one process to Postgres",
        "printed/backup.rs",
        "a_file_moves_to_postgres_as_printed",
    ),
    (
        "docs/configuration.md",
        "Addresses of the services",
        "printed/several_machines.rs",
        "services_of_several_machines_start_as_printed",
    ),
    (
        "docs/configuration.md",
        "TLS between the services",
        "printed/tokens.rs",
        "certificates_are_made_as_printed",
    ),
    (
        "docs/grpc.md",
        "*",
        "cluster/grpc_document.rs",
        "documented_calls_work_against_each_of_the_four",
    ),
    (
        "docs/writing-modules.md",
        "Trying a module",
        "printed/jobs.rs",
        "a_module_is_tried_as_printed",
    ),
];

/// A block of commands.
#[derive(Debug)]
pub(super) struct Block {
    document: String,
    /// The nearest heading before it.
    section: String,
    line: usize,
    pub(super) text: String,
    /// The reason why it is not run.
    mark: Option<String>,
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../..").canonicalize().unwrap()
}

/// README, the documents, and those beside the files of `deploy` and the examples.
fn documents() -> Vec<String> {
    let mut documents = Vec::new();
    let mut folders = vec![root(), root().join("docs"), root().join("deploy")];
    let examples = fs::read_dir(root().join("examples")).unwrap();
    folders.extend(examples.map(|entry| entry.unwrap().path()));
    for folder in folders {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let path = path
                .strip_prefix(root())
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            let is_document = Path::new(&path)
                .extension()
                .is_some_and(|kind| kind == "md")
                && (folder != root() || path == "README.md");
            documents.extend(is_document.then_some(path));
        }
    }
    documents.sort();
    documents
}

/// The blocks of a document that a shell reads: fenced as `sh`, `bash`, `shell` or `console`, and indented ones with a
/// prompt.
pub(super) fn blocks(document: &str) -> Vec<Block> {
    let text = fs::read_to_string(root().join(document)).unwrap();
    let mut found: Vec<Block> = Vec::new();
    let (mut section, mut mark) = (String::new(), None);
    // The fence of the open block, and whether a shell reads the block.
    let mut open: Option<bool> = None;
    let mut goes_on = false;
    for (index, line) in text.lines().enumerate() {
        let bare = line.trim();
        let block = |text: String, mark: &mut Option<String>| Block {
            document: document.to_owned(),
            section: section.clone(),
            line: index + 1,
            text,
            mark: mark.take(),
        };
        if let Some(language) = bare.strip_prefix("```") {
            let is_shell = ["sh", "bash", "shell", "console"].contains(&language);
            if open.take().is_none() {
                open = Some(is_shell);
                if is_shell {
                    found.push(block(String::new(), &mut mark));
                }
            }
            continue;
        }
        if let Some(is_shell) = open {
            if is_shell {
                let text = &mut found.last_mut().unwrap().text;
                text.push_str(line);
                text.push('\n');
            }
            continue;
        }
        if goes_on && (line.starts_with("    ") || bare.is_empty()) {
            let text = &mut found.last_mut().unwrap().text;
            text.push_str(line.get(4..).unwrap_or_default());
            text.push('\n');
            continue;
        }
        goes_on = line.starts_with("    $ ");
        if goes_on {
            found.push(block(format!("{}\n", &line[4..]), &mut mark));
        } else if let Some(reason) = bare.strip_prefix("<!-- not run: ") {
            mark = Some(reason.trim_end_matches("-->").trim().to_owned());
        } else if line.starts_with('#') {
            line.trim_start_matches('#').trim().clone_into(&mut section);
        }
    }
    found
}

/// The blocks of a section that is in [`RUN`].
pub(super) fn section(document: &str, section: &str) -> Vec<Block> {
    let is_run = RUN.iter().any(|row| (row.0, row.1) == (document, section));
    assert!(is_run, "{document}: {section}");
    let blocks = blocks(document).into_iter();
    let blocks: Vec<Block> = blocks
        .filter(|block| block.section == section && block.mark.is_none())
        .collect();
    assert!(!blocks.is_empty(), "{document}: {section}");
    blocks
}

impl Block {
    /// Its commands; a command over several lines is one, comments after it stay.
    pub(super) fn commands(&self) -> Vec<String> {
        let mut commands: Vec<String> = Vec::new();
        let mut goes_on = false;
        for line in self.text.lines().filter(|line| !line.trim().is_empty()) {
            if goes_on {
                let command = commands.last_mut().unwrap();
                command.push('\n');
                command.push_str(line);
            } else {
                commands.push(line.to_owned());
            }
            goes_on = line.ends_with('\\');
        }
        commands
    }

    fn is_run(&self) -> bool {
        let mut rows = RUN.iter();
        rows.any(|row| row.0 == self.document && (row.1 == self.section || row.1 == "*"))
    }
}

#[test]
fn every_block_of_commands_is_run_or_marked() {
    let documents = documents();
    let all: Vec<Block> = documents.iter().flat_map(|it| blocks(it)).collect();
    let mut marked = 0;
    let mut wrong = Vec::new();
    for block in &all {
        let place = format!("{}:{} ({})", block.document, block.line, block.section);
        match &block.mark {
            Some(reason) if !REASONS.contains(&reason.as_str()) => {
                wrong.push(format!("{place}: {reason:?} is none of {REASONS:?}"));
            }
            Some(_) => marked += 1,
            None if !block.is_run() => {
                wrong.push(format!(
                    "{place} is neither run nor marked:\n{}",
                    block.text
                ));
            }
            None => {}
        }
    }
    println!(
        "blocks of commands: {}, marked as not run: {marked}",
        all.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        marked <= MARKED,
        "{marked} blocks are marked, and {MARKED} may be"
    );
}

#[test]
fn every_test_that_runs_a_section_is_there() {
    for (document, section, file, test) in RUN {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests")
            .join(file);
        let text = fs::read_to_string(&path).unwrap();
        let has_test =
            text.contains(&format!("fn {test}(")) || text.contains(&format!("{test}() {{"));
        assert!(has_test, "{document}: {section}: {file} lacks {test}");
        let blocks = blocks(document);
        let named = blocks
            .iter()
            .any(|block| *section == "*" || block.section == *section);
        assert!(named, "{document} has no commands in {section}");
    }
}
