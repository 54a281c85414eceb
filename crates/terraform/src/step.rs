//! Commands of Terraform, with their arguments (docs/terraform.md#commands).

use std::fmt;
use std::time::Duration;

use cts_core::StepTimeouts;
use semver::Version;

/// How long they wait for the lock of the state where a worker may replace a killed worker: longer than
/// Consul keeps the lock of the dead. A `task_env` can override this.
pub(crate) const LOCK_TIMEOUT: &str = "-lock-timeout=60s";

/// How long a plan may be read, unless a test shortens it.
pub(crate) const PLAN_READ: Duration = Duration::from_mins(1);

/// First version without the flags that plugins once needed.
const PLUGIN_FLAGS_UNTIL: Version = Version::new(0, 15, 0);

/// A Terraform command that runs in a task directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// `terraform init`, with the choice of the workspace.
    Init,
    /// `terraform validate`.
    Validate,
    /// `terraform plan`.
    Plan,
    /// `terraform show` for a plan.
    Show,
    /// `terraform apply`.
    Apply,
    /// `terraform force-unlock`.
    Unlock,
    /// `terraform providers schema`.
    Schemas,
    /// `terraform output`.
    Output,
    /// `terraform workspace list`.
    Workspaces,
    /// `terraform state pull`.
    PullState,
    /// `terraform state push`.
    PushState,
}

impl Step {
    /// The arguments of this command that are always the same.
    pub(crate) fn arguments(self, version: &Version) -> Vec<&'static str> {
        match self {
            Self::Init => {
                let mut arguments = vec![
                    "init",
                    "-no-color",
                    "-reconfigure",
                    "-input=false",
                    "-backend=true",
                    "-get=true",
                    "-upgrade=false",
                ];
                if *version < PLUGIN_FLAGS_UNTIL {
                    arguments.extend([
                        "-lock-timeout=0s",
                        "-lock=true",
                        "-get-plugins=true",
                        "-verify-plugins=true",
                    ]);
                }
                arguments
            }
            Self::Validate => vec!["validate", "-no-color", "-json"],
            // Without `-lock-timeout=0s`, which is the default and could not be overridden.
            Self::Plan => vec![
                "plan",
                "-no-color",
                "-input=false",
                "-detailed-exitcode",
                "-lock=true",
            ],
            Self::Show => vec!["show", "-no-color", "-json"],
            Self::Apply => vec![
                "apply",
                "-no-color",
                "-auto-approve",
                "-input=false",
                "-lock=true",
            ],
            Self::Unlock => vec!["force-unlock", "-force"],
            Self::Schemas => vec!["providers", "schema", "-no-color", "-json"],
            Self::Output => vec!["output", "-no-color", "-json"],
            Self::Workspaces => vec!["workspace", "list", "-no-color"],
            Self::PullState => vec!["state", "pull", "-no-color"],
            Self::PushState => vec!["state", "push", "-no-color", "-lock=true", LOCK_TIMEOUT],
        }
    }
}

/// Settings of a configuration for `plan` and `apply`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// Operations at once.
    pub parallelism: u32,
    /// Whether the state is first refreshed from the real resources.
    pub refresh: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            parallelism: 10,
            refresh: true,
        }
    }
}

impl Tuning {
    /// The arguments of a command that these settings add.
    pub(crate) fn arguments(self, step: Step) -> Vec<String> {
        let Self {
            parallelism,
            refresh,
        } = self;
        match step {
            Step::Plan | Step::Apply => vec![
                format!("-parallelism={parallelism}"),
                format!("-refresh={refresh}"),
            ],
            _ => Vec::new(),
        }
    }
}

impl Step {
    /// How long this step may take, and the key of that limit in a configuration.
    pub(crate) const fn timeout(self, timeouts: &StepTimeouts) -> (Duration, &'static str) {
        match self {
            Self::Plan => (timeouts.plan, "plan_timeout"),
            Self::Apply => (timeouts.apply, "apply_timeout"),
            _ => (timeouts.init, "init_timeout"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Init => "init",
            Self::Validate => "validate",
            Self::Plan => "plan",
            Self::Show => "show",
            Self::Apply => "apply",
            Self::Unlock => "unlock",
            Self::Schemas => "providers-schema",
            Self::Output => "output",
            Self::Workspaces => "workspace-list",
            Self::PullState => "state-pull",
            Self::PushState => "state-push",
        })
    }
}
