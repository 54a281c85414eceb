//! Lines that processes log from one moment on, for snapshots.

use std::collections::HashSet;
use std::sync::LazyLock;

use cts_testkit::eventually;
use cts_tests::{Cluster, DEADLINE, Service, met};
use regex::Regex;

/// A process, and its name in a snapshot.
pub(crate) type Named<'a> = (Service, usize, &'a str);

/// The first process of each service.
pub(crate) const FIRST_OF_EACH: [Named<'_>; 4] = [
    (Service::Watcher, 0, "watcher"),
    (Service::Scheduler, 0, "scheduler"),
    (Service::Worker, 0, "worker"),
    (Service::Gateway, 0, "gateway"),
];

/// Beginnings of lines, after the level, whose place among the other lines of their process is left to chance: lines
/// that stand first here, and lines that stand last.
const FIRST: [&str; 1] = ["scheduler: run queued"];
const LAST: [&str; 2] = ["rpc: ", "ctrl: workers take due runs again"];

/// Parts of lines that depend on the user of the test, and on which worker had the task before.
const NOT_SHOWN: [&str; 3] = [
    "not safe: ",
    "Terraform logging is set, ",
    "retrieved 0 Terraform handlers for task",
];

/// Parts of lines that each run and each start of a process has, whether something is wrong or not.
const ORDINARY: [&str; 10] = [
    "scheduler: run queued: ",
    ": executing task: ",
    ": task completed: ",
    ": error running task: ",
    "worker: run started: ",
    "worker: run ended: ",
    "cli: ",
    "cts: a service begins: ",
    "driver.terraform: ",
    "ctrl: initializing driver factory",
];

/// Further lines of a process about one fault, at most.
const LINES_OF_A_FAULT: usize = 3;

/// Lengths of the logs at one moment.
pub(crate) struct Marks<'a>(Vec<(Named<'a>, usize)>);

impl<'a> Marks<'a> {
    /// Marks the logs of these processes, in this order.
    pub(crate) fn of(cluster: &Cluster, processes: &[Named<'a>]) -> Self {
        let length = |(service, index, _name): Named<'_>| cluster.output(service, index).len();
        Self(processes.iter().map(|one| (*one, length(*one))).collect())
    }

    /// Further lines above DEBUG of each process, without the parts that differ between two runs.
    pub(crate) fn lines(&self, cluster: &Cluster) -> String {
        let mut lines = Vec::new();
        for ((service, index, name), from) in &self.0 {
            lines.push(format!("{name}:"));
            let further = shown(&cluster.output(*service, *index)[*from..]);
            lines.extend(further.iter().map(|line| format!("  {line}")));
        }
        lines.join("\n")
    }

    /// As [`lines`](Self::lines), about one fault: besides the ordinary lines, each of which stands there once, a process
    /// has at most [`LINES_OF_A_FAULT`].
    pub(crate) fn lines_of_a_fault(&self, cluster: &Cluster) -> String {
        let lines = self.lines(cluster);
        let (mut seen, mut further) = (HashSet::new(), 0);
        for line in lines.lines() {
            let ordinary = ORDINARY.iter().find(|part| line.contains(**part));
            match ordinary {
                _ if !line.starts_with(' ') => (seen, further) = Default::default(),
                Some(part) if seen.insert(part) => {}
                Some(_) | None => further += 1,
            }
            assert!(further <= LINES_OF_A_FAULT, "{line}\n{lines}");
        }
        lines
    }

    /// Waits until a process has logged the text.
    pub(crate) async fn until_logged(&self, cluster: &Cluster, name: &str, text: &str) {
        let of_name = |((_, _, of), _): &&(Named<'_>, usize)| *of == name;
        let ((service, index, _), from) = self.0.iter().find(of_name).unwrap();
        eventually(DEADLINE, async || {
            let output = cluster.output(*service, *index);
            let is_logged = output[*from..].contains(text);
            met(is_logged, output)
        })
        .await;
    }
}

/// The lines above DEBUG, without the parts that differ between two runs.
pub(crate) fn shown(output: &str) -> Vec<String> {
    static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            (r"^\S+ \[", "["),
            (r"127\.0\.0\.1:\d+", "ADDRESS"),
            (
                r"is unreachable: .*; since \d\d:\d\d:\d\d;",
                "is unreachable: REASON; since TIME;",
            ),
            (r"after \d+s", "after SECONDS"),
            (r"\b(failed_calls|views)=\d+", "$1=NUMBER"),
            (r"\bworker\.id=\S+", "worker.id=WORKER"),
            (
                r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
                "ID",
            ),
            (
                r"\b(took|due_for|retry_after|after)=[0-9.]+(ns|µs|ms|s)",
                "$1=DURATION",
            ),
            (r"\b(scheduler|worker|watcher|gateway)-\d\b", "$1-NUMBER"),
            (r"/\S*/cts-system\.[^/\s]+", "SITE"),
            // Chance decides which worker takes a run.
            (r"SITE/work(-\d+)?/", "SITE/WORK/"),
            (r"to group \d+", "to group NUMBER"),
            (
                r"(lost the peer.*|the peer cannot be used.*) error=.*",
                "$1 error=REASON",
            ),
            (
                r"tf_version=\S+ install_path=\S+ path=\S+",
                "tf_version=VERSION install_path=DIRECTORY path=FILE",
            ),
            (r"\b(and |terraform[/_])\d+\.\d+\.\d+", "${1}VERSION"),
            (r"\b(cli: |version=)\d+\.\d+\.\d+", "${1}VERSION"),
        ]
        .map(|(pattern, text)| (Regex::new(pattern).unwrap(), text))
        .into()
    });
    static IS_SHOWN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\d{4}-\S+ \[(INFO|WARN|ERROR)\] ").unwrap());
    let is_shown =
        |line: &&str| IS_SHOWN.is_match(line) && !NOT_SHOWN.iter().any(|part| line.contains(part));
    let lines = output.lines().filter(is_shown);
    let lines = lines.map(|line| {
        RULES.iter().fold(line.to_owned(), |line, (rule, text)| {
            rule.replace_all(&line, *text).into_owned()
        })
    });
    let place = |line: &String| {
        let rest = line
            .split_once("] ")
            .map_or("", |(_level, rest)| rest.trim_start());
        let begins = |one_of: &[&str]| one_of.iter().any(|begin| rest.starts_with(begin));
        match (begins(&FIRST), begins(&LAST)) {
            (true, _) => 0,
            (_, true) => 2,
            (false, false) => 1,
        }
    };
    let mut lines: Vec<_> = lines.collect();
    lines.sort_by_key(place);
    lines
}
