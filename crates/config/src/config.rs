//! The configuration as a whole.

use std::path::PathBuf;

use cts_bundle::ModuleRoots;
use cts_core::brake::FleetMaxShrink;
use cts_core::{
    ApprovalDefaults, ApprovalRule, Backend, BufferPeriod, LogLevel, ProviderBlock, TaskName,
    TaskSpec,
};
use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::blocks::consul::ConsulConfig;
use crate::blocks::database::{DatabaseConfig, DatabaseUrl, DatabaseUrlError};
use crate::blocks::driver::{BackendRefusal, TerraformDriver};
use crate::blocks::environment;
use crate::blocks::gateway::{GatewayConfig, PageConfig};
use crate::blocks::high_availability::{HaStorage, HighAvailability};
use crate::blocks::scheduler::{OnTakeover, SchedulerConfig};
use crate::blocks::security::SecurityConfig;
use crate::blocks::services::ServicesConfig;
use crate::blocks::syslog::SyslogConfig;
use crate::blocks::telemetry::TelemetryConfig;
use crate::blocks::terraform_cloud::TerraformCloudDriver;
use crate::blocks::tls::ApiTls;
use crate::blocks::vault::VaultConfig;
use crate::blocks::webhook::WebhookConfig;
use crate::blocks::worker::WorkerConfig;

/// A valid configuration: nothing in it is unset, relative or of doubtful type any more. Its `Debug`
/// form is [`dump_json`](crate::dump_json()), without secrets.
#[derive(Clone)]
pub struct Config {
    /// `log_level`.
    pub log_level: LogLevel,
    /// `port` of the API.
    pub port: u16,
    /// `id` under which this instance registers with Consul; may be empty.
    pub id: String,
    /// `working_dir`, absolute: home of the SQLite file, and parent of the task directories unless a
    /// worker has its own.
    pub working_dir: PathBuf,
    /// Where local modules may be: `module_roots`, and the directories that count without it.
    pub module_roots: ModuleRoots,
    /// `tls` of the API; `None` while it is off.
    pub tls: Option<ApiTls>,
    /// `syslog`; `None` while it is off.
    pub syslog: Option<SyslogConfig>,
    /// The global `buffer_period`, resolved.
    pub buffer_period: BufferPeriod,
    /// `consul`.
    pub consul: ConsulConfig,
    /// `vault`; `None` while it is off.
    pub vault: Option<VaultConfig>,
    /// `driver "terraform"`; its defaults where the other driver is configured.
    pub driver: TerraformDriver,
    /// `driver "terraform-cloud"`, the one of CTS Enterprise.
    pub terraform_cloud: Option<TerraformCloudDriver>,
    /// `terraform_provider` blocks in the order of the files.
    pub providers: Vec<ProviderBlock>,
    /// `webhook` blocks, cts-only, in the order of the files; names are unique.
    pub webhooks: Vec<WebhookConfig>,
    /// `database`, a cts-only block, or the value of the environment; without it SQLite is used.
    pub database: Option<DatabaseConfig>,
    /// `services`, a cts-only block.
    pub services: ServicesConfig,
    /// `scheduler`, a cts-only block.
    pub scheduler: SchedulerConfig,
    /// `worker`, a cts-only block.
    pub worker: WorkerConfig,
    /// `security`, a cts-only block.
    pub security: SecurityConfig,
    /// `telemetry`, a cts-only block.
    pub telemetry: TelemetryConfig,
    /// `gateway`, a cts-only block.
    pub gateway: GatewayConfig,
    /// `page`, a cts-only block.
    pub page: PageConfig,
    /// `fleet_max_shrink`, a cts-only block: the brake of the fleet; `None` while it is off.
    pub fleet_max_shrink: Option<FleetMaxShrink>,
    /// `approval` and `approval_expires`, cts-only: consent for tasks without a rule of their own.
    pub approvals: ApprovalDefaults,
    /// `high_availability`, the block of CTS Enterprise.
    pub high_availability: Option<HighAvailability>,
    /// `task` blocks in the order of the files; names are unique.
    pub tasks: Vec<TaskSpec>,
    /// Tasks whose own `buffer_period` has no effect, because their condition is a schedule.
    pub overridden_buffers: Vec<TaskName>,
    /// Variable files of the tasks with a value that is [hidden](cts_core::hidden) where it is shown; absolute.
    pub secret_variable_files: Vec<PathBuf>,
}

impl Config {
    /// The variables that Terraform's `consul` backend needs in the environment of its process;
    /// none with any other backend (docs/configuration.md#driver-terraform). One of them may be the
    /// token, so all values
    /// are wrapped.
    pub fn terraform_environment(&self) -> Vec<(String, SecretString)> {
        if self.driver.backend.kind == "consul" {
            environment::of_consul_backend(&self.consul)
        } else {
            Vec::new()
        }
    }

    /// The variables for a state that is taken from a `consul` backend, whatever the backend in use is.
    pub fn consul_state_environment(&self) -> Vec<(String, SecretString)> {
        environment::of_consul_backend(&self.consul)
    }

    /// `required_providers` of the driver.
    pub fn required_providers(&self) -> &Map<String, Value> {
        match &self.terraform_cloud {
            Some(cloud) => &cloud.required_providers,
            None => &self.driver.required_providers,
        }
    }

    /// `previous_backend` of the driver.
    pub fn previous_backend(&self) -> Option<&Backend> {
        match &self.terraform_cloud {
            Some(cloud) => cloud.previous_backend.as_ref(),
            None => self.driver.previous_backend.as_ref(),
        }
    }

    /// Refuses a backend that cts cannot reach, if states are in one.
    pub fn require_reachable_backend(&self) -> Result<(), BackendRefusal> {
        match &self.terraform_cloud {
            Some(_) => Ok(()),
            None => self.driver.require_reachable_backend(),
        }
    }

    /// Refuses a backend that only one machine has, if states are in one.
    pub fn require_shared_backend(&self) -> Result<(), BackendRefusal> {
        match &self.terraform_cloud {
            Some(_) => Ok(()),
            None => self.driver.require_shared_backend(),
        }
    }

    /// Reads the URL of the database, if it is in a file. From then on it is one of [`Config::secrets`].
    ///
    /// # Errors
    /// If the file holds no URL, or is open to every user of the machine.
    pub fn read_database_url(&mut self) -> Result<(), DatabaseUrlError> {
        if let Some(database) = &mut self.database {
            database.url = DatabaseUrl::Text(database.url.read()?);
        }
        Ok(())
    }

    /// The tokens and passwords of cts itself, which no output may show. The secrets of providers and
    /// backends are in their blocks.
    pub fn secrets(&self) -> Vec<SecretString> {
        let consul = &self.consul;
        let known = [
            consul.token.as_ref(),
            consul.auth.as_ref().map(|auth| &auth.password),
            self.vault.as_ref().and_then(|vault| vault.token.as_ref()),
            self.database
                .as_ref()
                .and_then(|database| database.url.text()),
            self.terraform_cloud
                .as_ref()
                .and_then(|driver| driver.token.as_ref()),
        ];
        let of_webhooks = self.webhooks.iter().flat_map(WebhookConfig::secrets);
        let of_collector = self.telemetry.otlp.iter();
        let of_collector = of_collector.flat_map(|otlp| otlp.headers.values());
        let known = known.into_iter().flatten();
        let known = known.chain(of_webhooks).chain(of_collector);
        known.cloned().collect()
    }

    /// The tasks that a new leader runs. A file with the `high_availability` block of CTS Enterprise, its
    /// storage written or left out, gets the behaviour of CTS Enterprise: every task once
    /// (docs/configuration.md#scheduler).
    pub fn on_takeover(&self) -> OnTakeover {
        let storage = self.high_availability.as_ref().map(|block| &block.storage);
        let default = match storage {
            Some(HaStorage::Consul { .. }) => OnTakeover::All,
            Some(HaStorage::Postgres) | None => OnTakeover::Changed,
        };
        self.scheduler.on_takeover.unwrap_or(default)
    }

    /// Whether any task may need the consent of a person.
    pub fn asks_for_approval(&self) -> bool {
        let own = self
            .tasks
            .iter()
            .filter_map(|task| task.file_settings.approval);
        let mut rules = own.chain([self.approvals.rule]);
        rules.any(|rule| rule != ApprovalRule::Never)
    }

    /// Whether `/metrics` of `telemetry.listen` needs a credential: where the API does, and where services ask their
    /// clients for certificates (docs/telemetry.md#access).
    pub fn protects_metrics(&self) -> bool {
        let tls = self.services.tls.as_ref();
        self.security.require_auth || tls.is_some_and(|tls| tls.verify_incoming)
    }
}
