use crate::conditions::Kind;
use std::collections::{BTreeMap, BTreeSet};

use cts_tests::{Backend, Driver, Service};

use super::*;

const SIZE: Size = Size {
    tasks: 50,
    spare: 10,
    services: 15,
};

fn setup(shape: Shape) -> Setup {
    Setup {
        shape,
        engine: Engine::Real,
        driver: Driver::Terraform,
        backend: Backend::Shared,
        takeover_runs_all: false,
        stale_file: false,
        past: 0,
        followers: 0,
        brake: false,
    }
}

fn plan(seed: u64, seconds: u64) -> Plan {
    let extent = Extent::Time(Duration::from_secs(seconds));
    Plan::new(seed, SIZE, setup(Shape::Cluster), extent)
}

fn round(seed: u64, seconds: u64) -> Round {
    plan(seed, seconds).round(0, 0).unwrap()
}

#[test]
fn the_same_seed_makes_the_same_plan_and_another_seed_another() {
    assert_eq!(plan(7, 300), plan(7, 300));
    assert_eq!(round(7, 300), round(7, 300));
    let (one, other) = (round(7, 300), round(8, 300));
    assert_ne!(one.faults, other.faults);
    assert_ne!(one.changes, other.changes);
    assert_ne!(one.writes, other.writes);
    assert_eq!(plan(7, 300).round(1, 0), None);
    for engine in [Engine::Real, Engine::StandIn] {
        for shape in [Shape::Cluster, Shape::Embedded] {
            assert_eq!(Setup::new(7, shape, engine), Setup::new(7, shape, engine));
        }
    }
}

#[test]
fn seeds_choose_every_variant() {
    let setups: Vec<Setup> = (0..200)
        .map(|seed| Setup::new(seed, Shape::Cluster, Engine::Real))
        .collect();
    for has in [
        |setup: &Setup| setup.takeover_runs_all,
        |setup: &Setup| setup.backend == Backend::Consul,
        |setup: &Setup| setup.brake,
    ] {
        assert!(setups.iter().any(has) && !setups.iter().all(has));
    }
    let alone = Setup::new(3, Shape::Embedded, Engine::StandIn);
    assert_eq!(alone.members(), [Member::Whole]);
    assert_eq!(
        alone.backend,
        Backend::Shared,
        "the stand-in knows no other"
    );
}

#[test]
fn a_long_round_has_every_kind_of_fault() {
    let faults = round(1, 3 * 3600).faults;
    for member in setup(Shape::Cluster).members() {
        for name in ["kill", "pause", "terminate"] {
            let befalls =
                |fault: &Fault| fault.target == Target::Member(member) && fault.blow.name() == name;
            assert!(faults.iter().any(befalls), "{member} {name}");
        }
    }
    let kinds: BTreeSet<String> = faults.iter().map(Fault::kind).collect();
    let postgres = "kill,pause,terminate,slow writes,lock runs,lock tasks,lock leadership,lock election,failover";
    let consul = "kill,pause,terminate,lose data,turn back";
    let terraform = "fail,hang,stubborn,memory,fail-midway,die-midway";
    let links = "slow,cut,half-open,one-way to the client,one-way to the server";
    let wires = [
        "scheduler to postgres",
        "worker to scheduler",
        "scheduler to watcher",
        "gateway to scheduler",
        "watcher to consul",
    ];
    let mut all = vec![
        ("postgres", postgres),
        ("consul", consul),
        ("terraform", terraform),
        ("guard", "kill,pause"),
        ("worker with guard", "kill"),
        ("disk", "fill"),
        ("blocks", "change"),
        ("clock of scheduler", "put ahead,put back"),
        ("clock of worker", "put ahead,put back"),
        ("watcher to consul", "answer 429,answer 500"),
    ];
    all.extend(wires.map(|wire| (wire, links)));
    for (target, names) in all {
        for name in names.split(',') {
            let kind = format!("{name} {target}");
            assert!(kinds.contains(&kind), "{kind} is missing: {kinds:?}");
        }
    }
    assert!(
        faults
            .iter()
            .any(|fault| fault.blow.lasts() > Duration::from_secs(8))
    );
}

#[test]
fn plan_has_calms_in_which_nothing_fails() {
    let faults = round(1, 600).faults;
    let mut over = Duration::ZERO;
    let mut calms = 0;
    for fault in &faults {
        calms += usize::from(fault.at.saturating_sub(over) >= Duration::from_secs(20));
        over = over.max(fault.at + fault.blow.lasts());
    }
    assert!((2..=5).contains(&calms), "{calms}");
}

#[test]
fn one_process_alone_has_faults_of_its_own() {
    let plan = Plan {
        setup: setup(Shape::Embedded),
        ..plan(1, 3600)
    };
    let faults = plan.round(0, 0).unwrap().faults;
    let kinds: BTreeSet<String> = faults.iter().map(Fault::kind).collect();
    for kind in [
        "kill cts",
        "pause cts",
        "terminate cts",
        "fill disk",
        "put ahead clock",
        "put back clock",
        "change blocks",
        "lose data consul",
        "answer 500 cts to consul",
    ] {
        assert!(kinds.contains(kind), "{kind} is missing: {kinds:?}");
    }
    assert!(
        !kinds
            .iter()
            .any(|kind| kind.contains("postgres") || kind.contains("guard"))
    );
}

#[test]
fn a_state_in_consul_outlives_the_plan_and_a_stale_file_is_never_read_again() {
    let mut plan = plan(1, 3 * 3600);
    plan.setup.backend = Backend::Consul;
    plan.setup.stale_file = true;
    let stale = Target::Member(Member::Of(Service::Scheduler, 1));
    for fault in plan.round(0, 0).unwrap().faults {
        assert!(!matches!(fault.blow, Blow::LoseData(_) | Blow::TurnBack(_)));
        assert!(fault.target != stale || matches!(fault.blow, Blow::Pause(_)));
    }
}

#[test]
fn counted_changes_come_in_rounds_until_there_are_enough() {
    let mut plan = plan(5, 1);
    plan.setup.engine = Engine::StandIn;
    plan.extent = Extent::Changes(1200);
    let counts = |confirmed| {
        let round = plan.round(0, confirmed);
        round.map(|round| round.changes.len())
    };
    assert_eq!(counts(0), Some(500));
    assert_eq!(counts(1100), Some(100));
    assert_eq!(counts(1200), None);
    assert_ne!(
        plan.round(0, 0).unwrap().changes,
        plan.round(1, 500).unwrap().changes
    );
    assert_eq!(
        plan.round(99, 0),
        None,
        "it ends also if nothing is ever confirmed"
    );
}

#[test]
fn every_task_watches_one_to_three_services_or_all_and_writes_are_about_all_tasks() {
    let watched = |task: usize, services: &[usize]| match Kind::of(task) {
        Kind::Keys => services.len() == 15,
        _ => (1..=3).contains(&services.len()) && services.iter().all(|&service| service < 15),
    };
    let tasks = plan(3, 10).tasks;
    assert!(
        tasks
            .iter()
            .enumerate()
            .all(|(task, services)| watched(task, services))
    );
    let writes = round(3, 3600).writes;
    assert!(
        writes
            .iter()
            .all(|(_, write)| watched(write.task, &write.services))
    );
    let tasks: BTreeSet<usize> = writes.iter().map(|(_, write)| write.task).collect();
    assert_eq!(tasks.len(), 60);
}

#[test]
fn runs_that_wait_and_run_are_cancelled_gently_and_by_force() {
    let cancels = round(1, 600).cancels;
    for waiting in [true, false] {
        for force in [true, false] {
            let mut kinds = cancels.iter();
            assert!(kinds.any(|(_, one)| (one.waiting, one.force) == (waiting, force)));
        }
    }
    assert_eq!(cancels, round(1, 600).cancels);
}

#[test]
fn tasks_of_files_are_declared_in_every_way_and_others_never_change() {
    let plan = plan(3, 10);
    let (mut absent, mut disabled, mut otherwise) = (0, 0, 0);
    for version in 1..20 {
        for number in 0..plan.all_tasks() {
            let (first, now) = (plan.declared(number, 0), plan.declared(number, version));
            assert!(plan.is_of_files(number) || first == now, "{number}");
            match now {
                None if number < plan.size.tasks => absent += 1,
                Some(now) if !now.enabled => disabled += 1,
                Some(now) if Some(&now) != first.as_ref() => otherwise += 1,
                _ => {}
            }
        }
    }
    assert!(absent > 0 && disabled > 0 && otherwise > 0);
}

#[test]
fn files_change_while_runs_of_their_tasks_fail_unless_a_member_keeps_an_old_one() {
    let mut plan = plan(1, 600);
    let rewrites = |plan: &Plan| {
        let faults = plan.round(0, 0).unwrap().faults.into_iter();
        let mut rewrites: Vec<Fault> = faults.collect();
        rewrites.retain(|fault| fault.target == Target::Files);
        rewrites
    };
    assert!(rewrites(&plan).len() > 5);
    plan.setup.stale_file = true;
    assert_eq!(rewrites(&plan), []);
}

#[test]
fn a_fleet_with_a_brake_loses_most_instances_and_gets_them_back() {
    let mut plan = plan(4, 600);
    let without = plan.round(0, 0).unwrap();
    assert!(without.releases.is_empty());
    plan.setup.brake = true;
    let round = plan.round(0, 0).unwrap();
    assert_eq!(round.writes, without.writes);
    assert!(round.releases.len() > 2);
    assert!(round.faults.len() > without.faults.len());
    let mut at_once: BTreeMap<Duration, [BTreeSet<usize>; 2]> = BTreeMap::new();
    for (at, change) in &round.changes {
        let [lose, get_back] = at_once.entry(*at).or_default();
        match change {
            Change::Deregister { service, .. } => lose.insert(*service),
            Change::Register { service, .. } => get_back.insert(*service),
        };
    }
    let most = |services: &&BTreeSet<usize>| services.len() > SIZE.services / 2;
    let lost = at_once.values().map(|[lose, _]| lose).filter(most);
    let back = at_once.values().map(|[_, get_back]| get_back).filter(most);
    let (lost, back): (Vec<_>, Vec<_>) = (lost.collect(), back.collect());
    assert!(lost.len() > 8, "{lost:?}");
    assert_eq!(lost, back);
}

#[test]
fn the_blocks_of_the_workers_change_with_the_real_terraform() {
    let of_blocks = |engine| {
        let setup = Setup {
            engine,
            ..setup(Shape::Cluster)
        };
        let plan = Plan::new(3, SIZE, setup, Extent::Time(Duration::from_mins(20)));
        let faults = plan.round(0, 0).unwrap().faults.into_iter();
        let blows = faults.filter(|fault| fault.target == Target::Blocks);
        blows.map(|fault| fault.blow).collect::<Vec<_>>()
    };
    let changes = of_blocks(Engine::Real);
    assert!(changes.len() > 4);
    for (change, version) in changes.iter().zip(1..) {
        assert_eq!(*change, Blow::ChangeBlocks(version));
    }
    assert_eq!(of_blocks(Engine::StandIn), []);
    assert_eq!(
        [0, 1, 2, 3].map(Place::of),
        [Place::First, Place::Other, Place::First, Place::Other]
    );
    assert_eq!([0, 2, 4, (1 << 20) + 2].map(Plan::spelling), [0, 1, 2, 2]);
}
