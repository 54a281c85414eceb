use std::path::Path;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn watch() -> Watch {
    Watch::new(StopPolicy::default(), 10 * SECOND)
}

fn allow(directory: &str, stop_in: u32, gone_in: u32) -> Line {
    Line::Allow {
        directory: directory.into(),
        stop_in: stop_in * SECOND,
        gone_in: gone_in * SECOND,
    }
}

fn found(groups: &[(&str, i32)]) -> Vec<MarkedGroup> {
    groups
        .iter()
        .map(|(directory, group)| MarkedGroup {
            directory: directory.into(),
            group: *group,
        })
        .collect()
}

fn signals(due: &[Due]) -> Vec<(i32, Signal)> {
    due.iter().map(|due| (due.group, due.signal)).collect()
}

/// Plays a guard to its end or for `length`, with processes that never stop. Returns its signals and their
/// times, to the tenth of a second.
fn play(
    watch: &mut Watch,
    groups: &[(&str, i32)],
    from: Instant,
    length: Duration,
) -> Vec<(u128, i32, Signal)> {
    let mut sent = Vec::new();
    let mut now = from;
    while let Some(next) = watch.next_look(now) {
        now = next.max(now);
        if now > from + length || watch.is_done(now) {
            break;
        }
        for due in watch.check(&found(groups), now) {
            if due.is_new {
                sent.push((
                    now.duration_since(from).as_millis() / 100,
                    due.group,
                    due.signal,
                ));
            }
        }
        now += Duration::from_millis(1);
    }
    sent
}

#[test]
fn nothing_is_looked_for_while_there_is_time() {
    let mut watch = watch();
    let now = Instant::now();
    assert_eq!(watch.next_look(now), None);
    watch.hear(allow("/a", 15, 29), now);
    watch.hear(allow("/b", 5, 29), now);
    assert_eq!(watch.next_look(now), Some(now + 5 * SECOND));
    watch.hear(allow("/b", 30, 40), now + SECOND);
    assert_eq!(watch.next_look(now), Some(now + 15 * SECOND));
    watch.hear(
        Line::Release {
            directory: "/a".into(),
        },
        now,
    );
    assert_eq!(watch.next_look(now), Some(now + 31 * SECOND));
}

#[test]
fn processes_without_renewal_are_stopped_before_the_end() {
    let mut watch = watch();
    let now = Instant::now();
    watch.hear(allow("/a", 15, 29), now);
    watch.hear(allow("/b", 60, 90), now);
    let sent = play(
        &mut watch,
        &[("/a", 7), ("/b", 8), ("/c", 9)],
        now,
        40 * SECOND,
    );
    // 13.5 of the 14 seconds left are used, six parts of seven for the interrupt.
    assert_eq!(
        sent,
        [
            (150, 7, Signal::SIGINT),
            (265, 7, Signal::SIGTERM),
            (285, 7, Signal::SIGKILL)
        ]
    );
}

#[test]
fn a_dead_workers_processes_are_all_stopped_at_once_but_what_was_released() {
    let mut watch = watch();
    let now = Instant::now();
    watch.hear(allow("/a", 15, 29), now);
    watch.hear(allow("/old", 15, 29), now);
    watch.hear(
        Line::Release {
            directory: "/old".into(),
        },
        now,
    );
    watch.lose_worker(now);
    let sent = play(
        &mut watch,
        &[("/a", 7), ("/old", 8), ("/unknown", 9)],
        now,
        40 * SECOND,
    );
    assert_eq!(
        sent,
        [
            (0, 7, Signal::SIGINT),
            (0, 9, Signal::SIGINT),
            (81, 9, Signal::SIGTERM),
            (95, 9, Signal::SIGKILL),
            (244, 7, Signal::SIGTERM),
            (285, 7, Signal::SIGKILL),
        ]
    );
}

#[test]
fn interrupted_processes_are_not_interrupted_again() {
    let interrupted = Line::Interrupted {
        directory: "/a".into(),
        terminate_in: 8 * SECOND,
        gone_in: 10 * SECOND,
    };
    let expected = [(80, 7, Signal::SIGTERM), (95, 7, Signal::SIGKILL)];
    let now = Instant::now();
    let mut stalled = watch();
    stalled.hear(allow("/a", 5, 30), now);
    stalled.hear(interrupted.clone(), now);
    let sent = play(&mut stalled, &[("/a", 7)], now, 40 * SECOND);
    assert_eq!(sent[..1], expected[..1]);
    assert_eq!(sent[1].2, Signal::SIGKILL);
    assert!(sent[1].0 < 100);
    let mut dead = watch();
    dead.hear(interrupted, now);
    dead.lose_worker(now);
    assert_eq!(play(&mut dead, &[("/a", 7)], now, 40 * SECOND), expected);
}

#[test]
fn a_late_renewal_ends_a_stop() {
    let mut watch = watch();
    let now = Instant::now();
    watch.hear(allow("/a", 1, 10), now);
    let then = now + SECOND;
    assert_eq!(
        signals(&watch.check(&found(&[("/a", 7)]), then)),
        [(7, Signal::SIGINT)]
    );
    watch.hear(allow("/a", 20, 30), then);
    assert_eq!(watch.next_look(then), Some(then + 20 * SECOND));
    assert_eq!(watch.check(&found(&[("/a", 7)]), then + SECOND), []);
}

#[test]
fn processes_that_appear_after_the_end_are_killed() {
    let mut watch = watch();
    let now = Instant::now();
    watch.hear(allow("/a", 1, 5), now);
    assert_eq!(play(&mut watch, &[], now, 60 * SECOND), []);
    let sent = play(&mut watch, &[("/a", 7)], now + 60 * SECOND, 5 * SECOND);
    assert_eq!(
        sent.iter().map(|sent| sent.2).collect::<Vec<_>>(),
        [Signal::SIGKILL]
    );
    assert!(sent[0].0 <= 10);
}

#[test]
fn words_of_the_worker_do_not_postpone_a_look() {
    let mut watch = watch();
    let now = Instant::now();
    watch.hear(allow("/a", 0, 5), now);
    watch.check(&found(&[("/a", 7)]), now);
    let later = now + Duration::from_millis(90);
    watch.hear(allow("/b", 20, 30), later);
    assert_eq!(watch.next_look(later), Some(now + BUSY));
}

#[test]
fn a_dead_workers_guard_looks_several_times_before_it_ends() {
    let mut watch = watch();
    let now = Instant::now();
    watch.lose_worker(now);
    let mut looks = 0;
    let mut at = now;
    while !watch.is_done(at) {
        at = watch.next_look(at).unwrap().max(at);
        assert_eq!(watch.check(&[], at), []);
        looks += 1;
    }
    assert!(looks >= 5, "{looks}");
    assert!(at >= now + SETTLED);
    assert!(at < now + 2 * SETTLED);
}

#[test]
fn a_worker_that_leaves_is_followed_at_once() {
    let mut watch = watch();
    let now = Instant::now();
    watch.hear(allow("/a", 15, 29), now);
    watch.hear(
        Line::Release {
            directory: "/a".into(),
        },
        now,
    );
    watch.hear(Line::End, now);
    assert_eq!(watch.next_look(now), Some(now));
    assert_eq!(watch.check(&found(&[("/a", 7), ("/left", 8)]), now), []);
    assert!(watch.is_done(now));
}

#[test]
fn a_directory_is_one_whatever_was_said_of_it() {
    let mut watch = watch();
    let now = Instant::now();
    watch.hear(allow("/a", 15, 29), now);
    watch.hear(
        Line::Release {
            directory: "/a".into(),
        },
        now,
    );
    watch.hear(allow("/a", 2, 4), now);
    assert!(watch.released.is_empty());
    assert!(watch.deadlines.contains_key(Path::new("/a")));
    assert_eq!(watch.next_look(now), Some(now + 2 * SECOND));
}
