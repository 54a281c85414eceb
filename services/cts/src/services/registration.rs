//! This instance's own entry in Consul's catalog, as long as it serves the API
//! (`docs/configuration.md#consulservice_registration`).

use cts_config::Config;
use cts_consul::{ConsulClient, REGISTRATION_LOOK, Registration, keep_registered};
use cts_runtime::Tasks;

/// Tag of every instance.
const TAG: &str = "cts";

/// An entry that is to be made.
#[derive(Debug)]
pub(crate) struct CatalogEntry {
    client: ConsulClient,
    registration: Registration,
}

impl CatalogEntry {
    /// The entry that the configuration demands; `None` without such a setting.
    pub(crate) fn new(config: &Config, client: ConsulClient) -> Option<Self> {
        let registration = registration(config)?;
        Some(Self {
            client,
            registration,
        })
    }

    /// Makes the entry, keeps it, and removes it at the shutdown of `tasks`. Errors are logged, and end nothing.
    pub(crate) fn keep(self, tasks: &Tasks) {
        let until = tasks.until_shutdown();
        tasks.spawn_infallible("registration", async move {
            keep_registered(&self.client, &self.registration, REGISTRATION_LOOK, until).await;
        });
    }
}

fn registration(config: &Config) -> Option<Registration> {
    let written = &config.consul.service_registration;
    if !written.enabled {
        return None;
    }
    let cluster = config.high_availability.as_ref();
    let cluster = cluster.map(|cluster| format!("cts-cluster:{}", cluster.cluster_name));
    let check = &written.default_check;
    Some(Registration {
        id: config.id.clone(),
        name: written.service_name.clone(),
        tags: [Some(TAG.to_owned()), cluster]
            .into_iter()
            .flatten()
            .collect(),
        address: written.address.clone(),
        port: config.port,
        namespace: written.namespace.clone(),
        check: check.enabled.then(|| check.address.clone()),
    })
}
