//! Variables of the environment that people set for Terraform, and that Terraform does not get
//! (docs/terraform.md#the-environment-of-terraform).

use cts_runtime::ProcessEnv;
use cts_terraform::is_ignored_setting;

/// Settings that replace such a variable.
pub(crate) const INSTEAD: &str = "`variables` of the task for TF_VAR_…, `parallelism` of the driver or `task_env` of a \
     `terraform_provider` for TF_CLI_ARGS…; the workspace is that of the task";

/// The names of the variables that are set, in one text; `None` if none is set.
pub(crate) fn ignored_variables(process_env: &ProcessEnv) -> Option<String> {
    let names = process_env.environment.keys();
    let names = names.filter(|name| is_ignored_setting(name));
    let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}
