//! Random sequences of writes, answers, reads and ticks against a model of what an input must have.

use chrono::{DateTime, TimeDelta, TimeZone as _, Utc};
use proptest::prelude::*;

use super::reads::{VIEWS, ms, port_of, reader, running, scheduled};
use super::*;
use crate::options::NextTick;

#[derive(Debug, Clone, Copy)]
enum Step {
    /// The content of the view in Consul changes.
    Write(usize),
    /// The watcher sends what it has read last by itself: the newest content.
    Answer(usize),
    /// The watcher begins to read a view for the requests that have come.
    Begin(usize),
    /// The read ends: its content is sent, then its mark.
    End(usize),
    Pass(u64),
    Tick,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_usize).prop_map(Step::Write),
        4 => (0..3_usize).prop_map(Step::Answer),
        5 => (1..3_usize).prop_map(Step::Begin),
        5 => (1..3_usize).prop_map(Step::End),
        3 => (0..400_u64).prop_map(Step::Pass),
        1 => Just(Step::Tick),
    ]
}

/// A view at the watcher.
#[derive(Debug, Default, Clone, Copy)]
struct Watched {
    /// The content in Consul.
    written: i64,
    /// The content that the planner has, and its revision.
    sent: i64,
    revision: u64,
    /// Mark of the newest request.
    asked: u64,
    /// The read that is under way: content and mark.
    reading: Option<(i64, u64)>,
}

struct World {
    planner: Planner,
    now: Duration,
    clock: DateTime<Utc>,
    views: [Watched; 3],
    /// For each task and silent view: the value that the next input needs, the time since which it is due, and the
    /// value in the last input.
    needed: [[i64; 3]; 2],
    triggered: [Option<Duration>; 2],
    frozen: [[i64; 3]; 2],
    owed: [[i64; 3]; 2],
}

impl World {
    fn new() -> Self {
        let mut planner = running(&[reader("a", &["db", "mail"]), scheduled("b")]);
        let clock = Utc.with_ymd_and_hms(2026, 5, 1, 12, 0, 0).unwrap();
        planner.tick(ms(0), clock, &NextTick::of(Utc));
        let view = Watched {
            written: 1,
            sent: 1,
            revision: 1,
            ..Watched::default()
        };
        Self {
            planner,
            now: ms(0),
            clock,
            views: [view; 3],
            needed: [[0; 3]; 2],
            triggered: [None; 2],
            frozen: [[1; 3]; 2],
            owed: [[0; 3]; 2],
        }
    }

    fn trigger(&mut self, task: usize) {
        self.needed[task] = self.views.map(|view| view.written);
        self.triggered[task].get_or_insert(self.now);
    }

    fn send(&mut self, view: usize, content: i64) {
        let known = &mut self.views[view];
        if content <= known.sent {
            return;
        }
        let before = ViewSnapshot::new(known.revision, [instance(VIEWS[view], "i", known.sent)]);
        known.revision += 1;
        known.sent = content;
        let after = ViewSnapshot::new(known.revision, [instance(VIEWS[view], "i", content)]);
        let delta = after.delta_from(Some(&before));
        self.planner
            .observe(&id(VIEWS[view]), delta, self.now)
            .unwrap();
        if view == 0 {
            self.trigger(0);
        }
    }

    fn take(&mut self) {
        for due in self.planner.take_due(self.now).tasks {
            let task = usize::from(due.definition.name.as_str() == "b");
            for (view, name) in VIEWS.iter().enumerate().skip(1) {
                let has = port_of(&due, name);
                let late = due.unread.iter().any(|unread| unread.view == id(name));
                if late {
                    let since = self.triggered[task].unwrap();
                    assert!(self.now >= since + ms(1000), "it has waited");
                    let owed = self.needed[task][view];
                    self.owed[task][view] = self.owed[task][view].max(owed);
                } else if self.triggered[task].is_some() {
                    assert!(has >= self.needed[task][view], "{task} lacks {view}");
                }
                self.frozen[task][view] = has;
            }
            self.triggered[task] = None;
        }
        for request in self.planner.take_reads() {
            for (view, name) in VIEWS.iter().enumerate() {
                if request.views.contains(&id(name)) {
                    self.views[view].asked = request.mark;
                }
            }
        }
        for task in 0..2 {
            if let Some(since) = self.triggered[task] {
                assert!(self.now < since + ms(1400), "{task} waits too long");
            }
        }
    }

    fn does(&mut self, step: Step) {
        match step {
            Step::Write(view) => self.views[view].written += 1,
            Step::Answer(view) => self.send(view, self.views[view].written),
            Step::Begin(view) => {
                let Watched { written, asked, .. } = self.views[view];
                self.views[view].reading.get_or_insert((written, asked));
            }
            Step::End(view) => {
                if let Some((content, mark)) = self.views[view].reading.take() {
                    self.send(view, content);
                    self.planner.read(&id(VIEWS[view]), mark, self.now);
                }
            }
            Step::Pass(milliseconds) => {
                self.now += ms(milliseconds);
                self.clock += TimeDelta::milliseconds(i64::try_from(milliseconds).unwrap());
            }
            Step::Tick => {
                // The other task is not to wait for a minute.
                if self.triggered[0].is_none() {
                    self.now += at(60);
                    self.clock += TimeDelta::seconds(60);
                }
            }
        }
        let before = self.next_tick();
        self.planner.tick(self.now, self.clock, &NextTick::of(Utc));
        if before <= self.clock {
            self.trigger(1);
        }
        self.take();
    }

    fn next_tick(&self) -> DateTime<Utc> {
        let mut snapshots = self.planner.task_snapshots();
        let next = snapshots.find_map(|snapshot| snapshot.next_tick);
        next.unwrap()
    }
}

proptest! {
    #[test]
    fn an_input_has_what_was_written_before_its_trigger_or_is_compared_when_it_comes(
        steps in prop::collection::vec(step(), 0..80),
    ) {
        let mut world = World::new();
        for step in steps {
            world.does(step);
        }
        // In the end all reads end.
        for _ in 0..2 {
            for view in 1..3 {
                for step in [Step::End(view), Step::Begin(view), Step::End(view)] {
                    world.does(step);
                }
            }
        }
        world.does(Step::Pass(399));
        for task in 0..2 {
            prop_assert!(world.triggered[task].is_none(), "{task} has not run");
            for view in 1..3 {
                prop_assert!(
                    world.frozen[task][view] >= world.owed[task][view],
                    "{task} never got {view}"
                );
            }
        }
    }
}
