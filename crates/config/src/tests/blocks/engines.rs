//! The engine of the driver, its version and its releases (docs/configuration.md#driver-terraform).

use super::super::{Sandbox, assert_each, assert_problem};

#[test]
fn wrong_engines_and_releases_are_refused() {
    let cases = r#"
        engine = "tofu" #~ must be `terraform` or `opentofu`
        engine = "opentofu" version = "1.5.7" #~ >= 1.6.0
        version = "0.12.31" #~ outside the supported range >= 0.13.0
        releases_url = "mirror" #~ must begin with https://
        releases_url = "file:///srv" #~ is not a URL
        releases_url = "https://" #~ not a URL
        releases_url = "https://a:b@mirror" #~ must not have a user
        releases_url = "https://mirror/?x=1" #~ must end with a path
    "#;
    assert_each(
        cases,
        |text| format!("driver \"terraform\" {{ {text} }}"),
        assert_problem,
    );
}

#[test]
fn a_version_that_is_not_tested_yet_is_warned_of() {
    let warnings =
        |text: &str| Sandbox::new().warnings(&format!("driver \"terraform\" {{ {text} }}"));
    assert_eq!(
        warnings("version = \"1.15.0\""),
        ["cts is not tested with Terraform 1.15.0, which is newer than 1.14.3"]
    );
    assert!(warnings("version = \"1.14.3\"").is_empty());
    let newer = warnings("engine = \"opentofu\" version = \"2.0.0\"");
    assert!(newer[0].contains("OpenTofu 2.0.0"), "{newer:?}");
}

#[test]
fn a_backend_that_needs_a_newer_terraform_is_warned_of() {
    let warnings = |version: &str, backend: &str| {
        Sandbox::new().warnings(&format!(
            "driver \"terraform\" {{ version = \"{version}\" backend \"{backend}\" {{ }} }}"
        ))
    };
    assert_eq!(
        warnings("0.13.7", "pg"),
        ["backend `pg` needs Terraform 0.14.0 or later"]
    );
    assert!(warnings("0.14.0", "pg").is_empty());
    assert!(warnings("0.13.7", "s3").is_empty());
}
