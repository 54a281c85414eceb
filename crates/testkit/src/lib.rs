//! Shared tools for the tests of several crates: a real Consul, a real Postgres, a PgBouncer, a real Vault, a real
//! driver of Chromium, an emulator of S3, a stub of HCP Terraform, a stub of newer Consuls and a proxy that answers as
//! they do, a clock that stands still, polling with a deadline, free ports, an HTTP server with a script, a collector of
//! OTLP, an OIDC issuer, a release site, a TCP proxy that breaks connections, certificates, a long history, and where the
//! outside programs are; and tasks and instances to change.
//!
//! A dev-dependency only. Panics if a test cannot go on, and says what to do about it. Start with
//! [`ConsulAgent`], [`Postgres`] and [`eventually`].
#![warn(missing_docs)]
#![expect(
    clippy::panic,
    reason = "this is test code: what cannot go on must fail the test, with a clear text"
)]

mod certificates;
mod chromedriver;
mod clock;
mod collector;
mod consul;
mod contains;
mod eventually;
pub mod fixtures;
pub mod hcp;
mod history;
mod limited_disk;
mod newer_consul;
mod object_store;
mod oidc;
mod openssl;
mod ports;
mod postgres;
mod programs;
mod proxy;
mod refused_calls;
mod release_site;
mod scripted_http;
mod streaming_consul;
mod vault;

pub use certificates::{Authority, KeyPairFiles};
pub use chromedriver::{Chromedriver, chromium_arguments};
pub use clock::ManualClock;
pub use collector::{Collector, attribute};
pub use consul::{ConsulAgent, access_control, access_control_by_default_deny};
pub use contains::assert_contains;
pub use eventually::eventually;
pub use hcp::HcpServer;
pub use history::History;
pub use limited_disk::LimitedDisk;
pub use newer_consul::NewerConsul;
pub use object_store::ObjectStore;
pub use oidc::{IssuerDocument, IssuerFault, OidcIssuer, SigningKey, SigningKeyKind, hmac_token};
pub use openssl::{KeyKind, Openssl};
pub use ports::free_port;
pub use postgres::{HeldWrites, PgBouncer, Postgres, PostgresSettings};
pub use programs::{
    axe_path, chromedriver_path, chromium_path, consul_path, moto_path, pgbouncer_path,
    pk12util_path, postgres_path, promtool_path, restapi_path, terraform_path, tofu_path,
    vault_path,
};
pub use proxy::{Link, TcpProxy};
pub use release_site::{
    Delivery, ReleaseKey, ReleaseSite, engine_script, zip_archive, zip_archive_with_link,
};
pub use scripted_http::{ScriptedAnswer, ScriptedHttp, ScriptedRequest};
pub use streaming_consul::StreamingConsul;
pub use vault::VaultServer;
