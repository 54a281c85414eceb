//! Metrics, traces and health checks of this process, as the block `telemetry` configures them (docs/telemetry.md).

use std::sync::Arc;

use cts_access::Authenticator;
use cts_config::{Config, OtlpConfig};
use cts_listen::{Browsers, ClientLimit, ClientLimiter};
use cts_rpc::{CallMetrics, Peers};
use cts_runtime::{Line, LogRelay, ProcessEnv, Tasks, TraceOfSpan, Value};
use cts_scheduler::Scheduler;
use cts_telemetry::{
    AnyValue, ExportedLine, Identity, Listener, OtlpSettings, Readiness, ScrapeAccess, Signals,
    TaskNames, Telemetry, TelemetrySettings,
};
use cts_tls::ServerTls;
use tokio::net::TcpListener;
use uuid::Uuid;

use crate::failure::Failure;
use crate::services::certificates::Certificates;
use crate::services::connections::{Socket, listen};
use crate::services::reload::Reloads;
use crate::services::security_settings;

/// Clients of the listener: a few that scrape and some that check the health.
const CLIENTS: ClientLimit = ClientLimit {
    total: 64,
    per_client: 16,
};

/// The telemetry of this process and the socket that shows it.
#[derive(Debug)]
pub struct Observation {
    telemetry: Telemetry,
    socket: Option<TcpListener>,
    /// Whether metrics need a credential.
    protected: bool,
    browsers: Browsers,
    certificates: Certificates,
    pub(crate) calls: CallMetrics,
    pub(crate) signals: Signals,
    pub(crate) readiness: Readiness,
    /// The parts of this process that a signal lets it read again.
    pub(crate) reloads: Reloads,
}

impl Default for Observation {
    /// Records nothing and listens nowhere.
    fn default() -> Self {
        Self::of(Telemetry::off(), TaskNames::new(0))
    }
}

impl Observation {
    /// Begins to record, and binds the listener. `role` is the service, or `start` for all of them; `relay` has the lines
    /// of the log, if they are exported.
    pub(crate) async fn begin(
        config: &Config,
        process_env: &ProcessEnv,
        role: &'static str,
        relay: Option<LogRelay>,
        reloads: Reloads,
    ) -> Result<Self, Failure> {
        let block = &config.telemetry;
        let socket = match block.listen {
            Some(address) => Some(listen(Socket::Telemetry, address).await?),
            None => None,
        };
        let telemetry = Telemetry::start(&TelemetrySettings {
            identity: Identity {
                role,
                instance: Uuid::new_v4().to_string(),
                host: process_env.hostname.clone(),
                version: env!("CARGO_PKG_VERSION"),
                commit: option_env!("CTS_BUILD_COMMIT").unwrap_or_default(),
            },
            served: socket.is_some(),
            otlp: block.otlp.as_ref().map(otlp),
            traces_kept: block.traces_kept,
            clock: Arc::clone(&process_env.clock),
        })?;
        let certificates = Certificates::of(config, matches!(role, "start" | "gateway"));
        let begun = Self::of(telemetry, TaskNames::new(block.task_names));
        certificates.observe(&begun.signals.meter, &process_env.clock);
        if let (Some(relay), Some(logs)) = (relay, begun.telemetry.logs()) {
            relay.connect(Box::new(move |line| logs.export(exported(line))));
        }
        Ok(Self {
            socket,
            certificates,
            reloads,
            protected: config.protects_metrics(),
            browsers: security_settings::api_browsers(config),
            ..begun
        })
    }

    fn of(telemetry: Telemetry, task_names: TaskNames) -> Self {
        let signals = telemetry.signals(task_names);
        Self {
            calls: CallMetrics::new(&signals.meter),
            signals,
            certificates: Certificates::default(),
            readiness: Readiness::starting(),
            reloads: Reloads::default(),
            telemetry,
            socket: None,
            protected: false,
            browsers: Browsers::default(),
        }
    }

    /// Makes a healthy scheduler a condition of readiness.
    pub(crate) fn needs_schedulers(&self, schedulers: &Peers) {
        let healthy = schedulers.healthy();
        self.readiness.needs(move || {
            if healthy.borrow().is_empty() {
                Err("no scheduler is healthy".to_owned())
            } else {
                Ok(())
            }
        });
    }

    /// Makes an answering database a condition of readiness.
    pub(crate) fn needs_database(&self, scheduler: &Scheduler) {
        let health = scheduler.health();
        self.readiness.needs(move || {
            if health.is_serving() {
                Ok(())
            } else {
                Err("the database does not answer".to_owned())
            }
        });
    }

    /// Whether a listener exists.
    pub(crate) const fn listens(&self) -> bool {
        self.socket.is_some()
    }

    /// Serves metrics and health checks as one of `tasks`, with the certificate of the services if they have one.
    pub(crate) fn serve(
        &mut self,
        tls: Option<ServerTls>,
        authenticator: Option<Authenticator>,
        tasks: &Tasks,
    ) {
        let certificates = std::mem::take(&mut self.certificates);
        if !certificates.is_empty() {
            let following = certificates.follow(tasks.token().clone());
            tasks.spawn_infallible("ends of certificates", following);
        }
        let (Some(socket), Some(metrics)) = (self.socket.take(), self.telemetry.metrics()) else {
            return;
        };
        if let Ok(address) = socket.local_addr() {
            tracing::info!(target: "telemetry", %address, "serving metrics and health checks");
        }
        let listener = Listener {
            socket,
            tls,
            limiter: ClientLimiter::new(CLIENTS),
            access: ScrapeAccess {
                required: self.protected,
                authenticator,
            },
            browsers: std::mem::take(&mut self.browsers),
            metrics,
            readiness: self.readiness.clone(),
        };
        tasks.spawn("telemetry listener", listener.serve(tasks.token().clone()));
    }

    /// Exports for the last time.
    pub(crate) async fn end(self) {
        let telemetry = self.telemetry;
        let ended = tokio::task::spawn_blocking(move || telemetry.end()).await;
        if let Err(error) = ended {
            tracing::debug!(%error, "the last metrics are not exported");
        }
    }
}

fn otlp(block: &OtlpConfig) -> OtlpSettings {
    OtlpSettings {
        endpoint: block.endpoint.clone(),
        headers: block.headers.clone(),
        ca_cert: block.ca_cert.clone(),
        interval: block.interval,
        metrics: block.signals.metrics,
        traces: block.signals.traces,
        logs: block.signals.logs,
    }
}

/// A line of the log as it is exported.
fn exported(line: &Line) -> ExportedLine<'_> {
    let fields = line.fields.iter();
    ExportedLine {
        time: line.time.to_utc(),
        level: line.level,
        module: &line.module,
        message: &line.message,
        fields: fields.map(|(name, field)| (*name, value(field))).collect(),
        trace: line.trace.as_ref().map(|TraceOfSpan(id)| id.as_str()),
    }
}

fn value(field: &Value) -> AnyValue {
    match field {
        Value::Text(text) => AnyValue::from(text.clone()),
        Value::Flag(flag) => AnyValue::from(*flag),
        Value::Signed(number) => AnyValue::from(*number),
        // The protocol has no larger numbers.
        Value::Unsigned(number) => match i64::try_from(*number) {
            Ok(number) => AnyValue::from(number),
            Err(_too_large) => AnyValue::from(number.to_string()),
        },
        Value::Float(number) => AnyValue::from(*number),
    }
}
