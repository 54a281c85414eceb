//! Faults: their targets and actions.

use std::fmt;
use std::time::Duration;

use cts_testkit::Link;
use cts_tests::Service;

/// A process of cts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Member {
    /// A process of a cluster, by its index.
    Of(Service, usize),
    /// `cts start`, with all services in it.
    Whole,
}

/// The target of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A process of cts.
    Member(Member),
    /// The guard process of a worker.
    Guard(usize),
    /// A worker, and its guard at the same moment.
    WorkerWithGuard(usize),
    /// Connections.
    Wire(Wire),
    /// The database server.
    Postgres,
    /// The catalog.
    Consul,
    /// The file system of the database.
    Disk,
    /// The configuration files, with a restart of the processes that read tasks from them, one after the other.
    Files,
    /// The wall clock of a process.
    Clock(Member),
    /// Backend and provider blocks of the workers, which are restarted one after the other.
    Blocks,
    /// Terraform, while it is at work for some tasks.
    Terraform(Tasks),
    /// The server that makes the runs.
    Server,
    /// Persons who decide on the server about runs of some tasks.
    Persons(Tasks),
}

/// So many tasks, by number, from the first one on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tasks {
    /// Number of the first.
    pub first: usize,
    /// How many.
    pub count: usize,
}

/// Connections from one process to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wire {
    /// The client.
    pub from: Member,
    /// The servers.
    pub to: End,
}

/// The server end of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// One process.
    One(Service, usize),
    /// All processes of a kind.
    All(Service),
    /// The database.
    Postgres,
    /// The catalog.
    Consul,
}

/// The action of a fault. The last duration is the time until it is over: the process is started again, the
/// connections are open again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// SIGKILL.
    Kill(Duration),
    /// SIGSTOP, then SIGCONT.
    Pause(Duration),
    /// SIGTERM.
    Terminate(Duration),
    /// Connections behave like this.
    Link(Link, Duration),
    /// Every write to the database takes so much longer.
    SlowWrites(Duration, Duration),
    /// A session holds locks.
    Lock(Lock, Duration),
    /// The primary goes and a replica takes its place that lacks the last commits. The duration is the time for
    /// which it lacks the commits.
    Failover(Duration),
    /// The disk is full.
    Fill(Duration),
    /// The catalog restarts empty, counts its index from the beginning, and gets its instances again.
    LoseData(Duration),
    /// The catalog goes back to its state of so long ago, with the index of then, and gets all later changes
    /// again.
    TurnBack(Duration),
    /// The files get this version.
    Rewrite(u64),
    /// The clock is so many days ahead, or back if the number is negative.
    Jump(i64, Duration),
    /// The blocks of the workers get this version.
    ChangeBlocks(u64),
    /// Terraform misbehaves.
    Misbehave(Misbehaviour, Duration),
    /// The server misbehaves.
    BreakServer(ServerFault, Duration),
    /// Persons do this until it is over.
    Decide(Decision, Duration),
}

/// How a server misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerFault {
    /// All ports are closed. Runs go on.
    Down,
    /// Every answer is late.
    Slow,
    /// Some requests are refused with 503, without an effect.
    Refuses,
    /// Some requests are carried out without an answer, so that clients repeat them.
    LosesAnswers,
    /// Uploads stay unfinished.
    HoldsUploads,
}

/// What persons do on a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// Runs wait for a confirmation, which comes late.
    ConfirmLate,
    /// Runs wait for a confirmation, and are discarded.
    Discard,
    /// Runs are cancelled, wherever they are.
    Cancel,
    /// Workspaces are locked.
    Lock,
}

/// The object that a session locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lock {
    /// The table of runs, against reading, too.
    Runs,
    /// The rows of all tasks.
    Tasks,
    /// The row of the leadership.
    Leadership,
    /// The advisory lock that every write of the leader takes.
    Election,
}

/// How Terraform misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Misbehaviour {
    /// Every command fails at once.
    Fail,
    /// Every command stands still until it is over or interrupted.
    Hang,
    /// Like `Hang`, but interrupts and terminations are ignored: only a kill ends it early.
    Stubborn,
    /// Every command takes 192 MiB and is killed, as by the kernel when memory runs out.
    Memory,
    /// An apply fails in the middle of its work.
    FailMidway,
    /// An apply is killed in the middle of its work.
    DieMidway,
}

/// One fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Counted from the begin of the round.
    pub at: Duration,
    /// The target.
    pub target: Target,
    /// The action.
    pub blow: Blow,
}

impl Fault {
    /// Its kind, for figures.
    pub fn kind(&self) -> String {
        let target = match self.target {
            Target::Member(Member::Of(service, _)) => service.name(),
            Target::Member(Member::Whole) => "cts",
            Target::Guard(_) => "guard",
            Target::WorkerWithGuard(_) => "worker with guard",
            Target::Wire(Wire { from, to }) => {
                let from = match from {
                    Member::Of(service, _) => service.name(),
                    Member::Whole => "cts",
                };
                let to = match to {
                    End::One(service, _) | End::All(service) => service.name(),
                    End::Postgres => "postgres",
                    End::Consul => "consul",
                };
                return format!("{} {from} to {to}", self.blow.name());
            }
            Target::Postgres => "postgres",
            Target::Consul => "consul",
            Target::Disk => "disk",
            Target::Files => "files",
            Target::Blocks => "blocks",
            Target::Clock(Member::Of(service, _)) => {
                return format!("{} clock of {}", self.blow.name(), service.name());
            }
            Target::Clock(Member::Whole) => "clock",
            Target::Terraform(_) => "terraform",
            Target::Server => "server",
            Target::Persons(_) => "persons",
        };
        format!("{} {target}", self.blow.name())
    }
}

impl Misbehaviour {
    /// Its name, also in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Hang => "hang",
            Self::Stubborn => "stubborn",
            Self::Memory => "memory",
            Self::FailMidway => "fail-midway",
            Self::DieMidway => "die-midway",
        }
    }
}

impl Blow {
    /// Its name in figures.
    pub fn name(&self) -> String {
        match self {
            Self::Kill(_) => "kill".to_owned(),
            Self::Pause(_) => "pause".to_owned(),
            Self::Terminate(_) => "terminate".to_owned(),
            Self::Link(Link::Answer(status, _), _) => format!("answer {status}"),
            Self::Link(link, _) => link.name().to_owned(),
            Self::SlowWrites(..) => "slow writes".to_owned(),
            Self::Lock(lock, _) => format!("lock {lock:?}").to_lowercase(),
            Self::Failover(_) => "failover".to_owned(),
            Self::Fill(_) => "fill".to_owned(),
            Self::LoseData(_) => "lose data".to_owned(),
            Self::TurnBack(_) => "turn back".to_owned(),
            Self::Rewrite(_) => "rewrite".to_owned(),
            Self::ChangeBlocks(_) => "change".to_owned(),
            Self::Jump(days, _) if *days > 0 => "put ahead".to_owned(),
            Self::Jump(..) => "put back".to_owned(),
            Self::Misbehave(how, _) => how.name().to_owned(),
            Self::BreakServer(how, _) => format!("{how:?}").to_lowercase(),
            Self::Decide(decision, _) => format!("{decision:?}").to_lowercase(),
        }
    }

    /// How long it lasts.
    pub const fn lasts(&self) -> Duration {
        match *self {
            Self::Kill(time)
            | Self::Pause(time)
            | Self::Terminate(time)
            | Self::Link(_, time)
            | Self::SlowWrites(_, time)
            | Self::Lock(_, time)
            | Self::Failover(time)
            | Self::Fill(time)
            | Self::LoseData(time)
            | Self::TurnBack(time)
            | Self::Jump(_, time)
            | Self::Misbehave(_, time)
            | Self::BreakServer(_, time)
            | Self::Decide(_, time) => time,
            Self::Rewrite(_) | Self::ChangeBlocks(_) => Duration::ZERO,
        }
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Of(service, index) => write!(f, "{service}-{index}"),
            Self::Whole => f.write_str("cts"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(member) => write!(f, "{member}"),
            Self::Guard(index) => write!(f, "guard-{index}"),
            Self::WorkerWithGuard(index) => write!(f, "worker-{index} with its guard"),
            Self::Wire(Wire { from, to }) => match to {
                End::One(service, index) => write!(f, "{from} to {service}-{index}"),
                End::All(service) => write!(f, "{from} to every {service}"),
                End::Postgres => write!(f, "{from} to postgres"),
                End::Consul => write!(f, "{from} to consul"),
            },
            Self::Postgres => f.write_str("postgres"),
            Self::Consul => f.write_str("consul"),
            Self::Disk => f.write_str("disk"),
            Self::Files => f.write_str("files"),
            Self::Blocks => f.write_str("blocks of the workers"),
            Self::Clock(member) => write!(f, "clock of {member}"),
            Self::Terraform(Tasks { first, count }) => {
                write!(f, "terraform of {count} tasks from {first}")
            }
            Self::Server => f.write_str("server"),
            Self::Persons(Tasks { first, count }) => {
                write!(f, "persons, about {count} tasks from {first}")
            }
        }
    }
}
