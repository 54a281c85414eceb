//! Connections between the services of a cluster: addresses, TLS, and the loops that keep both up to date.

use std::net::SocketAddr;
use std::sync::Arc;

use cts_access::{Authenticator, Issuers, TokenTable};
use cts_cli::server_rule;
use cts_config::{Config, SecurityConfig, ServicesConfig};
use cts_core::Clock;
use cts_core::callers::ServiceRole;
use cts_listen::ClientLimiter;
use cts_rpc::admission::AccessRules;
use cts_rpc::{
    Address, CallMetrics, ClientTls, ClientTlsFiles, Endpoints, Peers, ServerTls, TlsFiles,
    TransportRule,
};
use cts_runtime::{ProcessEnv, Tasks};
use cts_scheduler::{Scheduler, Tokens};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::failure::Failure;
use crate::services::reload::Parts;
use crate::services::security_settings;

/// Default address of schedulers.
const SCHEDULER: &str = "127.0.0.1:8560";

/// Default address of watchers.
const WATCHER: &str = "127.0.0.1:8561";

/// The server side and the client side of a service.
#[derive(Debug)]
pub(crate) struct Links {
    rule: TransportRule,
    server: Option<ServerTls>,
    client: Option<ClientTls>,
    security: SecurityConfig,
    access: AccessRules,
    calls: Option<CallMetrics>,
    credentials: Option<Credentials>,
    schedulers: Vec<String>,
    watchers: Vec<String>,
}

/// Credentials that change while a process runs.
#[derive(Debug)]
struct Credentials {
    issuers: Issuers,
    tokens: Tokens,
    table: watch::Sender<Arc<TokenTable>>,
}

impl Links {
    /// The links of a single service. Without certificates the service could not distinguish its callers.
    pub(crate) async fn of_service(config: &Config) -> Result<Self, Failure> {
        require_certificates(config)?;
        Self::checked(config).await
    }

    /// The links of a process with all services, which checks its callers according to the configuration.
    pub(crate) async fn checked(config: &Config) -> Result<Self, Failure> {
        let links = Self::new(&config.services, &config.security).await?;
        Ok(Self {
            access: access_rules(&config.security),
            ..links
        })
    }

    /// Reads the TLS files that the configuration names.
    pub(crate) async fn new(
        config: &ServicesConfig,
        security: &SecurityConfig,
    ) -> Result<Self, Failure> {
        let rule = transport_rule(config);
        let (server, client) = match &config.tls {
            None => (None, None),
            Some(tls) => {
                let files = TlsFiles {
                    ca_cert: tls.ca_cert.clone(),
                    cert: tls.cert.clone(),
                    key: tls.key.clone(),
                    server_name: tls.server_name.clone(),
                    verify_incoming: tls.verify_incoming,
                };
                let server = ServerTls::load(&files).await?;
                let client = ClientTls::load(ClientTlsFiles::from(&files)).await?;
                (Some(server), Some(client))
            }
        };
        Ok(Self {
            rule,
            server,
            client,
            security: security.clone(),
            calls: None,
            access: AccessRules::default(),
            credentials: None,
            schedulers: config.schedulers.clone(),
            watchers: config.watchers.clone(),
        })
    }

    /// Accepts tokens that this scheduler knows as credentials of gRPC calls, if credentials are required, and records
    /// refused calls.
    pub(crate) fn recognise(
        &mut self,
        scheduler: &Scheduler,
        config: &Config,
        process_env: &ProcessEnv,
    ) -> Result<(), Failure> {
        self.access.refusals = Some(scheduler.refusals());
        if !self.access.require_auth {
            return Ok(());
        }
        let issuers = security_settings::issuers(config)?;
        let (table, known) = watch::channel(Arc::default());
        let clock = Arc::clone(&process_env.clock);
        self.access.authenticator = Some(Authenticator::new(known, issuers.clone(), clock));
        self.credentials = Some(Credentials {
            issuers,
            tokens: scheduler.tokens(),
            table,
        });
        Ok(())
    }

    /// The certificate of this process, if the services use TLS.
    pub(crate) fn server_tls(&self) -> Option<ServerTls> {
        self.server.clone()
    }

    /// Recognises the tokens of callers, after [`Links::recognise`] and where tokens count.
    pub(crate) fn authenticator(&self) -> Option<Authenticator> {
        self.access.authenticator.clone()
    }

    /// The certificates, as parts that are read again.
    pub(crate) fn parts(&self) -> Parts {
        let servers = self.server.iter().cloned();
        Parts {
            servers: servers.map(|tls| ("services.tls", tls)).collect(),
            client: self.client.clone(),
            tasks: None,
        }
    }

    /// Measures the calls of all servers from now on.
    pub(crate) fn measure(&mut self, calls: CallMetrics) {
        self.calls = Some(calls);
    }

    /// Keeps the credentials of callers in view, as one of `tasks`.
    pub(crate) fn follow_credentials(&mut self, tasks: &Tasks) {
        let Some(credentials) = self.credentials.take() else {
            return;
        };
        let until = tasks.token().clone();
        let following = async move {
            let issuers = credentials.issuers.follow(until.clone().cancelled_owned());
            let tokens = credentials.tokens.fill(credentials.table);
            tokio::join!(issuers, until.run_until_cancelled(tokens));
        };
        tasks.spawn_infallible("credentials of callers", following);
    }

    /// Keeps the TLS files in view, as some of `tasks`.
    pub(crate) fn follow_files(&self, tasks: &Tasks) {
        if let Some(tls) = self.server.clone() {
            let following = tls.follow_files(tasks.until_shutdown());
            tasks.spawn_infallible("TLS files of the server", following);
        }
        if let Some(tls) = self.client.clone() {
            let following = tls.follow_files(tasks.until_shutdown());
            tasks.spawn_infallible("TLS files of the client", following);
        }
    }

    /// The schedulers at the addresses of the command line, else of the configuration.
    pub(crate) fn schedulers(
        &self,
        given: &[String],
        clock: &Arc<dyn Clock>,
        tasks: &Tasks,
    ) -> Result<Peers, Failure> {
        let addresses = addresses(given, &self.schedulers, SCHEDULER)?;
        let called = ("scheduler", &[ServiceRole::Scheduler][..]);
        self.peers(called, addresses, clock, tasks)
    }

    /// The watchers, by the same rule.
    pub(crate) fn watchers(
        &self,
        given: &[String],
        clock: &Arc<dyn Clock>,
        tasks: &Tasks,
    ) -> Result<Peers, Failure> {
        let addresses = addresses(given, &self.watchers, WATCHER)?;
        let called = ("watcher", &[ServiceRole::Watcher][..]);
        self.peers(called, addresses, clock, tasks)
    }

    fn peers(
        &self,
        (service, roles): (&'static str, &'static [ServiceRole]),
        addresses: Vec<Address>,
        clock: &Arc<dyn Clock>,
        tasks: &Tasks,
    ) -> Result<Peers, Failure> {
        for address in &addresses {
            self.rule.check_peer(address)?;
        }
        let client = match (&self.client, server_rule(&self.security, roles)) {
            (Some(client), Some(rule)) => Some(client.with_servers(rule)),
            (client, _) => client.clone(),
        };
        let (peers, driver) = Peers::new(service, addresses, client.as_ref(), Arc::clone(clock))?;
        tasks.spawn_infallible("look after peers", driver.run(tasks.until_shutdown()));
        Ok(peers)
    }

    /// Listens for gRPC, unless that would be plain text against the rule.
    pub(crate) async fn listen(&self, address: SocketAddr) -> Result<TcpListener, Failure> {
        self.rule.check_listener(address)?;
        listen(Socket::Grpc, address).await
    }

    /// Serves `endpoints` as one of `tasks`, within the limits of `limiter`.
    pub(crate) fn serve(
        &self,
        endpoints: Endpoints,
        limiter: ClientLimiter,
        listener: TcpListener,
        tasks: &Tasks,
    ) {
        let mut endpoints = endpoints.with_access(self.access.clone());
        if let Some(calls) = &self.calls {
            endpoints = endpoints.with_metrics(calls.clone());
        }
        let until = tasks.until_shutdown();
        match self.server.clone() {
            Some(tls) => {
                let serving = endpoints.serve_tls(listener, limiter, tls, until);
                tasks.spawn("gRPC listener", serving);
            }
            None => tasks.spawn(
                "gRPC listener",
                endpoints.serve_tcp(listener, limiter, until),
            ),
        }
    }
}

/// Addresses between which the services may use plain text.
pub(crate) fn transport_rule(config: &ServicesConfig) -> TransportRule {
    TransportRule {
        tls: config.tls.is_some(),
        plaintext: config.plaintext,
    }
}

/// Fails if callers or servers must be distinguished and show no certificates.
pub(crate) fn require_certificates(config: &Config) -> Result<(), Failure> {
    let security = &config.security;
    let keys = match (security.require_auth, security.service_roles) {
        (false, false) if security.server_roles && config.services.tls.is_none() => {
            "security.server_roles"
        }
        (false, false) => return Ok(()),
        (true, false) => "security.require_auth",
        (false, true) => "security.service_roles",
        (true, true) => "security.require_auth and security.service_roles",
    };
    let tls = config.services.tls.as_ref();
    if tls.is_some_and(|tls| tls.verify_incoming) {
        return Ok(());
    }
    Err(Failure::NoCertificates { keys })
}

fn access_rules(security: &SecurityConfig) -> AccessRules {
    AccessRules {
        service_roles: security.service_roles,
        require_auth: security.require_auth,
        domain: security.domain.clone(),
        plan_values: security.plan_values,
        authenticator: None,
        refusals: None,
        browsers: security_settings::browsers(security),
    }
}

/// A socket of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Socket {
    Api,
    Page,
    Grpc,
    Telemetry,
}

impl Socket {
    const fn setting(self) -> &'static str {
        match self {
            Self::Api => "`port` or -bind-address, such as port = 8568",
            Self::Page => "`page.listen`, such as listen = \"127.0.0.1:8569\"",
            Self::Grpc => {
                "`services.listen` or -grpc-address, such as -grpc-address 127.0.0.1:8571"
            }
            Self::Telemetry => "`telemetry.listen`, such as listen = \"127.0.0.1:9465\"",
        }
    }
}

/// Binds a socket, so that a port in use is noticed before anything begins.
pub(crate) async fn listen(socket: Socket, address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .map_err(|source| Failure::Listen {
            address,
            setting: socket.setting(),
            source,
        })
}

fn addresses(
    given: &[String],
    configured: &[String],
    default: &str,
) -> Result<Vec<Address>, Failure> {
    let named = if given.is_empty() { configured } else { given };
    let texts = if named.is_empty() {
        vec![default]
    } else {
        named.iter().map(String::as_str).collect()
    };
    let parsed = texts.into_iter().map(str::parse);
    Ok(parsed.collect::<Result<_, _>>()?)
}
