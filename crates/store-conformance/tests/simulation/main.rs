//! The rules of leases and runs under everything that can go wrong, in simulated time.
//!
//! Each seed is a small world: schedulers, workers with their guards, Terraforms, a database, which is the
//! model that the conformance suite compares the stores with, and a network that loses, delays, repeats and
//! reorders. Processes crash, stop and go on; clocks run at different speeds and jump; the database goes
//! away. A checker that sees what really happens watches; at the end all faults stop, and every task must
//! have got its newest input without help.
//!
//! `CTS_SIMULATION_SEED=17 cargo test -p cts-store-conformance --test simulation -- --nocapture` prints the story of one
//! seed, `CTS_SIMULATION_SEEDS=1000000 cargo test …` runs more of them.

mod checker;
mod database;
mod engine;
mod faults;
mod process;
mod rules;
mod scheduler;
mod simulation;
mod terraform;
mod worker;

use std::ops::Range;

use cts_core::FrozenInput;
use cts_store_conformance::input;

use crate::rules::Rules;
use crate::simulation::{INPUTS, Outcome, Simulation};

/// Seeds in which all promises must hold.
const SEEDS: u64 = 6_000;
/// Seeds among which a broken rule must show.
const SEEDS_PER_BROKEN_RULE: u64 = 5_000;

fn inputs() -> Vec<FrozenInput> {
    (0..INPUTS)
        .map(|number| input(&number.to_string()))
        .collect()
}

fn run(seed: u64, rules: Rules, inputs: &[FrozenInput]) -> Outcome {
    Simulation::new(seed, rules, inputs, false).run()
}

/// The end of what happened in a seed, for its reader.
fn story(seed: u64, rules: Rules, inputs: &[FrozenInput], lines: usize) -> String {
    let story = Simulation::new(seed, rules, inputs, true).run().story;
    story[story.len().saturating_sub(lines)..].join("\n")
}

#[test]
fn all_promises_hold_whatever_goes_wrong() {
    let inputs = inputs();
    let mut seen = Seen::default();
    let seeds = seeds();
    if seeds.end - seeds.start == 1 {
        let everything = story(seeds.start, Rules::Kept, &inputs, usize::MAX);
        println!("{everything}");
    }
    for seed in seeds {
        let outcome = run(seed, Rules::Kept, &inputs);
        if let Some(violation) = &outcome.violation {
            panic!(
                "seed {seed}: {violation}\n{}",
                story(seed, Rules::Kept, &inputs, 150)
            );
        }
        seen.add(&outcome);
    }
    println!("{seen:?}");
    if seen.seeds >= SEEDS {
        seen.assert_that_enough_went_wrong();
    }
}

#[test]
fn every_broken_rule_is_found() {
    let inputs = inputs();
    let mut unseen = Vec::new();
    for rules in Rules::BROKEN {
        let found = (0..SEEDS_PER_BROKEN_RULE).find_map(|seed| {
            let violation = run(seed, rules, &inputs).violation?;
            Some((seed, violation.breach))
        });
        match found {
            Some((seed, breach)) => println!("{rules:?}: {breach:?} in seed {seed}"),
            None => unseen.push(rules),
        }
    }
    assert_eq!(unseen, [], "the checker has seen nothing");
}

#[test]
fn a_seed_happens_the_same_way_each_time() {
    let inputs = inputs();
    for seed in 0..20 {
        let first = story(seed, Rules::Kept, &inputs, usize::MAX);
        assert!(!first.is_empty());
        assert!(
            first == story(seed, Rules::Kept, &inputs, usize::MAX),
            "seed {seed}"
        );
    }
}

/// The one seed or the number of seeds in the environment, or the usual seeds.
fn seeds() -> Range<u64> {
    match environment("CTS_SIMULATION_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..environment("CTS_SIMULATION_SEEDS").unwrap_or(SEEDS),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a failing seed is run again by naming it"
)]
fn environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// That the seeds have been through something.
#[derive(Debug, Default)]
struct Seen {
    seeds: u64,
    events: u64,
    grants: u64,
    last_applied: u64,
    plans: u64,
    reaped: u64,
    excused: u64,
    failed_requests: u64,
    takeovers: u64,
    lost_words: u64,
    refused_writes: u64,
    interrupts: u64,
    kills: u64,
}

impl Seen {
    fn add(&mut self, outcome: &Outcome) {
        let counted = &outcome.counted;
        self.seeds += 1;
        self.events += outcome.events;
        self.grants += counted.grants;
        self.last_applied += counted.last_applied;
        self.plans += counted.plans;
        self.reaped += counted.reaped;
        self.excused += counted.excused;
        self.failed_requests += counted.failed_requests;
        self.takeovers += counted.takeovers;
        self.lost_words += counted.lost_words;
        self.refused_writes += counted.refused_writes;
        self.interrupts += outcome.interrupts;
        self.kills += outcome.kills;
    }

    fn assert_that_enough_went_wrong(&self) {
        for (what, count) in [
            ("grants", self.grants),
            ("last_applied", self.last_applied),
            ("plans", self.plans),
            ("reaped", self.reaped),
            ("excused", self.excused),
            ("counted losses", self.reaped - self.excused),
            ("failed requests", self.failed_requests),
            ("takeovers", self.takeovers),
            ("lost words", self.lost_words),
            ("refused writes", self.refused_writes),
            ("interrupts", self.interrupts),
            ("kills", self.kills),
        ] {
            assert!(count > self.seeds / 10, "{what}: only {count}");
        }
    }
}
