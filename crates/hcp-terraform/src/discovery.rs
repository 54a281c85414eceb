//! The service discovery document: it names the base of the API, which may be on another host.

use std::collections::BTreeMap;

use reqwest::{Method, Url};
use serde_json::Value;

use crate::error::ApiError;
use crate::problem::ProtocolProblem;
use crate::request::{Access, Request};
use crate::server::{Server, decode};
use crate::transport::Transport;

const PATH: &str = "/.well-known/terraform.json";

/// Name of the service in the document.
const SERVICE: &str = "tfe.v2";

impl Server {
    /// Reads the base of the API. The token is not sent.
    pub(crate) async fn read_base(&self) -> Result<Url, ApiError> {
        let mut url = self.address().clone();
        url.set_path(PATH);
        let request = Request::new(Method::GET, url, Access::Open, self.limits().timeout);
        let answer = self.exchange(&request).await?;
        // Other services have other forms.
        let services: BTreeMap<String, Value> = decode(&request, &answer)?;
        let base = services.get(SERVICE).and_then(Value::as_str);
        let base = base.and_then(|base| base_url(&answer.url, base, self.transport()));
        base.ok_or_else(|| ApiError::Protocol {
            call: request.call,
            problem: ProtocolProblem::NoService,
        })
    }
}

/// The base with a slash at its end; `None` if it cannot be used.
fn base_url(document: &Url, service: &str, transport: &Transport) -> Option<Url> {
    let mut base = document.join(service).ok()?;
    let has_user = !base.username().is_empty() || base.password().is_some();
    if has_user || !transport.permits(&base) || base.query().is_some() || base.fragment().is_some()
    {
        return None;
    }
    if !base.path().ends_with('/') {
        base.set_path(&format!("{}/", base.path()));
    }
    Some(base)
}
