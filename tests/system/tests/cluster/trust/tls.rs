//! TLS between the services.

use std::sync::Arc;

use cts_rpc::{ClientTls, ClientTlsFiles, IdentityFiles};
use cts_testkit::{Authority, eventually, free_port};
use cts_tests::{DEADLINE, Plan, Service, Site, serving};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::cluster::scene::Scene;

const NAME: &str = "cts.internal";
const FILES: &str = "tls {\n    ca_cert = \"tls/ca.pem\"\n    cert = \"tls/cert.pem\"\n    \
     key = \"tls/key.pem\"\n    server_name = \"cts.internal\"\n  }";

fn files(site: &Site, with_identity: bool) -> ClientTlsFiles {
    let path = |name: &str| site.path().join("tls").join(name);
    ClientTlsFiles {
        ca_cert: path("ca.pem"),
        identity: with_identity.then(|| IdentityFiles {
            cert: path("cert.pem"),
            key: path("key.pem"),
        }),
        server_name: Some(NAME.to_owned()),
    }
}

/// Writes a new certificate of the services with its key, the certificate last, as a careful operator does.
fn write(authority: &Authority, site: &Site) {
    let (cert, key) = authority.issue(&[NAME]);
    site.write("tls/ca.pem", authority.pem());
    site.write("tls/key.pem", &key);
    site.write("tls/cert.pem", &cert);
}

/// The certificate that a listener shows now.
async fn shown(authority: &Authority, address: &str) -> CertificateDer<'static> {
    let mut roots = RootCertStore::empty();
    let trusted = CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap();
    roots.add(trusted).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connection = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from(NAME).unwrap();
    let session = TlsConnector::from(Arc::new(config))
        .connect(name, connection)
        .await
        .unwrap();
    let (_, session) = session.get_ref();
    session.peer_certificates().unwrap()[0].clone()
}

#[tokio::test]
async fn services_trust_each_other_alone_and_take_new_certificates_while_they_work() {
    let authority = Authority::new();
    let site = Site::new();
    write(&authority, &site);
    site.write("tls.hcl", &format!("services {{\n  {FILES}\n}}\n"));
    let tls = ClientTls::load(files(&site, true)).await.unwrap();
    let mut plan = Plan::of(1, 2, 1, 1).with_file(None, "tls.hcl");
    plan.tls = Some(tls);
    let mut scene = Scene::start_at(site, plan).await;
    scene.change_is_applied().await;

    let address = scene.cluster.grpc_address(Service::Scheduler, 0);
    let plain = cts_rpc::connect(&format!("http://{address}")).unwrap();
    serving(&plain).await.unwrap_err();
    let unknown = ClientTls::load(files(&scene.site, false)).await.unwrap();
    let unknown = cts_rpc::connect_tls(&address.parse().unwrap(), &unknown);
    serving(&unknown).await.unwrap_err();
    serving(&scene.cluster.channel(Service::Scheduler, 0))
        .await
        .unwrap();
    let exit = scene.cluster.command(&["workers", "list"]).await;
    exit.assert_code(0);
    for service in Service::ALL {
        let address = scene.cluster.grpc_address(service, 0);
        let exit = scene.cluster.command(&["health", &address]).await;
        exit.assert_code(0).says([format!("{address} serves")]);
    }
    let api = scene.cluster.api(0).url("");
    let exit = scene.cluster.command(&["health", &api]).await;
    exit.assert_code(0).says(["serves"]);

    let mut before = Vec::new();
    for service in Service::ALL {
        let address = scene.cluster.grpc_address(service, 0);
        let certificate = shown(&authority, &address).await;
        before.push((address, certificate));
    }
    write(&authority, &scene.site);
    for (address, old) in before {
        eventually(DEADLINE, async || {
            let now = shown(&authority, &address).await;
            (now != old)
                .then_some(())
                .ok_or("the old certificate is shown")
        })
        .await;
    }
    scene.change_is_applied().await;
    // Connections that are new on both sides.
    let leader = scene.cluster.wait_for_leader().await;
    let address = scene.cluster.grpc_address(Service::Scheduler, leader);
    scene.cluster.kill(Service::Scheduler, leader).await;
    let exit = scene.cluster.command(&["health", &address]).await;
    exit.assert_code(1).says(["does not serve"]);
    scene.change_is_applied().await;
    scene.settled_events().await;
    scene.assert_each_step_once();
}

#[tokio::test]
async fn plain_text_beyond_this_machine_is_refused_with_the_remedy() {
    let site = Site::new();
    site.write(
        "cts.hcl",
        "working_dir = \"work\"\nconsul { address = \"127.0.0.1:1\" }\n",
    );
    site.write(
        "far.hcl",
        "services { schedulers = [\"192.0.2.1:8560\"] }\n",
    );
    let everywhere = format!("0.0.0.0:{}", free_port());
    let here = format!("127.0.0.1:{}", free_port());
    let cases = [
        (
            vec![
                "watcher",
                "-config-file=cts.hcl",
                "-grpc-address",
                &everywhere,
            ],
            "refusing to listen on 0.0.0.0",
        ),
        (
            vec![
                "worker",
                "-config-file=cts.hcl",
                "-config-file=far.hcl",
                "-grpc-address",
                &here,
            ],
            "refusing to call 192.0.2.1:8560",
        ),
    ];
    for (arguments, reason) in cases {
        let exit = site.run("cts", &arguments, "refused.log").wait().await;
        exit.assert_code(15).says([
            reason,
            "configure services.tls",
            "services.plaintext = true",
        ]);
        assert!(!site.work().exists());
    }
}
