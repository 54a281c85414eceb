//! `security`, a cts-only block (docs/configuration.md#security).

mod audit;
mod names;
mod oidc;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cts_core::settings::ClusterKey;

pub use self::audit::AuditConfig;
use self::names::{host, origin};
pub use self::oidc::OidcConfig;
use self::oidc::decode_issuers;
use crate::allowed_sources::AllowedSources;
use crate::decode::block::Block;
use crate::decode::token_file::read_token;
use crate::keys::{Keyed, Keys, dumped, unless_empty};

/// Two while one takes the place of the other.
const MOST_KEYS: usize = 2;

/// How secrets are protected, and who may do what.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecurityConfig {
    /// `key_file`, absolute: holds the key of the cluster; `None` for the one in the database.
    pub key_file: Option<PathBuf>,
    /// `hosts`: names, in small letters and without a port, that lead to the listeners.
    pub hosts: Vec<String>,
    /// `origins`: origins, as browsers write them, whose pages may use the API.
    pub origins: Vec<String>,
    /// `require_auth`: every request needs a token or a certificate with a role.
    pub require_auth: bool,
    /// `service_roles`: services may call only the methods of the roles in their certificates.
    pub service_roles: bool,
    /// `server_roles`: services refuse servers whose certificate names no role.
    pub server_roles: bool,
    /// `domain`: DNS names in certificates name roles only below it; `None` for any domain.
    pub domain: Option<String>,
    /// `strict`: settings that are not safe are errors.
    pub strict: bool,
    /// `module_sources`: prefixes of sources, or registry hosts, of modules in tasks that the API makes; `None` for any.
    pub module_sources: Option<Vec<String>>,
    /// `oidc` blocks, in order.
    pub issuers: Vec<OidcConfig>,
    /// `audit`.
    pub audit: AuditConfig,
}

/// A file holds no keys.
#[derive(Debug, thiserror::Error)]
#[error("`security.key_file` {} cannot be used", path.display())]
pub struct KeyFileError {
    path: PathBuf,
    source: KeyFileProblem,
}

/// Why a file holds no keys.
#[derive(Debug, thiserror::Error)]
enum KeyFileProblem {
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error("it is open to others (mode {mode:o}): `chmod 600` it")]
    Open { mode: u32 },
    #[error(
        "it must have one key, or two while one takes the place of the other, each a line of 64 hexadecimal digits as `openssl rand -hex 32` prints them"
    )]
    Content,
}

impl SecurityConfig {
    /// Whether clients look at the roles in the certificates of the services that they call.
    pub const fn checks_servers(&self) -> bool {
        self.service_roles || self.requires_server_roles()
    }

    /// Whether services without a role in their certificate are refused.
    pub const fn requires_server_roles(&self) -> bool {
        self.server_roles || self.strict
    }

    /// The keys in the file, one or two; none without a file.
    ///
    /// # Errors
    /// If the file cannot be read, others can read it, or it holds something else.
    pub fn read_keys(&self) -> Result<Vec<ClusterKey>, KeyFileError> {
        let Some(path) = &self.key_file else {
            return Ok(Vec::new());
        };
        read_keys(path).map_err(|source| KeyFileError {
            path: path.clone(),
            source,
        })
    }
}

/// The file with the key is read where it is needed: a configuration may be checked elsewhere.
impl Keyed for SecurityConfig {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        keys.path("key_file", &mut self.key_file)
            .or_note("the key of the cluster is in the database");
        let hosts = |block: &mut Block<'_>, name| block.checked_list(name, host);
        keys.key("hosts", &mut self.hosts, hosts, |hosts| {
            unless_empty(hosts, String::clone)
        });
        let origins = |block: &mut Block<'_>, name| block.checked_list(name, origin);
        keys.key("origins", &mut self.origins, origins, |origins| {
            unless_empty(origins, String::clone)
        });
        keys.flag("require_auth", &mut self.require_auth);
        keys.flag("service_roles", &mut self.service_roles);
        keys.flag("server_roles", &mut self.server_roles);
        keys.flag("strict", &mut self.strict);
        keys.optional_text("domain", &mut self.domain);
        let sources = |block: &mut Block<'_>, name| block.checked_list(name, module_source);
        keys.optional(
            "module_sources",
            &mut self.module_sources,
            sources,
            Vec::clone,
        )
        .or_note("tasks of the API may use any module");
        match keys {
            Keys::Read { block, .. } => self.issuers = decode_issuers(block.repeated("oidc")),
            Keys::Dump(body) => {
                for issuer in &self.issuers {
                    body.repeated("oidc", None, dumped(issuer));
                }
            }
        }
        keys.block("audit", &mut self.audit);
    }
}

fn module_source(text: &str) -> Result<String, String> {
    match AllowedSources::check_entry(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(problem) => Err(format!("is no beginning of a source: {problem}")),
    }
}

fn read_keys(path: &Path) -> Result<Vec<ClusterKey>, KeyFileProblem> {
    let content = read_token(path)?;
    let mode = fs::metadata(path)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeyFileProblem::Open { mode });
    }
    let lines = content.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let keys: Result<Vec<ClusterKey>, _> = lines.map(ClusterKey::parse).collect();
    match keys {
        Ok(keys) if (1..=MOST_KEYS).contains(&keys.len()) => Ok(keys),
        _ => Err(KeyFileProblem::Content),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str, mode: u32) -> Result<usize, String> {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("key");
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let keys = read_keys(&path).map_err(|error| error.to_string())?;
        Ok(keys.len())
    }

    #[test]
    fn a_file_has_one_key_or_two_and_is_open_to_its_owner_only() {
        let [old, new] = ["0a", "F1"].map(|byte| byte.repeat(32));
        assert_eq!(read(&format!("{old}\n"), 0o600), Ok(1));
        assert_eq!(read(&format!("# new\n{new}\n\n  {old}"), 0o400), Ok(2));
        for wrong in ["", "# none", &old[1..], &format!("{old}\n{new}\n{old}")] {
            let error = read(wrong, 0o600).unwrap_err();
            assert!(error.starts_with("it must have one key"), "{error}");
        }
        let error = read(&old, 0o640).unwrap_err();
        assert_eq!(error, "it is open to others (mode 640): `chmod 600` it");
    }
}
