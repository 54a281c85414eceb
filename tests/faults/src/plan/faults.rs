//! Which faults happen when.

use std::time::Duration;

use cts_testkit::Link;
use cts_tests::{Backend, Service};

use super::Size;
use super::setup::{MEMBERS, Setup, Shape};
use super::target::{
    Blow, Decision, End, Fault, Lock, Member, Misbehaviour, ServerFault, Target, Tasks, Wire,
};
use crate::random::Random;

/// Time between pauses without faults, each of length [`CALM`], so that starvation becomes visible.
const BETWEEN_CALMS: Duration = Duration::from_mins(2);
const CALM: Duration = Duration::from_secs(20);

/// Answers of Consul without a leader, and to a client that sends too many requests.
const ANSWERS: [(u16, &str); 4] = [
    (500, "No cluster leader"),
    (500, "rpc error making call: EOF"),
    (
        429,
        "Your IP is issuing too many concurrent connections, please rate limit your calls\n",
    ),
    (503, "<html>503 Service Unavailable</html>"),
];

/// One fault after another with a pause between, and now and then two at once.
pub(super) fn faults(
    random: &mut Random,
    setup: Setup,
    size: Size,
    length: Duration,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut at = Duration::from_millis(random.between(500, 2000));
    let mut calm_at = BETWEEN_CALMS;
    while at < length {
        let first = target(random, setup, size);
        let blow = blow(random, setup, first);
        faults.push(Fault {
            at,
            target: first,
            blow,
        });
        let mut over = at + blow.lasts();
        if random.percent(30) {
            let second = target(random, setup, size);
            let blow = self::blow(random, setup, second);
            if second != first {
                let later = at + Duration::from_millis(random.between(0, 1500));
                over = over.max(later + blow.lasts());
                faults.push(Fault {
                    at: later,
                    target: second,
                    blow,
                });
            }
        }
        at = over + Duration::from_millis(random.between(500, 5000));
        if at >= calm_at {
            at += CALM;
            calm_at = at + BETWEEN_CALMS;
        }
    }
    faults.sort_by_key(|fault| fault.at);
    faults
}

/// Times without a fault that are long enough for a calm.
pub(super) fn calms(faults: &[Fault]) -> Vec<[Duration; 2]> {
    let mut over = Duration::ZERO;
    let mut calms = Vec::new();
    for fault in faults {
        if fault.at.saturating_sub(over) >= CALM {
            calms.push([over, fault.at]);
        }
        over = over.max(fault.at + fault.blow.lasts());
    }
    calms
}

/// The end of a calm that something between these moments would break.
pub(super) fn overlapping(
    calms: &[[Duration; 2]],
    begin: Duration,
    end: Duration,
) -> Option<Duration> {
    let mut calms = calms.iter();
    let calm = calms.find(|[from, until]| end > *from && begin < *until)?;
    Some(calm[1])
}

fn target(random: &mut Random, setup: Setup, size: Size) -> Target {
    if setup.is_on_server() && random.percent(35) {
        return match random.between(1, 10) {
            1..=4 => Target::Server,
            _ => Target::Persons(some_tasks(random, size)),
        };
    }
    let choice = random.between(1, 100);
    match setup.shape {
        Shape::Cluster => of_cluster(random, size, choice),
        Shape::Embedded => match choice {
            1..=50 => Target::Member(Member::Whole),
            51..=65 => Target::Consul,
            66..=80 => Target::Wire(Wire {
                from: Member::Whole,
                to: End::Consul,
            }),
            81..=84 => Target::Disk,
            85..=88 => Target::Clock(Member::Whole),
            _ => terraform(random, size),
        },
    }
}

fn of_cluster(random: &mut Random, size: Size, choice: u64) -> Target {
    let mut of = |service, count| Member::Of(service, random.index(count));
    match choice {
        1..=14 => Target::Postgres,
        15..=16 => Target::Disk,
        17..=23 => Target::Consul,
        24..=27 => Target::Guard(random.index(3)),
        28..=30 => Target::WorkerWithGuard(random.index(3)),
        31..=35 => Target::Member(of(Service::Watcher, 2)),
        36..=51 => Target::Member(of(Service::Scheduler, 2)),
        52..=69 => Target::Member(of(Service::Worker, 3)),
        70..=73 => Target::Member(of(Service::Gateway, 2)),
        74..=89 => Target::Wire(wire(random)),
        90..=92 => {
            let (service, count) = random.choose(&MEMBERS);
            Target::Clock(Member::Of(service, random.index(count)))
        }
        _ => terraform(random, size),
    }
}

fn wire(random: &mut Random) -> Wire {
    let (from, to) = match random.between(1, 10) {
        1..=3 => {
            let from = Member::Of(Service::Scheduler, random.index(2));
            return Wire {
                from,
                to: End::Postgres,
            };
        }
        4..=5 => {
            let from = Member::Of(Service::Watcher, random.index(2));
            return Wire {
                from,
                to: End::Consul,
            };
        }
        6..=7 => (
            Member::Of(Service::Worker, random.index(3)),
            Service::Scheduler,
        ),
        8..=9 => (
            Member::Of(Service::Scheduler, random.index(2)),
            Service::Watcher,
        ),
        _ => (
            Member::Of(Service::Gateway, random.index(2)),
            Service::Scheduler,
        ),
    };
    let to = if random.percent(50) {
        End::All(to)
    } else {
        End::One(to, random.index(2))
    };
    Wire { from, to }
}

fn terraform(random: &mut Random, size: Size) -> Target {
    Target::Terraform(some_tasks(random, size))
}

fn some_tasks(random: &mut Random, size: Size) -> Tasks {
    let all = size.tasks + size.spare;
    let count = if random.percent(10) {
        all
    } else {
        random.index(3) + 1
    };
    Tasks {
        first: random.index(all),
        count,
    }
}

/// A process stands still for longer than its lease or leadership lasts, most of the time.
fn blow(random: &mut Random, setup: Setup, target: Target) -> Blow {
    let mut millis = |low, high| Duration::from_millis(random.between(low, high));
    let down = millis(100, 3000);
    let pause = match target {
        Target::Member(Member::Of(Service::Worker, _)) | Target::Guard(_) => millis(4000, 11_000),
        Target::Member(Member::Of(Service::Scheduler, _)) | Target::Wire(_) => millis(2000, 8000),
        _ => millis(1000, 7000),
    };
    let choice = random.between(1, 10);
    match target {
        // Another guard is started at once.
        Target::Guard(_) if choice <= 5 => Blow::Kill(Duration::ZERO),
        Target::Guard(_) => Blow::Pause(pause),
        Target::WorkerWithGuard(_) => Blow::Kill(down),
        Target::Disk => Blow::Fill(pause),
        Target::Clock(_) => Blow::Jump(random.choose(&[-4, -2, 2, 3, 5]), pause),
        Target::Wire(wire) => Blow::Link(link(random, wire), pause),
        Target::Terraform(_) => misbehaviour(random, setup),
        Target::Server => Blow::BreakServer(
            random.choose(&[
                ServerFault::Down,
                ServerFault::Slow,
                ServerFault::Refuses,
                ServerFault::LosesAnswers,
                ServerFault::HoldsUploads,
            ]),
            pause,
        ),
        Target::Persons(_) => Blow::Decide(
            random.choose(&[
                Decision::ConfirmLate,
                Decision::Discard,
                Decision::Cancel,
                Decision::Lock,
            ]),
            pause,
        ),
        Target::Postgres => of_postgres(random, choice, down, pause),
        // The states that Terraform keeps there would be lost too, and cts cannot notice that.
        Target::Consul if setup.backend == Backend::Shared && (6..=9).contains(&choice) => {
            if choice <= 7 {
                Blow::LoseData(down)
            } else {
                Blow::TurnBack(pause)
            }
        }
        Target::Member(member) if setup.is_stale(member) => Blow::Pause(pause),
        _ => match choice {
            1..=4 => Blow::Kill(down),
            5..=7 => Blow::Pause(pause),
            _ => Blow::Terminate(down),
        },
    }
}

fn of_postgres(random: &mut Random, choice: u64, down: Duration, pause: Duration) -> Blow {
    match choice {
        1..=2 => Blow::Kill(down),
        3 => Blow::Pause(pause),
        4 => Blow::Terminate(down),
        5..=6 => {
            let each = Duration::from_millis(random.between(20, 400));
            Blow::SlowWrites(each, pause)
        }
        7..=8 => {
            let lock = random.choose(&[Lock::Runs, Lock::Tasks, Lock::Leadership, Lock::Election]);
            Blow::Lock(lock, pause)
        }
        _ => Blow::Failover(down),
    }
}

fn link(random: &mut Random, wire: Wire) -> Link {
    let answers = wire.to == End::Consul;
    match random.between(1, if answers { 10 } else { 6 }) {
        1 => Link::Slow(Duration::from_millis(random.between(20, 500))),
        2..=3 => Link::Cut,
        4 => Link::HalfOpen,
        5 => Link::ToClient,
        6 => Link::ToServer,
        _ => {
            let (status, text) = random.choose(&ANSWERS);
            Link::Answer(status, text)
        }
    }
}

/// Failures are mostly short: after three failed attempts a task waits for a minute and more.
fn misbehaviour(random: &mut Random, setup: Setup) -> Blow {
    let in_modules = [Misbehaviour::FailMidway, Misbehaviour::DieMidway];
    let how = if setup.is_on_server() {
        random.choose(&in_modules)
    } else {
        random.choose(&[
            Misbehaviour::Fail,
            Misbehaviour::Hang,
            Misbehaviour::Stubborn,
            Misbehaviour::Memory,
            in_modules[0],
            in_modules[1],
        ])
    };
    let longest = match how {
        Misbehaviour::Hang | Misbehaviour::Stubborn => 15_000,
        _ if random.percent(15) => 8000,
        _ => 2500,
    };
    Blow::Misbehave(how, Duration::from_millis(random.between(500, longest)))
}
