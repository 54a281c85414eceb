//! Where the outside programs are.

use std::path::{Path, PathBuf};

/// The Consul to test with: `CTS_TEST_CONSUL`, else `consul` on `PATH`.
pub fn consul_path() -> PathBuf {
    find("CTS_TEST_CONSUL", "consul")
}

/// The Terraform to test with: `CTS_TEST_TERRAFORM`, else `terraform` on `PATH`.
pub fn terraform_path() -> PathBuf {
    find("CTS_TEST_TERRAFORM", "terraform")
}

/// The PgBouncer to test with: `CTS_TEST_PGBOUNCER`, else `pgbouncer` on `PATH`.
pub fn pgbouncer_path() -> PathBuf {
    find("CTS_TEST_PGBOUNCER", "pgbouncer")
}

/// The emulator of S3 to test with: `CTS_TEST_MOTO`, else `moto_server` on `PATH`.
pub fn moto_path() -> PathBuf {
    find("CTS_TEST_MOTO", "moto_server")
}

/// The Chromium to test with: `CTS_TEST_CHROMIUM`, else `chromium` on `PATH`.
pub fn chromium_path() -> PathBuf {
    find("CTS_TEST_CHROMIUM", "chromium")
}

/// The driver of Chromium to test with: `CTS_TEST_CHROMEDRIVER`, else `chromedriver` on `PATH`.
pub fn chromedriver_path() -> PathBuf {
    find("CTS_TEST_CHROMEDRIVER", "chromedriver")
}

/// The program that gives certificates to Chromium: `CTS_TEST_PK12UTIL`, else `pk12util` on `PATH`.
pub fn pk12util_path() -> PathBuf {
    find("CTS_TEST_PK12UTIL", "pk12util")
}

/// The script axe-core, which judges the accessibility of pages: `CTS_TEST_AXE`, else `axe.min.js` on `PATH`.
pub fn axe_path() -> PathBuf {
    find("CTS_TEST_AXE", "axe.min.js")
}

/// The promtool to test with: `CTS_TEST_PROMTOOL`, else `promtool` on `PATH`.
pub fn promtool_path() -> PathBuf {
    find("CTS_TEST_PROMTOOL", "promtool")
}

/// The Vault to test with (`crates/testkit/vault`): `CTS_TEST_VAULT`, else `cts-test-vault` on `PATH`.
pub fn vault_path() -> PathBuf {
    find("CTS_TEST_VAULT", "cts-test-vault")
}

/// The `OpenTofu` to test with (`crates/testkit/tofu`): `CTS_TEST_TOFU`, else `tofu` on `PATH`.
pub fn tofu_path() -> PathBuf {
    find("CTS_TEST_TOFU", "tofu")
}

/// The plugin of Terraform to test with (`crates/testkit/restapi`): `CTS_TEST_RESTAPI`, else
/// `terraform-provider-restapi` on `PATH`.
pub fn restapi_path() -> PathBuf {
    find("CTS_TEST_RESTAPI", "terraform-provider-restapi")
}

/// A program of the Postgres to test with, such as `initdb`: in the directory `CTS_TEST_POSTGRES_BIN`,
/// else on `PATH`, else in the newest of the directories that Debian installs.
pub fn postgres_path(name: &str) -> PathBuf {
    const VARIABLE: &str = "CTS_TEST_POSTGRES_BIN";
    if let Some(given) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        let path = PathBuf::from(given).join(name);
        assert!(
            path.is_file(),
            "{VARIABLE} is set, but there is no {}",
            path.display()
        );
        return path;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|directory| directory.join(name));
    on_path
        .chain(debian_versions().map(|directory| directory.join(name)))
        .find(|candidate| candidate.is_file())
        .unwrap_or_else(|| {
            panic!("no {name} on PATH and {VARIABLE} is not set: install Postgres 13 or newer")
        })
}

/// The directories of programs, newest version first.
fn debian_versions() -> impl Iterator<Item = PathBuf> {
    let root = Path::new("/usr/lib/postgresql");
    let entries = root.read_dir().into_iter().flatten().flatten();
    let mut versions: Vec<u32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    versions.sort_unstable_by(|one, other| other.cmp(one));
    versions
        .into_iter()
        .map(|version| root.join(version.to_string()).join("bin"))
}

fn find(variable: &str, name: &str) -> PathBuf {
    if let Some(given) = std::env::var_os(variable).filter(|path| !path.is_empty()) {
        let path = PathBuf::from(given);
        assert!(
            path.is_file(),
            "{variable} names {}, which is no file: run scripts/setup and take what it prints",
            path.display()
        );
        return path;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
        .unwrap_or_else(|| {
            panic!("no {name} on PATH and {variable} is not set: run scripts/setup and take what it prints")
        })
}
