//! Product and limit of a server.

use reqwest::Method;
use reqwest::header::HeaderMap;

use cts_core::excerpt;

use crate::error::ApiError;
use crate::server::Server;
use crate::verdict::number;

/// Product, versions and limit of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ping {
    /// Product.
    pub product: Product,
    /// Version of the API.
    pub api_version: Option<String>,
    /// Release of Terraform Enterprise.
    pub release: Option<String>,
    /// Requests a second that a user may send; `None` if the server names no limit.
    pub rate_limit: Option<u64>,
}

/// Product that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// HCP Terraform, earlier called Terraform Cloud.
    HcpTerraform,
    /// Terraform Enterprise.
    TerraformEnterprise,
    /// Any other server that speaks the API.
    Other,
}

impl Server {
    /// Reads product, versions and limit of the server.
    pub async fn ping(&self) -> Result<Ping, ApiError> {
        let answer = self
            .exchange(&self.request(Method::GET, &["ping"])?)
            .await?;
        Ok(ping(&answer.headers))
    }
}

fn ping(headers: &HeaderMap) -> Ping {
    let text = |name: &str| {
        let text = headers.get(name)?.to_str().ok()?;
        Some(excerpt(text, 60))
    };
    let release = text("x-tfe-current-version").or_else(|| text("x-tfe-version"));
    let product = match text("tfp-appname").as_deref() {
        Some("HCP Terraform" | "Terraform Cloud") => Product::HcpTerraform,
        Some("Terraform Enterprise") => Product::TerraformEnterprise,
        _ if release.is_some() => Product::TerraformEnterprise,
        _ => Product::Other,
    };
    Ping {
        product,
        api_version: text("tfp-api-version"),
        release,
        rate_limit: number(headers, "x-ratelimit-limit"),
    }
}
