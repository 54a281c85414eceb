//! The command line.

mod options;

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

use self::options::positive;
pub(crate) use self::options::{
    ApiStatusArguments, ChangeToApplyArguments, CutQueriesArguments, FailoverArguments,
    HistoryArguments, IdleArguments, LogFollowArguments, OverviewArguments, PageArguments,
    QueueArguments, SharedInputArguments, SoakArguments, StrangersArguments, WatchScaleArguments,
};

/// Measures cts with a real Consul, Postgres and Terraform, which it starts and ends itself.
///
/// Consul is `CTS_TEST_CONSUL` or `consul` on the PATH, Terraform is `CTS_TEST_TERRAFORM` or `terraform` on the
/// PATH; scripts/setup installs them. Postgres is the one of the tests, with `fsync`. Figures mean little while
/// the machine does other work.
#[derive(Debug, Parser)]
#[command(name = "cts-bench", disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) scenario: Scenario,
    #[command(flatten)]
    pub(crate) general: General,
}

/// Options of every scenario.
#[derive(Debug, Clone, Args)]
pub(crate) struct General {
    /// Print one JSON object per line: scenario, metric, value, unit.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Measure this executable instead of building target/release/cts. Helpers of the benchmark are not built either if
    /// they are beside it.
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) cts: Option<PathBuf>,
    /// Keep the files (configuration, task directories, log of cts) and say where they are.
    #[arg(long, global = true)]
    pub(crate) keep: bool,
    /// With metrics that are scraped every 5 s, and metrics and traces that are exported.
    #[arg(long, global = true)]
    pub(crate) telemetry: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Scenario {
    /// From a write to Consul to the applied run, one change at a time.
    ///
    /// One task on one service, no buffer, state in Consul, a local module with one `terraform_data` per
    /// instance. A change registers an instance with a new port and new metadata. All times begin just before
    /// the request that registers it is sent: "wakeup" ends when a bare blocking query of this program, like
    /// the one of cts, is answered; "start" when the Terraform process runs (an executable of cts-bench notes
    /// the moment and becomes Terraform); "applied" when cts reports over gRPC that the run has succeeded.
    /// After each change the same apply is done by hand: `terraform apply` with the same arguments, environment
    /// and variables in a copy of the task's directory, in a workspace of its own. `apply_ratio` is applied /
    /// by hand, both medians. Between all of these is a pause of 150 to 250 ms (the same sequence every time),
    /// so that neither Consul's rate limits nor the 100 ms that cts leaves between two requests are measured.
    /// With `--cluster` the change goes through watcher, scheduler, worker and gateway as processes of their
    /// own, over Postgres. `first_applied_seconds` is from the start of cts. With `--rules` a run plans, shows its plan and
    /// applies it.
    ChangeToApply(ChangeToApplyArguments),
    /// Like `change-to-apply`, for a task with a `regexp` that one service matches.
    Regexp(ChangeToApplyArguments),
    /// One change that makes many tasks run.
    ///
    /// All tasks watch one service, no buffer. `seconds` is from the write to the last applied run,
    /// `by_hand_seconds` the same applies in copies of the prepared directories, two at a time. The
    /// two alternate; medians.
    FanOut {
        /// Number of tasks.
        #[arg(long, default_value_t = 50, value_parser = positive())]
        tasks: u32,
        /// Number of changes.
        #[arg(long, default_value_t = 5, value_parser = positive())]
        rounds: u32,
        /// One module for all tasks or one for each.
        #[arg(long, default_value = "shared")]
        modules: Modules,
    },
    /// The first pass over many tasks.
    ///
    /// `seconds` is from starting cts in a new directory until every task is applied;
    /// `by_hand_seconds` is `terraform init`, `workspace new` and `apply` in as many new directories
    /// with the same files, one after another. Medians of the rounds.
    StartUp {
        /// Number of tasks.
        #[arg(long, default_value_t = 100, value_parser = positive())]
        tasks: u32,
        /// Repetitions.
        #[arg(long, default_value_t = 3, value_parser = positive())]
        rounds: u32,
        /// One module for all tasks or one for each.
        #[arg(long, default_value = "shared")]
        modules: Modules,
    },
    /// Runs that do nothing, through one scheduler over Postgres.
    ///
    /// This program plays the watcher and the workers: it reports a change of the service that all tasks watch
    /// to the scheduler over gRPC, leases their runs and reports them as applied at once. A worker has at most
    /// 4 slots and a connection of its own. `completed_per_second`: the queue is filled, then the workers
    /// begin; all runs divided by the time until the last report is answered; the median of the rounds.
    /// `bare_per_second` is the same queue emptied by the statements of the store over as many connections,
    /// without any service, and `completed_ratio` the first divided by the second. `pickup`: one run at a time
    /// while all workers wait, from just before the change is reported until the worker has the lease, so that
    /// it includes freezing and queueing the run; each pause before it is 20 to 50 ms. `fill_seconds` is from
    /// the change to the full queue. The processor time per run is that of scheduler, Postgres and this program
    /// while the queue is emptied. Figures for other than the largest number of slots have it in their name.
    Queue(QueueArguments),
    /// Many tasks, each on a service of its own, which all change at once.
    ///
    /// This program plays the watcher, and the workers of the first pass; one scheduler over Postgres.
    /// `queued_seconds` is from the first change to the full queue; all changes are sent within `sent_seconds`.
    /// `renewal_delay_max` is how much later than usual the leadership was renewed in that time, as the
    /// database shows it. Medians of the rounds; for the delay the worst round.
    Decide {
        /// Number of tasks.
        #[arg(long, default_value_t = 10_000, value_parser = positive())]
        tasks: u32,
        /// Repetitions.
        #[arg(long, default_value_t = 5, value_parser = positive())]
        rounds: u32,
    },
    /// One large service that changes, watched by many tasks.
    ///
    /// As `decide`, with one service of many instances, one of which changes. `stored_bytes_ratio` is the
    /// growth of the tables of inputs with each change, divided by the content of the service as it is stored;
    /// `queued_seconds` is from the change to the full queue.
    SharedInput(SharedInputArguments),
    /// `cts status` and `cts task list` over many tasks, each on a service of its own.
    ///
    /// As `decide`, with one gateway. Each figure is from the start of the command's process to its end, with one
    /// call at a time: first while every task is applied, then, with `queued_` in the name, while every task has a
    /// due run that no worker takes. Medians of the calls, and the longest.
    ///
    /// With --waiting this number of tasks waits for consent, and the rest is applied; `cts approvals list` is measured,
    /// too.
    ///
    /// With --busy: fifty services change each second, played workers take the runs, and ten callers ask for the
    /// overview and for the states of all tasks in turn, each again after a pause. `queued_alone` and `queued_beside`:
    /// from a change until its run is queued, without the callers and beside them, in turn, in one process at one
    /// nice level; `queued_p99_ratio`: the second divided by the first. `answer`: from a question to the end of its
    /// answer. `queued_followed`: the same beside 50 followers of the versions of the overview and ten of those of the
    /// tasks; `follower_of_`: bytes that one of them gets in a second.
    Overview(OverviewArguments),
    /// The page over many tasks, in a real Chromium, and beside readers without a browser.
    ///
    /// The system is that of `overview --busy`. Chromium and its driver are `CTS_TEST_CHROMIUM` and
    /// `CTS_TEST_CHROMEDRIVER`, or `chromium` and `chromedriver` on the PATH. Nothing changes during the loads, each of
    /// which begins with an empty cache; figures are medians of the loads.
    ///
    /// `visible`: from the beginning of the navigation to the overview until the last text in the window is painted for
    /// the first time, as the browser reports it (paint, element and largest contentful paint timing), with the buttons
    /// that scripts add; `first_painted`: until the first text. `requests`: those that begin before the last of these
    /// paints, and the stream of versions; `requests_later`: the others of the tab within 2 s. `bytes`: compressed
    /// transfer of the document, the style and all scripts, with their heads; `script_style_bytes`: without the
    /// document; `script_style_plain_bytes`: these without compression and heads. `line_painted`: from the navigation to
    /// the address of a run with `#L`, a line in the middle of the longest log, until the last text is painted.
    ///
    /// Then fifty services change each second, played workers take the runs, and the browser shows the overview, after
    /// that the grid of all tasks (`grid_`). `longest_task`: the longest task of the thread of the tab; 0 if all took less
    /// than 50 ms. `heap_growth`: growth of the heap of its scripts, between two collections of garbage; `nodes_growth`:
    /// of the number of its nodes.
    ///
    /// In the end each of the readers without a browser has a stream of versions, and asks for a fragment of the
    /// overview when its version has changed, at most once a second, as the page does. `queued_p99_ratio`: as in
    /// `overview --busy`. `fragment`: from a question of a reader to the end of its answer.
    ///
    /// To reach: `visible_p50` at most 200 ms, 4 requests, 60 KB, 40 KB for scripts and style; `longest_task` at most
    /// 100 ms; no growth of the heap; `queued_p99_ratio` at most 1.2; `line_painted_p50` at most 500 ms.
    Page(PageArguments),
    /// Growth under steady changes for a long time.
    ///
    /// Each task watches a service of its own, and these change in turn, in a real Consul that lets one client
    /// have more connections than by default. Terraform is a script that fails for one task in ten, ended runs
    /// are kept for some minutes. Memory and open files of each process, the size of the database and of its
    /// log are taken every 15 s. Each is reported as the mean around a third of the time (`_early`), of the
    /// last ninth (`_late`), and `_growth`, the second divided by the first.
    Soak(SoakArguments),
    /// Loss of workers and leading schedulers.
    ///
    /// Two schedulers, a watcher and a worker over Postgres, one task, a Terraform that does nothing or waits.
    /// `worker_recovery`: from SIGKILL for a worker whose Terraform applies until a second worker, which waits,
    /// has leased the run, as the scheduler reports. The kills fall at different moments between two renewals
    /// of the lease, so less than the life of a lease is possible. `takeover_crash` and `takeover_clean`: from
    /// SIGKILL or SIGTERM for the leader until the other scheduler reports that a change is queued which was
    /// written to Consul just after the signal; `_led`: until it reports that it leads. `_beyond_ttl` is
    /// without the configured life of lease or leadership. Medians of the rounds, and the worst round.
    Failover(FailoverArguments),
    /// Reading the configuration of many tasks: `cts config validate` on a directory of files.
    ///
    /// Half of the files are JSON. Each task has an ordinary set of keys; the tasks share local modules,
    /// variable files and provider blocks. `seconds` is from the start of the process to its end, which
    /// must say that the configuration is valid; `rss_peak` is its memory. Medians of the rounds, after
    /// one that does not count. `hcl_` and `json_` are the same with all files in one language.
    ConfigLoad {
        /// Number of tasks.
        #[arg(long, default_value_t = 5000, value_parser = positive())]
        tasks: u32,
        /// Number of files with tasks; one more file has everything else.
        #[arg(long, default_value_t = 500, value_parser = positive())]
        files: u32,
        /// Repetitions.
        #[arg(long, default_value_t = 7, value_parser = positive())]
        rounds: u32,
    },
    /// Requests for the status of many tasks over the REST API.
    ///
    /// `GET /v1/status/tasks` on so many connections at once, each of which repeats its request as soon as it
    /// has its answer, after the first pass, while nothing changes. Through one gateway as a process of its own
    /// first, over Postgres, then embedded; Terraform is a script that does nothing with success.
    /// `cpu_per_request` is the processor time of all processes of cts. This program shares the machine with
    /// them. Medians of the rounds. With `--busy` only over Postgres, with watcher and worker played by this
    /// program, while a hundred transactions a second are committed: ten runs that are queued, leased, write
    /// twice and are applied, and fifty heartbeats; `transactions_per_second` is what Postgres counts in that
    /// time; with `--waiting N`, N tasks wait for consent. With `--access auth` each request has a token, and the services have certificates with roles; `--access tls`
    /// is the same without any check of access.
    ApiStatus(ApiStatusArguments),
    /// Following the logs of runs that write nothing.
    ///
    /// Two schedulers over Postgres; this program plays watcher, worker and followers. Half of the runs are
    /// running, the others queued; each has one follower, at either scheduler in turn. `statements_per_second`
    /// is what the followers add to the transactions that Postgres counts, each of which is a statement;
    /// `_alone` is the number without followers. `line`: from the call that appends a line at one scheduler
    /// until its follower at the other scheduler has it, one at a time; with `_same_scheduler` both are at one
    /// scheduler.
    LogFollow(LogFollowArguments),
    /// A long history of runs, while old runs are pruned.
    ///
    /// After the first pass, with Terraform as a script that does nothing with success, the database is given a
    /// month of ended runs of these tasks, with inputs, events and logs. Then cts is started again with a
    /// retention of a minute, so that it prunes almost all of them. `prune_pause_max` is how much later than a
    /// third of its life the leadership was renewed, at most, as a connection of this program sees that in the
    /// database; `status_p99` is the latency of `GET /v1/status/tasks`, requested ten times a second. Both are
    /// taken for some time from the pruning of the first runs on, or until the pruning is done.
    /// `forgotten_per_second` is the speed of the pruning.
    History(HistoryArguments),
    /// Many tasks after their first pass, while nothing changes.
    ///
    /// Embedded first, then as four processes over Postgres, the worker's guard included. Terraform is a script
    /// that does nothing with success. After the first pass and 10 s of rest, processor time is taken over some
    /// time, and memory at its end: `rss` is the resident memory of each process, added up; for `pss`, which is
    /// for root alone, shared pages count once. `cpu_share` is the larger value of the two shapes.
    Idle(IdleArguments),
    /// Callers without a credential, or with the weakest one, that hold open and send what they can.
    ///
    /// Four processes over Postgres, with TLS everywhere, roles of services and an API that demands a token. The
    /// strangers, for some time, at the API and at the gRPC listeners of gateway and scheduler: idle connections, silent
    /// sockets, handshakes, calls of `Health/Watch`, requests with a wrong token, heads that are slow, open or huge, bodies of `release` and of calls
    /// that are slow, and large bodies; half of them with a token that may operate one task, or the certificate of a person
    /// who may read. Meanwhile a client asks for
    /// the states of all tasks fifty times a second, with a token over one connection, and another client asks the
    /// scheduler for its health as often. `answer` and `call`: from the moment at which a question is due to its whole
    /// answer; `connection`: a health request of the API with a connection of its own, twice a second; `quiet_` is
    /// before the strangers come. With `bare_` the same at two servers without cts (hyper, axum, tonic-health and
    /// rustls, with their own limits), which get the same strangers and answer as many bytes; the first calls the
    /// second before it answers with states, as a gateway calls its scheduler. `answer_ratio` and `call_ratio` are the
    /// 99th percentile beside the strangers divided by that of the bare servers. `rss_max` is the most memory that
    /// gateway or scheduler ever had. Medians of the rounds; `failed` is of all rounds together. To reach: `rss_max` at
    /// most 128 MiB, the ratios at most 1.5, `answer_p99` and `call_p99` at most 100 ms, nothing failed.
    Strangers(StrangersArguments),
    /// One watcher behind a proxy that ends quiet connections to Consul.
    ///
    /// This program subscribes to all views, and changes one of them after the other. Each view has a connection of its
    /// own. `requests` are those that reach the proxy from the start of the watcher to the end of the measurement.
    /// `wait` is the longest wait that is safe, 4/5 of the limit in whole seconds (docs/runs.md,
    /// "Views and blocking queries"). `requests_of_wait` is what it costs if it is known from the start: one request for
    /// each view, one for each change, and one after each wait, which Consul makes longer by a random part of a
    /// sixteenth, so by a thirty-second. `requests_ratio` is the first divided by the second. `cuts` are the connections
    /// that the proxy ended. `outages` are warnings in the log of the watcher that Consul cannot be reached.
    /// `blind_views` are the views that the watcher reported as failing, or whose change was not received over gRPC
    /// within 2 s of its write; `delta` is that time. To reach: no outage, no blind view, a ratio of at most 1.2.
    CutQueries(CutQueriesArguments),
    /// One watcher that follows thousands of services, with Consul's default limits.
    ///
    /// This program subscribes to all of them, and then changes the port of one instance at a time at a steady
    /// rate. `delta`: from just before the write is sent until the change is received over gRPC.
    /// `delta_p99_ratio` is that divided by `bare_read_seconds`, the time in which this program reads all
    /// services once over `--connections`, before the watcher starts, median of three. `connections_max` is
    /// taken every second. With `--skewed` nine tenths of the changes are on 50 services, `hot`, and 45 s of
    /// changes precede the ones that count. With `--tls` the watcher reaches Consul over HTTP/2. Processor time
    /// and memory are of the watcher and of Consul during the changes; `idle_` in 15 s without any change.
    /// `subscribe_seconds` is until every service is known.
    WatchScale(WatchScaleArguments),
}

/// Directories of the tasks' modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Modules {
    /// One directory for all tasks.
    Shared,
    /// A copy for each task.
    Distinct,
}

impl Scenario {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::ApiStatus(_) => "api-status",
            Self::ChangeToApply(_) => "change-to-apply",
            Self::Regexp(_) => "regexp",
            Self::FanOut { .. } => "fan-out",
            Self::StartUp { .. } => "start-up",
            Self::Queue(_) => "queue",
            Self::CutQueries(_) => "cut-queries",
            Self::Decide { .. } => "decide",
            Self::SharedInput(_) => "shared-input",
            Self::Overview(_) => "overview",
            Self::Page(_) => "page",
            Self::Soak(_) => "soak",
            Self::Failover(_) => "failover",
            Self::ConfigLoad { .. } => "config-load",
            Self::History(_) => "history",
            Self::Idle(_) => "idle",
            Self::LogFollow(_) => "log-follow",
            Self::Strangers(_) => "strangers",
            Self::WatchScale(_) => "watch-scale",
        }
    }

    pub(crate) fn names() -> Vec<String> {
        Arguments::command()
            .get_subcommands()
            .map(|scenario| scenario.get_name().to_owned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_is_listed_under_its_name() {
        for name in Scenario::names() {
            let arguments = Arguments::try_parse_from(["cts-bench", &name]).unwrap();
            assert_eq!(arguments.scenario.name(), name);
        }
        assert_eq!(Scenario::names().len(), 19);
    }
}
