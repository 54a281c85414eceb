//! Surroundings that each service needs.

use cts_cli::ServiceRole;
use cts_config::Config;

/// The checks that a service needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Needs {
    /// Views of tasks are read from Consul.
    pub(super) views: bool,
    /// The API is registered in Consul.
    pub(super) registration: bool,
    /// Terraform's states are in the Consul of the configuration.
    pub(super) states: bool,
    /// The service uses the database.
    pub(super) database: bool,
    /// The database must be Postgres.
    pub(super) postgres: bool,
    /// Runs are made here, by Terraform or on a server.
    pub(super) runs: bool,
    /// Terraform runs here.
    pub(super) engine: bool,
    /// Local modules are packed or run here.
    pub(super) modules: bool,
    /// The API listens here.
    pub(super) api: bool,
    /// Other services call this one.
    pub(super) services: bool,
    /// Schedulers are called.
    pub(super) schedulers: bool,
    /// Watchers are called.
    pub(super) watchers: bool,
}

impl Needs {
    /// Needs of one service, or of all services that the configuration concerns.
    pub(super) fn of(role: Option<ServiceRole>, config: &Config) -> Self {
        let is = |one: ServiceRole| role.is_none_or(|role| role == one);
        let alone = role.is_some();
        let (watcher, scheduler) = (is(ServiceRole::Watcher), is(ServiceRole::Scheduler));
        let (worker, gateway) = (is(ServiceRole::Worker), is(ServiceRole::Gateway));
        let services = &config.services;
        let cloud = config.terraform_cloud.as_ref();
        let runs_here = cloud.is_none_or(|cloud| cloud.previous_backend.is_some());
        Self {
            views: watcher,
            registration: gateway && config.consul.service_registration.enabled,
            states: worker && cloud.is_none() && config.driver.keeps_states_in_own_consul(),
            database: scheduler,
            postgres: alone || config.high_availability.is_some(),
            runs: worker,
            engine: worker && runs_here,
            modules: scheduler,
            api: gateway,
            services: alone || services.tls.is_some(),
            schedulers: (alone && (worker || gateway))
                || (!alone && !services.schedulers.is_empty()),
            watchers: (alone && scheduler) || (!alone && !services.watchers.is_empty()),
        }
    }

    /// Whether Consul is used at all.
    pub(super) const fn consul(self) -> bool {
        self.views || self.registration || self.states
    }
}
