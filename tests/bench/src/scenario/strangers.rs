//! Memory and answers of cts while callers without rights hold connections and requests open: row 20 of the table.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use cts_tls::{Authorities, ClientFiles};
use reqwest::{Certificate, Client};
use tokio::time::{Instant, sleep};
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::access::Access;
use crate::arguments::{Modules, StrangersArguments};
use crate::cluster::{Cluster, ClusterSettings, new_address};
use crate::measures::report::{Metric, median_of_rounds, say};
use crate::played::steady_client::{Answers, ask_steadily};
use crate::process::Launch;
use crate::site::Site;
use crate::stage::{Plan, Stage, Version};
use crate::strangers::{Strangers, Target};

/// Time after the first pass, and after the strangers of one server.
const REST: Duration = Duration::from_secs(5);

/// Time from one question of the client to its next.
const PERIOD: Duration = Duration::from_millis(20);

/// Time from one connection of the client to its next.
const CONNECTION_PERIOD: Duration = Duration::from_millis(500);

/// Longest wait for a server that has been started.
const START: Duration = Duration::from_secs(30);

const PATH: &str = "/v1/status/tasks";
const HEALTH: &str = "/v1/health";

const SCHEDULER: &str = "scheduler-0";
const GATEWAY: &str = "gateway";
const BARE: [&str; 2] = ["bare-gateway", "bare-scheduler"];

pub(super) async fn run(stage: &mut Stage, options: &StrangersArguments) -> Result<Vec<Metric>> {
    stage.register(0, Version::FIRST).await?;
    let plan = Plan {
        name: "strangers",
        tasks: options.tasks,
        modules: Modules::Shared,
        cluster: Some(ClusterSettings::default()),
        access: Access::Auth,
    };
    let site = stage.new_site(plan).await?;
    let files = Access::certificates(site.path());
    site.configure(&format!(
        "\ntls {{\n  cert = \"{}\"\n  key  = \"{}\"\n}}\n",
        files.cert.display(),
        files.key.display()
    ))?;
    say("first pass");
    let health = new_address();
    let gateway = Cluster::gateway_at(&health);
    let (_started, mut runs) = stage.start_cts_with(&site, &gateway).await?;
    runs.first_pass(site.tasks().len()).await?;
    drop(runs);
    let token = stage.token(&site).await?.context("the API needs a token")?;
    let weak = ["-role", "operate", "-tasks", "task-0001"];
    let weak = stage.new_token(&site, "weak", &weak).await?;
    sleep(REST).await;

    let api = SocketAddr::from((Ipv4Addr::LOCALHOST, site.api_port()));
    let scheduler = site.cluster()?.scheduler_address(0).parse()?;
    let target = target(&site, api, vec![health.parse()?, scheduler], &weak)?;
    let asker = Asker::new(&site, &target, scheduler, Some(&token)).await?;
    let size = asker.answer_size().await?.to_string();
    let cts = Server {
        name: "cts",
        asker,
        target,
    };
    let bare = bare(stage, &site, &cts.target, &size).await?;

    let mut rounds = Vec::new();
    let mut failed = [0; 2];
    for round in 1..=options.rounds {
        say(&format!("round {round} of {}", options.rounds));
        let measured = [cts.measure(options).await?, bare.measure(options).await?];
        for (sum, measured) in failed.iter_mut().zip(&measured) {
            *sum += measured.failed();
        }
        let [cts, bare] = measured;
        rounds.push(cts.compared(&bare));
    }
    let mut metrics = memory(stage)?;
    metrics.extend(median_of_rounds(&rounds));
    for (name, failed) in ["failed", "bare_failed"].into_iter().zip(failed) {
        metrics.push(Metric::new(name, f64::from(failed), "1"));
    }
    Ok(metrics)
}

/// Starts the two servers without cts.
async fn bare(stage: &mut Stage, site: &Site, cts: &Target, size: &str) -> Result<Server> {
    let files = Access::certificates(site.path());
    let [api, health, scheduler, unused] = [(); 4].map(|()| new_address());
    for (name, closed, open) in [(BARE[0], &health, &api), (BARE[1], &scheduler, &unused)] {
        let files = [&files.cert, &files.key, &files.authority];
        let files: Result<Vec<&str>> = files.into_iter().map(|path| text(path)).collect();
        let words = [&*files?, &[size, closed, open, &scheduler]].concat();
        let launch = Launch::new(name, &words);
        stage.launch_helper(site, "cts-bench-bare", &launch).await?;
    }
    let scheduler = scheduler.parse()?;
    let target = Target {
        api: api.parse()?,
        grpc: vec![health.parse()?, scheduler],
        ..cts.clone()
    };
    Ok(Server {
        name: "bare",
        asker: Asker::new(site, &target, scheduler, None).await?,
        target,
    })
}

fn target(site: &Site, api: SocketAddr, grpc: Vec<SocketAddr>, token: &str) -> Result<Target> {
    let files = Access::certificates(site.path());
    let stranger = ClientFiles {
        authorities: Some(Authorities::File(files.authority)),
        ..ClientFiles::default()
    };
    let known = ClientFiles {
        identity: Some(files.weakest),
        ..stranger.clone()
    };
    Ok(Target {
        api,
        grpc,
        token: token.into(),
        http1: Arc::new(stranger.read_now(&["http/1.1"])?),
        http2: Arc::new(stranger.read_now(&["h2"])?),
        known: Arc::new(known.read_now(&["h2"])?),
    })
}

fn text(path: &std::path::Path) -> Result<&str> {
    path.to_str().context("a strange directory")
}

/// The well-behaved client.
struct Asker {
    client: Client,
    /// Makes a connection for each request.
    newcomer: Client,
    health: HealthClient<Channel>,
    base: String,
    token: Option<String>,
}

impl Asker {
    /// Waits until the API answers.
    async fn new(
        site: &Site,
        target: &Target,
        scheduler: SocketAddr,
        token: Option<&str>,
    ) -> Result<Self> {
        let authority = std::fs::read(Access::certificates(site.path()).authority)?;
        let authority = Certificate::from_pem(&authority)?;
        let client = || {
            Client::builder()
                .no_proxy()
                .http1_only()
                .tls_certs_only([authority.clone()])
                .timeout(Duration::from_secs(10))
        };
        let scheduler = scheduler.to_string();
        let channel = site.access().connect(site.path(), &scheduler).await?;
        let asker = Self {
            client: client().build()?,
            newcomer: client().pool_max_idle_per_host(0).build()?,
            health: HealthClient::new(channel),
            base: format!("https://{}", target.api),
            token: token.map(str::to_owned),
        };
        let deadline = Instant::now() + START;
        while let Err(error) = asker.ask(&asker.client, PATH).await {
            ensure!(
                Instant::now() < deadline,
                "the API does not answer: {error:#}"
            );
            sleep(PERIOD).await;
        }
        Ok(asker)
    }

    async fn answer_size(&self) -> Result<usize> {
        self.ask(&self.client, PATH).await
    }

    async fn ask(&self, client: &Client, path: &str) -> Result<usize> {
        let mut request = client.get(format!("{}{path}", self.base));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await?.error_for_status()?;
        Ok(answer.bytes().await?.len())
    }

    async fn answers(&self, time: Duration) -> Phase {
        let answer = async || self.ask(&self.client, PATH).await.map(drop);
        let connection = async || self.ask(&self.newcomer, HEALTH).await.map(drop);
        let call = async || {
            let request = HealthCheckRequest::default();
            self.health.clone().check(request).await?;
            Ok(())
        };
        let (answer, call, connection) = tokio::join!(
            ask_steadily(time, PERIOD, answer),
            ask_steadily(time, PERIOD, call),
            ask_steadily(time, CONNECTION_PERIOD, connection),
        );
        Phase {
            answer,
            call,
            connection,
        }
    }
}

/// Answers of some time.
struct Phase {
    answer: Answers,
    call: Answers,
    connection: Answers,
}

impl Phase {
    fn all(&self) -> [(&'static str, &Answers); 3] {
        [
            ("answer", &self.answer),
            ("call", &self.call),
            ("connection", &self.connection),
        ]
    }

    fn failed(&self) -> u32 {
        self.all().iter().map(|(_, answers)| answers.failed()).sum()
    }

    fn metrics(&self, prefix: &str) -> Vec<Metric> {
        let figures = self.all().into_iter();
        figures
            .flat_map(|(name, answers)| answers.metrics(&format!("{prefix}{name}")))
            .collect()
    }
}

struct Measured {
    quiet: Phase,
    beside: Phase,
    attempts_per_second: f64,
}

/// A server and its clients.
struct Server {
    name: &'static str,
    asker: Asker,
    target: Target,
}

impl Server {
    async fn measure(&self, options: &StrangersArguments) -> Result<Measured> {
        let time = Duration::from_secs(options.seconds.into());
        say(&format!("{}: quiet", self.name));
        let quiet = self.asker.answers(time).await;
        say(&format!("{}: beside strangers", self.name));
        let strangers = Strangers::start(&self.target, options.connections.try_into()?)?;
        let beside = self.asker.answers(time).await;
        let attempts = u32::try_from(strangers.attempts())?;
        drop(strangers);
        sleep(REST).await;
        Ok(Measured {
            quiet,
            beside,
            attempts_per_second: f64::from(attempts) / time.as_secs_f64(),
        })
    }
}

impl Measured {
    fn failed(&self) -> u32 {
        self.quiet.failed() + self.beside.failed()
    }

    fn compared(&self, bare: &Self) -> Vec<Metric> {
        let ratio = |of: fn(&Phase) -> &Answers| of(&self.beside).p99() / of(&bare.beside).p99();
        let mut metrics = vec![
            Metric::new("answer_ratio", ratio(|phase| &phase.answer), "1"),
            Metric::new("call_ratio", ratio(|phase| &phase.call), "1"),
            Metric::new("connection_ratio", ratio(|phase| &phase.connection), "1"),
        ];
        for (prefix, measured) in [("", self), ("bare_", bare)] {
            metrics.extend(measured.beside.metrics(prefix));
            metrics.extend(measured.quiet.metrics(&format!("{prefix}quiet_")));
            let name = format!("{prefix}attempts_per_second");
            metrics.push(Metric::new(name, measured.attempts_per_second, "1/s"));
        }
        metrics
    }
}

/// The most memory that each process has had.
fn memory(stage: &Stage) -> Result<Vec<Metric>> {
    let usages = stage.usages()?;
    let peak = |name: &str| {
        let found = usages.iter().find(|(known, _)| *known == name);
        let usage = found.with_context(|| format!("{name} does not run"))?.1;
        anyhow::Ok(usage.rss_peak)
    };
    let (gateway, scheduler) = (peak(GATEWAY)?, peak(SCHEDULER)?);
    let [bare_gateway, bare_scheduler] = BARE.map(peak);
    Ok(vec![
        Metric::new("rss_max", gateway.max(scheduler), "MiB"),
        Metric::new("rss_gateway", gateway, "MiB"),
        Metric::new("rss_scheduler", scheduler, "MiB"),
        Metric::new("bare_rss_gateway", bare_gateway?, "MiB"),
        Metric::new("bare_rss_scheduler", bare_scheduler?, "MiB"),
    ])
}
