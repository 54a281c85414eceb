//! `security`, a cts-only block (docs/configuration.md#security).

mod audit;
pub(crate) mod names;
mod oidc;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cts_core::callers::PlanValues;
use cts_core::settings::ClusterKey;

pub use self::audit::AuditConfig;
use self::names::{host, origin};
pub use self::oidc::OidcConfig;
use crate::allowed_sources::AllowedSources;
use crate::decode::token_file::read_token;
use crate::settings::settings;

/// Two while one takes the place of the other.
const MOST_KEYS: usize = 2;

const PLAN_VALUES: [(&str, PlanValues); 2] = [
    (PlanValues::Read.as_str(), PlanValues::Read),
    (PlanValues::Operate.as_str(), PlanValues::Operate),
];

settings! {
    /// How secrets are protected, and who may do what.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct SecurityConfig {
        /// `key_file`, absolute: holds the key of the cluster; `None` for the one in the database. The file is read
        /// where the key is needed: a configuration may be checked elsewhere.
        pub key_file: Option<PathBuf> = None => path or "the key of the cluster is in the database",
        /// `hosts`: names, in small letters and without a port, that lead to the listeners.
        pub hosts: Vec<String> = Vec::new() => list(host),
        /// `origins`: origins, as browsers write them, whose pages may use the API.
        pub origins: Vec<String> = Vec::new() => list(origin),
        /// `require_auth`: every request needs a token or a certificate with a role.
        pub require_auth: bool = false => flag,
        /// `plan_values`: the role from which on callers see the values of plans, the texts of plans, and logs.
        pub plan_values: PlanValues = PlanValues::Read => choice(&PLAN_VALUES),
        /// `service_roles`: services may call only the methods of the roles in their certificates.
        pub service_roles: bool = false => flag,
        /// `server_roles`: services refuse servers whose certificate names no role.
        pub server_roles: bool = false => flag,
        /// `strict`: settings that are not safe are errors.
        pub strict: bool = false => flag,
        /// `domain`: DNS names in certificates name roles only below it; `None` for any domain.
        pub domain: Option<String> = None => optional_text,
        /// `module_sources`: prefixes of sources, or registry hosts, of modules in tasks that the API makes; `None` for
        /// any.
        pub module_sources: Option<Vec<String>> = None
            => optional(|block, name| block.checked_list(name, module_source), Vec::clone)
            or "tasks of the API may use any module",
        /// `oidc` blocks, in order.
        pub oidc: Vec<OidcConfig> = Vec::new() => issuers,
        /// `audit`.
        pub audit: AuditConfig = AuditConfig::default() => block,
    }
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
