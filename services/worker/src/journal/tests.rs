use std::time::Duration;

use chrono::TimeDelta;
use cts_core::Digest;

use super::progress::GRANTED_BEFORE;
use super::state::LIVES_KEPT;
use super::*;

fn life(number: u32) -> WorkerId {
    WorkerId::new(format!("worker-{number}"))
}

fn run(number: u8) -> RunId {
    let text = format!("0192f0c1-2b3c-7d4e-8f50-6162636465{number:02x}");
    text.parse().unwrap()
}

fn entry(task: &str, number: u8, epoch: u64) -> JournalEntry {
    JournalEntry {
        task: task.parse().unwrap(),
        run: run(number),
        epoch: LeaseEpoch::new(epoch),
        input: Digest::of(&[number]),
        began_at: None,
        outcome: None,
    }
}

fn begin(journal: &Journal, task: &str, number: u8, epoch: u64) {
    let entry = entry(task, number, epoch);
    journal.begin(entry, Instant::now()).unwrap();
}

fn end(journal: &Journal, task: &str, number: u8, epoch: u64) {
    let task = task.parse().unwrap();
    journal.end(&task, run(number), LeaseEpoch::new(epoch), "applied");
}

/// Lives and entries, the latter by name of the task.
fn reported(journal: &Journal) -> (Vec<WorkerId>, Vec<JournalEntry>) {
    let parts = journal.report("timeline").parts;
    let lives = parts[0].lives.clone();
    let (last, others) = parts.split_last().unwrap();
    assert!(last.last && others.iter().all(|part| !part.last && part.lives == lives));
    let mut entries: Vec<_> = parts.into_iter().flat_map(|part| part.entries).collect();
    entries.sort_by(|a, b| a.task.cmp(&b.task));
    (lives, entries)
}

fn ended(task: &str, number: u8, epoch: u64) -> JournalEntry {
    JournalEntry {
        outcome: Some("applied".to_owned()),
        ..entry(task, number, epoch)
    }
}

#[tokio::test]
async fn the_last_attempt_at_each_task_is_reported_by_the_next_life_too() {
    let directory = tempfile::tempdir().unwrap();
    let first = Journal::open(directory.path(), &life(1), true);
    begin(&first, "a", 1, 1);
    end(&first, "a", 1, 1);
    begin(&first, "b", 2, 1);
    begin(&first, "a", 3, 2);
    end(&first, "a", 3, 2);
    // An end of an earlier attempt changes nothing.
    end(&first, "b", 9, 1);
    let expected = vec![ended("a", 3, 2), entry("b", 2, 1)];
    assert_eq!(reported(&first), (vec![life(1)], expected.clone()));
    drop(first);
    for number in 2..4 {
        let next = Journal::open(directory.path(), &life(number), true);
        let lives = (1..=number).map(life).collect();
        assert_eq!(reported(&next), (lives, expected.clone()));
        let earlier: Vec<_> = (1..number).map(life).collect();
        assert_eq!(next.earlier_lives(), earlier);
    }
}

#[tokio::test]
async fn a_line_that_was_cut_off_at_the_end_was_not_begun() {
    let directory = tempfile::tempdir().unwrap();
    let first = Journal::open(directory.path(), &life(1), true);
    begin(&first, "a", 1, 1);
    let path = directory.path().join(FILE);
    let whole = fs::metadata(&path).unwrap().len();
    begin(&first, "b", 2, 1);
    let all = fs::read(&path).unwrap();
    let whole = usize::try_from(whole).unwrap();
    for length in whole..all.len() {
        fs::write(&path, &all[..length]).unwrap();
        let next = Journal::open(directory.path(), &life(2), true);
        let expected = (vec![life(1), life(2)], vec![entry("a", 1, 1)]);
        assert_eq!(reported(&next), expected, "{length} of {}", all.len());
    }
}

#[tokio::test]
async fn a_damaged_line_vouches_for_no_earlier_life() {
    let directory = tempfile::tempdir().unwrap();
    let first = Journal::open(directory.path(), &life(1), true);
    begin(&first, "a", 1, 1);
    begin(&first, "b", 2, 1);
    let path = directory.path().join(FILE);
    let all = fs::read(&path).unwrap();
    let ends = |byte: &u8| *byte == b'\n';
    let first_line = all.iter().position(ends).unwrap();
    let last_line = all[..all.len() - 1].iter().rposition(ends).unwrap();
    for at in first_line + 1..last_line {
        let mut damaged = all.clone();
        damaged[at] ^= 1;
        fs::write(&path, damaged).unwrap();
        let next = Journal::open(directory.path(), &life(2), true);
        let (lives, entries) = reported(&next);
        assert_eq!(lives, [life(2)], "byte {at}");
        assert!(entries.contains(&entry("b", 2, 1)));
    }
    // The file is whole after it was written again.
    assert_eq!(
        reported(&Journal::open(directory.path(), &life(3), true)).0,
        [life(2), life(3)]
    );
}

#[tokio::test]
async fn a_journal_that_is_lost_vouches_for_the_lives_after() {
    let directory = tempfile::tempdir().unwrap();
    begin(&Journal::open(directory.path(), &life(1), true), "a", 1, 1);
    fs::remove_file(directory.path().join(FILE)).unwrap();
    let next = Journal::open(directory.path(), &life(2), true);
    assert_eq!(reported(&next), (vec![life(2)], Vec::new()));
}

#[tokio::test]
async fn a_journal_that_cannot_be_written_vouches_for_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gone");
    fs::create_dir(&path).unwrap();
    let journal = Journal::open(&path, &life(1), true);
    begin(&journal, "a", 1, 1);
    {
        let mut state = journal.lock();
        state.file = Some(File::open("/dev/null").unwrap());
    }
    // The attempt still begins, and no file is left that would vouch for its task.
    begin(&journal, "a", 2, 1);
    assert!(!path.join(FILE).exists());
    let (lives, entries) = reported(&journal);
    assert_eq!((lives, entries), (Vec::new(), vec![entry("a", 2, 1)]));
    let next = Journal::open(&path, &life(2), true);
    assert_eq!(reported(&next).0, [life(2)]);
}

#[tokio::test]
async fn the_file_and_what_is_kept_are_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILE);
    let lines = || fs::read_to_string(&path).unwrap().lines().count();
    for number in 0..40 {
        let journal = Journal::open(directory.path(), &life(number), true);
        assert!(lines() <= LIVES_KEPT, "{}", lines());
        drop(journal);
    }
    let journal = Journal::open(directory.path(), &life(40), true);
    for epoch in 1..=600 {
        end(&journal, "a", 1, epoch);
        begin(&journal, "a", 1, epoch + 1);
        assert!(lines() <= LINES_BEYOND + 40, "{}", lines());
        // Without the wait for the disk this call is quick.
        if epoch % 3 == 0 {
            journal.lock().lines += 10;
        }
    }
    let (lives, entries) = reported(&journal);
    assert_eq!(
        (lives.len(), entries),
        (LIVES_KEPT, vec![entry("a", 1, 601)])
    );
}

#[tokio::test(start_paused = true)]
async fn journal_is_reported_once_per_timeline_and_again_for_earlier_grants() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::open(directory.path(), &life(1), true);
    assert!(journal.is_reported(""));
    assert!(!journal.is_reported("1"));
    journal.reported("1".to_owned(), 0, Instant::now());
    assert!(journal.is_reported("1"));
    assert!(!journal.is_reported("2"));
    begin(&journal, "a", 1, 1);
    assert_eq!(journal.report("1").begun, 1);
    // An attempt has begun while the report was on its way.
    journal.reported("1".to_owned(), 0, Instant::now());
    assert!(!journal.is_reported("1"));
    journal.reported("1".to_owned(), 1, Instant::now());
    tokio::time::advance(GRANTED_BEFORE).await;
    begin(&journal, "a", 2, 1);
    assert!(journal.is_reported("1"));
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_begin_is_that_of_the_database() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::open(directory.path(), &life(1), true);
    let time = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
    journal.set_clock(time, Instant::now());
    tokio::time::advance(Duration::from_secs(7)).await;
    begin(&journal, "a", 1, 1);
    let began_at = Some(time + TimeDelta::seconds(7));
    let expected = JournalEntry {
        began_at,
        ..entry("a", 1, 1)
    };
    assert_eq!(reported(&journal).1, std::slice::from_ref(&expected));
    let next = Journal::open(directory.path(), &life(2), true);
    assert_eq!(reported(&next).1, [expected]);
}

#[tokio::test]
async fn ten_thousand_tasks_are_reported_in_parts() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::open(directory.path(), &life(1), true);
    for number in 0..10_000 {
        let entry = entry(&format!("a_task_{number}"), 1, 1);
        journal.lock().apply(Line::Begin(entry));
    }
    let parts = journal.report("1").parts;
    assert!((2..5).contains(&parts.len()), "{}", parts.len());
    assert_eq!(reported(&journal).1.len(), 10_000);
}

#[tokio::test]
async fn attempts_are_sent_in_parts_once_for_each_start_of_a_leader() {
    let directory = tempfile::tempdir().unwrap();
    // Even without syncing, entries outlive the process.
    let first = Journal::open(directory.path(), &life(1), false);
    for number in 0..1_201 {
        begin(&first, &format!("t-{number}"), 1, 1);
    }
    begin(&first, "t-0", 2, 1);
    end(&first, "t-0", 2, 1);
    let journal = Journal::open(directory.path(), &life(2), false);
    let parts = journal.attempts();
    let sizes: Vec<usize> = parts.iter().map(Vec::len).collect();
    assert_eq!(sizes, [500, 500, 201]);
    assert_eq!(parts[2].last(), Some(&ended("t-0", 2, 1)));
    assert!(journal.is_compared(""), "there is no leader");
    assert!(!journal.is_compared("1/a"));
    journal.compared("1/a".to_owned());
    assert!(journal.is_compared("1/a"));
    assert!(!journal.is_compared("2/a"));
}
