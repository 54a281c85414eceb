//! The tables of docs/cli.md (#options-and-arguments, #exit-codes, #start), row by row: exit code,
//! first line of each stream.

use crate::cli::calls::{BOTH, Place, assert_said};

const ROWS: [&[&str]; 48] = [
    // Options and arguments.
    &["start", "-once=maybe"],
    &["start", "-=x"],
    &["start", "---once"],
    &["start", "-nonsense"],
    &["start", "-config-file"],
    &["start", "-"],
    &["start", "--"],
    &["-"],
    &["--"],
    &["-=x"],
    &["task"],
    &["task", "nonsense"],
    &["task", "-ssl-verify", "create"],
    &["nonsense"],
    &["nonsense", "-h"],
    &["nonsense", "-version"],
    &[""],
    &["version"],
    // Help and version.
    &["-h"],
    &["-help"],
    &["--help"],
    &["-once", "-h"],
    &["start", "-h"],
    &["start", "-nonsense", "-h"],
    &["start", "-config-file", "-h"],
    &["start", "word", "-h"],
    &["start", "--", "-h"],
    &["task", "-h"],
    &["task", "nonsense", "-h"],
    &["task", "create", "-h"],
    &[],
    &["-v"],
    &["--version"],
    &["-h", "-version"],
    &["start", "-version"],
    &["task", "-version"],
    &["-config-file", "x", "-version"],
    // Sections 3 and 5.
    &["start"],
    &["start", "-config-file", "missing.hcl"],
    &["start", "-config-file", "bad.hcl"],
    &["start", "-config-file", "empty.hcl"],
    &["start", "-config-dir", "empty"],
    &["start", "word", "-config-file", "bad.hcl"],
    // The form without a command.
    &["-once"],
    &["-config-file", "missing.hcl"],
    &["--config-dir=empty", "-once=false"],
    &["-once", "-config-dir", "empty"],
    &["-config-file=bad.hcl", "-nonsense"],
];

#[tokio::test]
async fn every_row_has_its_exit_code_and_streams() {
    let place = Place::new();
    place.write("bad.hcl", "prot = 1\n");
    place.write("empty.hcl", "");
    std::fs::create_dir(place.path().join("empty")).unwrap();
    for name in BOTH {
        let mut lines = Vec::new();
        for words in ROWS {
            let words_shown: Vec<&str> = words
                .iter()
                .map(|word| if word.is_empty() { "''" } else { word })
                .collect();
            let called = place.call(name, words).await;
            lines.push(format!("{:40} {}", words_shown.join(" "), called.brief()));
        }
        assert_said!(format!("table-{name}"), lines.join("\n"));
    }
}
