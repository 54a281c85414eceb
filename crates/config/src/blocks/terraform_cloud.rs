//! `driver "terraform-cloud"` of CTS Enterprise (docs/configuration.md#driver-terraform-cloud).

use cts_core::{Backend, DEFAULT_REMOTE_HOSTNAME, remote_server_url};
use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::blocks::client_tls::{ClientTls, EnabledBy};
use crate::blocks::consul::ConsulConfig;
use crate::blocks::driver::backend::decode_previous_backend;
use crate::blocks::environment::{Environment, Setting};
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::keys::{dumped, read_keys};
use crate::report::location::{Located, SourceLocation};
use crate::report::sink::Sink;
use crate::settings::settings;

const HOSTNAME: &str = "hostname";
const ORGANIZATION: &str = "organization";

/// Most characters of a tag.
const LONGEST_TAG: usize = 255;

settings! {
    /// How runs reach HCP Terraform or Terraform Enterprise.
    #[derive(Debug, Clone)]
    pub struct TerraformCloudDriver {
        /// `hostname`, a URL; never empty.
        pub hostname: String = String::new() => text,
        /// `organization`, not empty.
        pub organization: String = String::new() => text,
        /// `token` of a team, which only workers need. A dynamic template is kept as it was written.
        pub token: Option<SecretString> = None => optional_secret,
        /// `workspaces`.
        pub workspaces: CloudWorkspaces = CloudWorkspaces::default()
            => block_of(decode_workspaces, |workspaces| Some(dumped(workspaces))),
        /// Provider name to version constraint or object, as written.
        pub required_providers: Map<String, Value> = Map::new() => required_providers,
        /// `tls`.
        pub tls: ClientTls = ClientTls::default() => client_tls(EnabledBy::Contents),
        /// The backend that had the states before, cts-only, for workers to move them from
        /// (docs/hcp-terraform.md#states).
        pub previous_backend: Option<Backend> = None => previous_backend,
    }
}

settings! {
    /// `workspaces` of the driver: their names and tags.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct CloudWorkspaces {
        /// Prefix of the name of a task; the one of the deprecated `workspace_prefix` has its hyphen at the end
        /// already.
        pub prefix: String = String::new() => text_of(decode_prefix),
        /// Tags that every workspace gets, in addition to `source:cts`.
        pub tags: Vec<String> = Vec::new() => texts(check_tag),
        /// If not empty, a workspace needs at least one of these tags.
        pub tags_allowlist: Vec<String> = Vec::new() => texts(check_tag),
        /// A workspace with one of these tags is refused; beats the allow list.
        pub tags_denylist: Vec<String> = Vec::new() => texts(check_tag),
    }
}

/// Reads the block; `None` if something required is missing, which has been reported then.
///
/// Host, organization and token belong together: a token from the environment must not go to the host of the file. So
/// all of them beat what is written, while elsewhere a file beats the environment.
pub(crate) fn decode_terraform_cloud(
    mut block: Block<'_>,
    consul: &ConsulConfig,
    environment: Environment<'_>,
) -> Option<TerraformCloudDriver> {
    let is_given = block.has(ORGANIZATION);
    let mut driver = TerraformCloudDriver {
        previous_backend: decode_previous_backend(block.united("previous_backend"), consul),
        ..TerraformCloudDriver::default()
    };
    let written = read_keys(&mut driver, &mut block);
    let sink = block.sink();
    let organization = environment.text(Setting::CLOUD_ORGANIZATION);
    driver.organization = organization.unwrap_or(driver.organization);
    let is_mistyped = is_given && !written.has(ORGANIZATION);
    if driver.organization.is_empty() && !is_mistyped {
        let variable = Setting::CLOUD_ORGANIZATION.variable();
        block.missing(format!(
            "`driver \"terraform-cloud\"` needs `{ORGANIZATION}`, or the environment variable {variable}"
        ));
    }
    block.finish();
    let hostname = environment.text(Setting::CLOUD_HOSTNAME);
    let hostname = hostname.filter(|hostname| *hostname != driver.hostname);
    let place = written.place(HOSTNAME).filter(|_| hostname.is_none());
    driver.hostname = hostname.unwrap_or(driver.hostname);
    check_hostname(&driver.hostname, place, sink);
    if driver.hostname.is_empty() {
        DEFAULT_REMOTE_HOSTNAME.clone_into(&mut driver.hostname);
    }
    let token = environment.text(Setting::CLOUD_TOKEN);
    driver.token = token.map(SecretString::from).or(driver.token);
    (!driver.organization.is_empty()).then_some(driver)
}

/// Reports an address that no server can have; one without a place is that of the environment.
fn check_hostname(hostname: &str, place: Option<&SourceLocation>, sink: &Sink) {
    // A template is refused elsewhere.
    if hostname.is_empty() || hostname.contains("{{") {
        return;
    }
    let Err(problem) = remote_server_url(hostname, false) else {
        return;
    };
    if let Some(place) = place {
        sink.error(place, format!("`{HOSTNAME}` {problem}"));
    } else {
        let variable = Setting::CLOUD_HOSTNAME.variable();
        sink.error_outside(format!("the environment variable {variable} {problem}"));
    }
}

fn decode_workspaces(driver: &mut Block<'_>, name: &'static str) -> CloudWorkspaces {
    let mut workspaces = CloudWorkspaces::default();
    let mut block = driver.block_or_empty(name);
    let written = read_keys(&mut workspaces, &mut block);
    block.finish();
    let Some(deprecated) = driver.take("workspace_prefix", coerce::text) else {
        return workspaces;
    };
    let has_prefix = written.has("prefix");
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
