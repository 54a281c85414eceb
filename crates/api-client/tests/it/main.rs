//! The client against a server that answers as docs/rest.md says, in plain text and over TLS.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod answers;
mod failures;
mod requests;
mod tls;

use cts_api_client::{ApiClient, ClientSettings};
use cts_testkit::ScriptedHttp;

/// A client of `server`, whose address gets `prefix` at its end.
fn client_below(server: &ScriptedHttp, prefix: &str) -> ApiClient {
    let settings = ClientSettings {
        address: format!("http://{}{prefix}", server.address()),
        ..ClientSettings::default()
    };
    ApiClient::new(&settings).unwrap()
}

fn client(server: &ScriptedHttp) -> ApiClient {
    client_below(server, "")
}
