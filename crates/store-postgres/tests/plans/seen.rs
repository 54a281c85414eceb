//! Statements as the server's log shows them.

use std::fmt::Write as _;

use serde_json::Value;

/// Tables that grow with time or with the number of runs.
const LARGE: [&str; 4] = ["runs", "events", "log_lines", "inputs"];

/// Pages that a statement may look at, and rows that it may sort.
const PAGES: u64 = 1_000;
const SORTED: f64 = 1_000.0;

/// Exceptions, for statements about all tasks or the whole queue: how their names begin, pages, rows to sort.
const EXCEPTIONS: [(&str, u64, f64); 17] = [
    // The new task is placed after all others.
    ("create_task", 5_000, SORTED),
    ("prune: drafts", 5_000, SORTED),
    ("tasks", 5_000, 10_000.0),
    // The blocked tasks.
    ("causes", 5_000, SORTED),
    // The open runs of all tasks.
    ("shown_runs", 10_000, SORTED),
    ("task_marks", 5_000, 10_000.0),
    // Several pages for each of the newest events of each task.
    ("task_states", 100_000, 50_000.0),
    ("queue_depth", 60_000, SORTED),
    // The due runs of all tasks, and those that the calls of the test have made.
    ("waiting_runs", 60_000, 11_000.0),
    // The open runs of all tasks, of which some have two.
    ("runs:", 10_000, 11_000.0),
    // The newest runs of ten tasks.
    ("runs of few tasks", 3_000, SORTED),
    // A hundred names, a few pages for each kind of run.
    ("prune: surplus", 20_000, SORTED),
    ("prune: outdated", 10_000, SORTED),
    // A thousand runs.
    ("log_space: newest ended runs", 20_000, SORTED),
    ("remove_logs: ended runs", 20_000, SORTED),
    // A hundred tasks, with the task in each of their newest inputs.
    ("prune: bundles in use", 10_000, SORTED),
    // A thousand inputs.
    ("prune: unused inputs", 10_000, SORTED),
];

/// A statement that was executed.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Its first line.
    pub(crate) name: String,
    plan: Value,
}

impl Seen {
    /// All statements of a log in which every entry begins with `@`, and whose plans are JSON.
    pub(crate) fn read(log: &str) -> Vec<Self> {
        let entries = log.split("\n@ ");
        let plans = entries.filter_map(|entry| Some(entry.split_once("plan:")?.1));
        let plans = plans.filter_map(|plan| {
            let mut explained: Value = serde_json::from_str(plan.trim()).ok()?;
            let text = explained.get("Query Text")?.as_str()?.trim().to_owned();
            Some(Self {
                name: text.lines().next()?.trim_start_matches("-- ").to_owned(),
                plan: explained.get_mut("Plan")?.take(),
            })
        });
        plans.collect()
    }

    pub(crate) fn pages(&self) -> u64 {
        pages(&self.plan)
    }

    /// Describes the problem of the statement, if any.
    pub(crate) fn problem(&self) -> Option<String> {
        let is_this = |name: &str| self.name.starts_with(name);
        let exception = EXCEPTIONS.iter().find(|(name, ..)| is_this(name));
        let (most_pages, most_sorted) =
            exception.map_or((PAGES, SORTED), |&(_, pages, sorted)| (pages, sorted));
        let mut problems = Vec::new();
        if self.pages() > most_pages {
            problems.push(format!("{} pages are read", self.pages()));
        }
        visit(&self.plan, 0, &mut |node, _depth| {
            let kind = text(node, "Node Type");
            let relation = text(node, "Relation Name");
            if kind == "Seq Scan" && LARGE.contains(&relation) {
                problems.push(format!("all of {relation} is read"));
            }
            let rows = node["Actual Rows"].as_f64().unwrap_or_default();
            if kind.ends_with("Sort") && rows > most_sorted {
                problems.push(format!("{rows} rows are sorted"));
            }
        });
        (!problems.is_empty()).then(|| problems.join(", "))
    }

    /// How it was executed.
    pub(crate) fn plan(&self) -> String {
        let mut lines = String::new();
        visit(&self.plan, 0, &mut |node, depth| {
            _ = writeln!(
                lines,
                "{:indent$}{} {} {} {} rows {} loops {} pages {} {}",
                "",
                text(node, "Node Type"),
                text(node, "Relation Name"),
                text(node, "Index Name"),
                node["Actual Rows"],
                node["Actual Loops"],
                pages(node),
                text(node, "Index Cond"),
                text(node, "Filter"),
                indent = depth * 2,
            );
        });
        lines
    }
}

fn text<'a>(node: &'a Value, key: &str) -> &'a str {
    node[key].as_str().unwrap_or_default()
}

fn pages(node: &Value) -> u64 {
    let pages = |of: &str| node[of].as_u64().unwrap_or_default();
    pages("Shared Hit Blocks") + pages("Shared Read Blocks")
}

fn visit(node: &Value, depth: usize, at: &mut impl FnMut(&Value, usize)) {
    at(node, depth);
    for child in node["Plans"].as_array().into_iter().flatten() {
        visit(child, depth + 1, at);
    }
}
