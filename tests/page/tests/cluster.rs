//! Services as processes of their own, which require a credential of each caller.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use cts_page_tests::Look;
use cts_rpc::{ClientTls, ClientTlsFiles, IdentityFiles};
use cts_testkit::{Authority, ConsulAgent, eventually};
use cts_tests::{Backend, Cluster, DEADLINE, Plan, RECORDER, Service, Site, met};
use rcgen::{KeyPair, PublicKeyData as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::scene::{REQUIRED, client, token_in};

/// Name of all services in their certificates.
const SERVICE: &str = "cts.internal";

/// A cluster, and Consul with an instance `web-1` of `web`. Its parts end in the order of the members.
pub(crate) struct ClusterScene {
    pub(crate) cluster: Cluster,
    pub(crate) site: Site,
    _consul: ConsulAgent,
}

impl ClusterScene {
    /// Starts at a site that has the modules, with these tasks.
    pub(crate) async fn start(site: Site, plan: Plan, tasks: &str) -> Self {
        let consul = ConsulAgent::start().await;
        consul.register_service("web", "web-1", 1, &[], &[]).await;
        site.write("modules/recorder/main.tf", RECORDER);
        let blocks = format!("{REQUIRED}{tasks}");
        site.configure(&consul.address(), Backend::Shared, &blocks);
        let plan = Plan {
            tls: Some(certificates(&site).await),
            ..plan.with_file(None, "services-tls.hcl")
        };
        let cluster = Cluster::start(&site, plan).await;
        Self {
            cluster,
            site,
            _consul: consul,
        }
    }

    /// A new token of this role, which the first gateway knows already.
    pub(crate) async fn token(&mut self, name: &str, role: &str) -> String {
        let file = "-config-file=database.hcl";
        let words = ["token", "create", name, "-role", role, file];
        let created = self.cluster.command(&words).await;
        let token = token_in(&created.assert_code(0).output);
        self.get(&token, "/v1/status").await;
        token
    }

    /// Restarts a gateway with further files of configuration.
    pub(crate) async fn restart(&mut self, gateway: usize, files: &[String]) {
        let stopped = self.cluster.stop(Service::Gateway, gateway).await;
        stopped.assert_code(0);
        self.cluster.launch_with(Service::Gateway, gateway, files);
        self.cluster
            .wait_until_healthy(Service::Gateway, gateway)
            .await;
    }

    /// Restarts a gateway with TLS for `cts.test` and further settings of its block, and returns the files of its
    /// configuration and a look of a browser that trusts it.
    pub(crate) async fn restart_with_tls(
        &mut self,
        gateway: usize,
        settings: &str,
    ) -> (Vec<String>, Look) {
        let pair = Authority::new().write_pair(self.site.path(), "page", &["cts.test"]);
        let block = format!(
            "tls {{\n  cert = \"{}\"\n  key = \"{}\"\n{settings}}}\n",
            pair.cert.display(),
            pair.key.display()
        );
        self.site.write("page-tls.hcl", &block);
        let files = vec!["-config-file=page-tls.hcl".to_owned()];
        self.restart(gateway, &files).await;
        let key = KeyPair::from_pem(&std::fs::read_to_string(&pair.key).unwrap()).unwrap();
        let key = Sha256::digest(key.subject_public_key_info());
        let look = Look {
            trusted_key: Some(BASE64_STANDARD.encode(key)),
            ..Look::default()
        };
        (files, look)
    }

    /// Where a gateway listens.
    pub(crate) fn address(&self, gateway: usize) -> SocketAddr {
        self.cluster.api(gateway).address()
    }

    /// The answer of the first gateway to a request with this token, once it succeeds.
    pub(crate) async fn get(&self, token: &str, path: &str) -> Value {
        let address = self.cluster.api(0).url(path);
        eventually(DEADLINE, async || {
            let request = client().get(&address).bearer_auth(token);
            let answer = request.send().await.map_err(|error| error.to_string())?;
            met(answer.status() == 200, answer.status().to_string())?;
            answer.json().await.map_err(|error| error.to_string())
        })
        .await
    }

    /// Enables or disables the task `web` at the first gateway.
    pub(crate) async fn switch(&self, token: &str, enabled: bool) {
        let address = self.cluster.api(0).url("/v1/tasks/web");
        eventually(DEADLINE, async || {
            let request = client().patch(&address).bearer_auth(token);
            let answer = request.json(&json!({"enabled": enabled})).send().await;
            let status = answer.map_err(|error| error.to_string())?.status();
            met(status == 200, status.to_string())
        })
        .await;
    }
}

/// Writes `services-tls.hcl`, and returns how a test calls the services.
async fn certificates(site: &Site) -> ClientTls {
    let authority = Authority::new();
    site.write("ca.pem", authority.pem());
    let pair = authority.write_pair(site.path(), "service", &[SERVICE]);
    let block = format!(
        "services {{\n  tls {{\n    ca_cert = \"ca.pem\"\n    cert = \"{}\"\n    key = \"{}\"\n    \
         server_name = \"{SERVICE}\"\n  }}\n}}\n",
        pair.cert.display(),
        pair.key.display()
    );
    site.write("services-tls.hcl", &block);
    let files = ClientTlsFiles {
        ca_cert: site.path().join("ca.pem"),
        identity: Some(IdentityFiles {
            cert: pair.cert,
            key: pair.key,
        }),
        server_name: Some(SERVICE.to_owned()),
    };
    ClientTls::load(files).await.unwrap()
}
