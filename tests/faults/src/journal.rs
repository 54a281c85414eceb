//! Notes that the modules wrote while they were at work, and what these prove.

use std::path::{Path, PathBuf};

use crate::observed::sightings::Sighting;
use crate::violation::{Rule, Violation};

/// A Terraform process: its id and when it was started, in clock ticks since the machine was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessKey {
    /// Process id, which may be used again later.
    pub pid: u32,
    /// Start.
    pub started: u64,
}

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The event.
    pub word: Word,
    /// The process that wrote the line.
    pub process: ProcessKey,
    /// Id of the worker.
    pub worker: String,
    /// When it was written, in hundredths of a second since the machine was started.
    pub at: u64,
    /// The text that is applied; for an overlap the other process.
    pub text: String,
}

/// An event in a module's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// Work begins.
    Begin,
    /// Work goes on.
    Beat,
    /// Work is done.
    End,
    /// Work fails, and the process goes on to its orderly end.
    Fails,
    /// Another Terraform that has worked on this task is alive.
    Overlap,
    /// The resource that a task makes once and keeps exists.
    Made,
    /// The kept resource is destroyed.
    Gone,
}

/// The journal of a task.
pub(crate) fn path(site: &Path, task: &str) -> PathBuf {
    site.join(format!("{task}.journal"))
}

/// Reads a journal. A line that cannot be read was cut off; nothing that kills a process can do so, hence it
/// is an error.
pub fn parse(text: &str) -> Result<Vec<Line>, String> {
    text.lines()
        .map(|line| parse_line(line).ok_or_else(|| format!("strange line {line:?}")))
        .collect()
}

fn parse_line(line: &str) -> Option<Line> {
    let mut words = line.splitn(6, ' ');
    let word = match words.next()? {
        "begin" => Word::Begin,
        "beat" => Word::Beat,
        "end" => Word::End,
        "fails" => Word::Fails,
        "overlap" => Word::Overlap,
        "made" => Word::Made,
        "gone" => Word::Gone,
        _ => return None,
    };
    let process = ProcessKey {
        pid: words.next()?.parse().ok()?,
        started: words.next()?.parse().ok()?,
    };
    let worker = words.next()?.to_owned();
    let (seconds, hundredths) = words.next()?.split_once('.')?;
    let at = seconds.parse::<u64>().ok()? * 100 + hundredths.parse::<u64>().ok()?;
    Some(Line {
        word,
        process,
        worker,
        at,
        text: words.next().unwrap_or_default().to_owned(),
    })
}

/// Two processes at work at once, in the journal of `task`.
///
/// Lines are appended, so their order is that of the writes: no process may write between the begin of another
/// and its last line. The last line is where the process ended or died; a dead process writes no further line.
pub fn overlaps(task: &str, lines: &[Line]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut current: Option<ProcessKey> = None;
    let mut earlier: Vec<ProcessKey> = Vec::new();
    let mut broken = |line: &Line, why: String| {
        violations.push(Violation::new(
            Rule::OneApplyAtATime,
            task,
            format!("{why}: {line:?}"),
        ));
    };
    for line in lines {
        match line.word {
            Word::Overlap => broken(line, "an earlier Terraform is alive".to_owned()),
            Word::Begin => {
                if earlier.contains(&line.process) {
                    broken(line, "it begins twice".to_owned());
                }
                earlier.extend(current.replace(line.process));
            }
            Word::Beat | Word::End | Word::Fails => {
                if current != Some(line.process) {
                    broken(line, format!("at work after the begin of {current:?}"));
                }
            }
            // The process that makes it makes other things at the same time.
            Word::Made | Word::Gone => {}
        }
    }
    violations
}

/// How many applies began, and how many came to their end.
pub fn counts(lines: &[Line]) -> (usize, usize) {
    let of = |word| lines.iter().filter(|line| line.word == word).count();
    (of(Word::Begin), of(Word::End))
}

/// The text of the last apply that came to its end.
pub fn last_applied(lines: &[Line]) -> Option<&str> {
    let mut ends = lines.iter().filter(|line| line.word == Word::End);
    ends.next_back().map(|line| &*line.text)
}

/// The journal as sightings: from each begin to the last line of the same process.
pub fn sightings(task: &str, lines: &[Line]) -> Vec<Sighting> {
    let mut seen: Vec<(ProcessKey, Sighting)> = Vec::new();
    let words = [Word::Begin, Word::Beat, Word::End];
    for line in lines.iter().filter(|line| words.contains(&line.word)) {
        match seen.last_mut() {
            Some((process, sighting)) if *process == line.process => sighting.until = line.at,
            _ => seen.push((
                line.process,
                Sighting {
                    task: task.to_owned(),
                    worker: line.worker.clone(),
                    group: line.process.pid,
                    from: line.at,
                    until: line.at,
                },
            )),
        }
    }
    seen.into_iter().map(|(_, sighting)| sighting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Vec<Violation> {
        overlaps("t", &parse(text).unwrap())
    }

    const ORDERLY: &str = "begin 10 500 a 7.00 x/1//v\nbeat 10 500 a 7.10 \nend 10 500 a 7.20 x/1//v\n\
                           begin 11 900 b 9.00 \nbeat 11 900 b 9.10 \n\
                           begin 10 1200 a 12.00 y\nend 10 1200 a 12.01 y\n";

    #[test]
    fn orderly_work_is_no_violation_even_if_one_dies_and_a_process_id_is_used_again() {
        assert_eq!(check(ORDERLY), []);
        let lines = parse(ORDERLY).unwrap();
        assert_eq!(counts(&lines), (3, 2));
        assert_eq!(last_applied(&lines), Some("y"));
        assert_eq!(lines[1].at, 710);
    }

    #[test]
    fn work_lasts_from_the_begin_to_the_last_line() {
        let seen = sightings("t", &parse(ORDERLY).unwrap());
        let times: Vec<_> = seen
            .iter()
            .map(|one| (&*one.worker, one.from, one.until))
            .collect();
        assert_eq!(times, [("a", 700, 720), ("b", 900, 910), ("a", 1200, 1201)]);
    }

    #[test]
    fn work_of_a_process_that_was_overtaken_is_found() {
        let both = "begin 1 1 a 1.00 x\nbegin 2 2 b 1.50 y\n";
        for (case, text) in [
            ("beat", format!("{ORDERLY}beat 11 900 b 12.05 \n")),
            ("end", format!("{both}end 1 1 a 2.00 x\nend 2 2 b 3.00 y\n")),
            ("alive", format!("{both}overlap 2 2 b 1.50 1\n")),
            ("begins twice", format!("{both}begin 1 1 a 2.00 x\n")),
        ] {
            let found = check(&text);
            assert_eq!(found.len(), 1, "{case}: {found:?}");
            assert_eq!(found[0].rule, Rule::OneApplyAtATime, "{case}");
        }
    }

    #[test]
    fn a_line_that_was_cut_off_is_an_error() {
        assert!(parse("begin 1 1 a 1.00 x\nbeg").is_err());
        assert!(parse("end 1 1 a").is_err());
    }
}
