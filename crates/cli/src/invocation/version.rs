//! Text of the program's version (docs/cli.md#options-and-arguments).

/// Version of the release.
const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// The commit that this was built from, if the build has set it.
const COMMIT: Option<&str> = option_env!("CTS_BUILD_COMMIT");

/// The two lines; `terraform` is the range of supported versions.
pub(crate) fn text(name: &str, terraform: &str) -> String {
    let commit = COMMIT
        .filter(|commit| !commit.is_empty())
        .map(|commit| format!(" ({commit})"))
        .unwrap_or_default();
    format!("{name} {VERSION}{commit}\nCompatible with Terraform {terraform}\n")
}
