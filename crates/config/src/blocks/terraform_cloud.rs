//! `driver "terraform-cloud"` of CTS Enterprise (docs/configuration.md#driver-terraform-cloud).

use cts_core::{Backend, DEFAULT_REMOTE_HOSTNAME, remote_server_url};
use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::blocks::client_tls::{ClientTls, EnabledBy, SuppliedTls, decode_client_tls};
use crate::blocks::consul::ConsulConfig;
use crate::blocks::driver::backend::decode_previous_backend;
use crate::blocks::environment::{Environment, Setting};
use crate::blocks::required_providers::decode_required;
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::keys::{Keyed, Keys, read_keys};
use crate::report::location::Located;
use crate::report::sink::Sink;

/// Most characters of a tag.
const LONGEST_TAG: usize = 255;

/// How runs reach HCP Terraform or Terraform Enterprise.
#[derive(Debug, Clone)]
pub struct TerraformCloudDriver {
    /// `hostname`, a URL; never empty.
    pub hostname: String,
    /// `organization`, not empty.
    pub organization: String,
    /// `token` of a team, which only workers need. A dynamic template is kept as it was written.
    pub token: Option<SecretString>,
    /// `workspaces`.
    pub workspaces: CloudWorkspaces,
    /// Provider name to version constraint or object, as written.
    pub required_providers: Map<String, Value>,
    /// `tls`.
    pub tls: ClientTls,
    /// The backend that had the states before, cts-only, for workers to move them from
    /// (docs/hcp-terraform.md#states).
    pub previous_backend: Option<Backend>,
}

/// `workspaces` of the driver: their names and tags.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CloudWorkspaces {
    /// Prefix of the name of a task; the one of the deprecated `workspace_prefix` has its hyphen at the end
    /// already.
    pub prefix: String,
    /// Tags that every workspace gets, in addition to `source:cts`.
    pub tags: Vec<String>,
    /// If not empty, a workspace needs at least one of these tags.
    pub tags_allowlist: Vec<String>,
    /// A workspace with one of these tags is refused; beats the allow list.
    pub tags_denylist: Vec<String>,
}

/// Reads the block; `None` if something required is missing, which has been reported then.
pub(crate) fn decode_terraform_cloud(
    mut block: Block<'_>,
    consul: &ConsulConfig,
    environment: Environment<'_>,
) -> Option<TerraformCloudDriver> {
    let hostname = decode_hostname(&mut block, environment);
    let organization = decode_organization(&mut block, environment);
    let token = overriding(block.text("token"), Setting::CLOUD_TOKEN, environment);
    let workspaces = decode_workspaces(&mut block);
    let required_providers = decode_required(&mut block, "required_providers");
    let tls = decode_client_tls(&mut block, EnabledBy::Contents, SuppliedTls::default());
    let previous_backend = decode_previous_backend(block.united("previous_backend"), consul);
    block.finish();
    Some(TerraformCloudDriver {
        hostname: hostname.unwrap_or_else(|| DEFAULT_REMOTE_HOSTNAME.to_owned()),
        organization: organization?,
        token: token.map(SecretString::from),
        workspaces,
        required_providers,
        tls,
        previous_backend,
    })
}

/// The three belong together: a token from the environment must not go to the host of the file. So all
/// of them beat what is written, while elsewhere a file beats the environment.
fn overriding(
    written: Option<String>,
    setting: Setting,
    environment: Environment<'_>,
) -> Option<String> {
    let value = environment.text(setting).or(written);
    value.filter(|value| !value.is_empty())
}

fn decode_hostname(block: &mut Block<'_>, environment: Environment<'_>) -> Option<String> {
    const SETTING: Setting = Setting::CLOUD_HOSTNAME;
    let written = block.take("hostname", coerce::text);
    let place = written.as_ref().map(|written| written.place.clone());
    let written = written.map(|written| written.value);
    let value = overriding(written.clone(), SETTING, environment)?;
    let problem = match remote_server_url(&value, false) {
        // A template is refused elsewhere.
        Err(problem) if !value.contains("{{") => problem,
        _ => return Some(value),
    };
    if let Some(place) = place.filter(|_| written.as_deref() == Some(&*value)) {
        let message = format!("`hostname` {problem}");
        block.sink().error(&place, message);
    } else {
        let variable = SETTING.variable();
        let message = format!("the environment variable {variable} {problem}");
        block.sink().error_outside(message);
    }
    None
}

fn decode_organization(block: &mut Block<'_>, environment: Environment<'_>) -> Option<String> {
    const NAME: &str = "organization";
    const SETTING: Setting = Setting::CLOUD_ORGANIZATION;
    let given = block.has(NAME);
    let written = block.text(NAME);
    let mistyped = given && written.is_none();
    let value = overriding(written, SETTING, environment);
    if value.is_none() && !mistyped {
        let variable = SETTING.variable();
        block.missing(format!(
            "`driver \"terraform-cloud\"` needs `{NAME}`, or the environment variable {variable}"
        ));
    }
    value
}

impl Keyed for CloudWorkspaces {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        keys.text_of("prefix", &mut self.prefix, decode_prefix);
        keys.texts("tags", &mut self.tags, check_tag);
        keys.texts("tags_allowlist", &mut self.tags_allowlist, check_tag);
        keys.texts("tags_denylist", &mut self.tags_denylist, check_tag);
    }
}

fn decode_workspaces(driver: &mut Block<'_>) -> CloudWorkspaces {
    let mut workspaces = CloudWorkspaces::default();
    let mut block = driver.block_or_empty("workspaces");
    let places = read_keys(&mut workspaces, &mut block);
    block.finish();
    let Some(deprecated) = driver.take("workspace_prefix", coerce::text) else {
        return workspaces;
    };
    let has_prefix = places.iter().any(|(name, _)| *name == "prefix");
    let mut message =
        "`workspace_prefix` is deprecated, use `prefix` in a `workspaces` block, with a hyphen at its end"
            .to_owned();
    if has_prefix {
        message.push_str("; it is ignored here, because there is one");
    }
    driver.sink().warning(&deprecated.place, message);
    check_prefix(driver.sink(), &deprecated, "workspace_prefix");
    if !has_prefix && !deprecated.value.is_empty() {
        workspaces.prefix = format!("{}-", deprecated.value);
    }
    workspaces
}

fn decode_prefix(block: &mut Block<'_>, name: &'static str) -> Option<Located<String>> {
    let prefix = block.take(name, coerce::text)?;
    check_prefix(block.sink(), &prefix, &block.path_of(name));
    Some(prefix)
}

/// Reports a prefix that no name of a workspace can have. The length is left to the server.
fn check_prefix(sink: &Sink, prefix: &Located<String>, path: &str) {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !prefix.value.chars().all(is_known) {
        let message = format!(
            "{} in `{path}` is no beginning of the name of a workspace: letters, digits, `-` and `_`",
            coerce::quoted(&prefix.value)
        );
        sink.error(&prefix.place, message);
    }
}

/// Refuses a tag that no server takes.
fn check_tag(tag: &str) -> Result<(), String> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "-_:".contains(c);
    if (1..=LONGEST_TAG).contains(&tag.len()) && tag.chars().all(is_known) {
        return Ok(());
    }
    Err(format!(
        "is no tag: 1 to {LONGEST_TAG} letters, digits, `:`, `-` and `_`"
    ))
}
