//! Counts in the output of Terraform.

use serde_json::Value;

use super::super::model::Counts;

/// The counts of the last summary, as text or as lines of JSON. Missing if the output has no summary, as that of a plan
/// without changes.
pub(super) fn counts(output: &str) -> Option<Counts> {
    output
        .lines()
        .rev()
        .find_map(|line| json_counts(line).or_else(|| text_counts(line)))
}

fn json_counts(line: &str) -> Option<Counts> {
    let line: Value = serde_json::from_str(line).ok()?;
    let changes = Some(&line["changes"]).filter(|_| line["type"] == "change_summary")?;
    let number = |name: &str| changes[name].as_u64().unwrap_or_default();
    Some(Counts {
        additions: number("add"),
        changes: number("change"),
        destructions: number("remove"),
        imports: number("import"),
    })
}

/// `Plan: 1 to import, 2 to add, 3 to change, 4 to destroy.` or
/// `Apply complete! Resources: 2 added, 3 changed, 4 destroyed.`
fn text_counts(line: &str) -> Option<Counts> {
    let line = without_colours(line);
    let rest = [
        "Plan: ",
        "Apply complete! Resources: ",
        "Destroy complete! Resources: ",
    ]
    .iter()
    .find_map(|begin| line.strip_prefix(begin))?;
    let mut counts = Counts::default();
    for part in rest.split(['.', ',']) {
        let mut words = part.split_whitespace();
        let Some(Ok(number)) = words.next().map(str::parse) else {
            continue;
        };
        match words.last() {
            Some("add" | "added") => counts.additions = number,
            Some("change" | "changed") => counts.changes = number,
            Some("destroy" | "destroyed") => counts.destructions = number,
            Some("import" | "imported") => counts.imports = number,
            _ => {}
        }
    }
    Some(counts)
}

fn without_colours(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text));
    rest.fold(first, |text, part| text + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_in_every_form() {
        let rows = [
            (
                "x\nPlan: 2 to add, 3 to change, 4 to destroy.\ny",
                [2, 3, 4, 0],
            ),
            (
                "Plan: 1 to import, 2 to add, 0 to change, 0 to destroy.",
                [2, 0, 0, 1],
            ),
            (
                "\u{1b}[1mPlan:\u{1b}[0m 1 to add, 0 to change, 0 to destroy.",
                [1, 0, 0, 0],
            ),
            (
                "Apply complete! Resources: 1 added, 2 changed, 3 destroyed.",
                [1, 2, 3, 0],
            ),
            ("Destroy complete! Resources: 5 destroyed.", [0, 0, 5, 0]),
            (
                r#"{"type":"change_summary","changes":{"add":1,"change":2,"import":4,"remove":3}}"#,
                [1, 2, 3, 4],
            ),
        ];
        for (output, expected) in rows {
            let counts = counts(output).unwrap();
            let found = [
                counts.additions,
                counts.changes,
                counts.destructions,
                counts.imports,
            ];
            assert_eq!(found, expected, "{output}");
        }
        assert_eq!(counts("No changes. Your infrastructure matches."), None);
    }
}
