//! Where the outside programs are.

use std::path::PathBuf;

/// The Consul to test with: `CTS_TEST_CONSUL`, else `consul` on `PATH`.
pub fn consul_path() -> PathBuf {
    find("CTS_TEST_CONSUL", "consul")
}

/// The Terraform to test with: `CTS_TEST_TERRAFORM`, else `terraform` on `PATH`.
pub fn terraform_path() -> PathBuf {
    find("CTS_TEST_TERRAFORM", "terraform")
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
