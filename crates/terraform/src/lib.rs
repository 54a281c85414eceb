//! Generated root modules, and the Terraform processes that run in them.
//!
//! The first half is pure: [`render_root_module`] and [`render_tfvars`] turn a task and its frozen input into the text
//! of the files that Terraform reads (docs/terraform.md#the-task-directory). The second half runs the executable:
//! [`Executable`] is the checked binary of an engine, [`TaskDirectory`] the directory of one task, [`Terraform`] runs
//! the commands of one [`Attempt`] and stops them gently on request, and [`stop_orphans`] ends the processes that a
//! killed predecessor left. The [`guard`] is a separate process that stops Terraform if the worker is dead or stalled.
//!
//! This crate must not know of leases, wire formats, databases, configuration files or Consul's API. Time
//! limits and cancellation are values that the caller passes; so are environment and working directory.
//!
//! Known limit: Terraform holds every string in Unicode normalisation form C, so a text that is not in that form
//! reaches the module in its composed form. No form of a written file avoids that.

mod attempt;
mod child_environment;
mod commands;
mod data_files;
mod directory;
mod error;
mod executable;
mod go_runtime;
pub mod guard;
mod inherited;
mod markers;
mod orphan;
mod output;
mod plan;
mod process;
mod processes;
mod provider_schema;
mod render;
mod report;
mod scratch;
mod state_lock;
mod step;
mod stop;
mod trace_log;

pub use attempt::Attempt;
pub use child_environment::{ChildEnvironment, EnvironmentSources, TRACE_PARENT, task_env};
pub use commands::outputs::{ReportedOutput, ReportedOutputs, run_outputs, state_outputs};
pub use commands::prepare::Preparation;
pub use commands::saved_plan::SavedPlan;
pub use commands::show_plan::read_printed_plan;
pub use commands::state::{
    BackendIdentity, FetchedState, FoundState, ReadState, StateOrigin, consul_key, consul_parts,
    read_consul_value, read_directly, read_file, read_state,
};
pub use commands::terraform::{PlanOutput, Terraform};
pub use directory::{SecretFiles, TaskDirectory};
pub use error::{CommandError, CommandFailure, FileError, MissingOutput};
pub use executable::{
    Executable, FindError, SUPPORTED_RANGE, is_supported, is_tested, required_version,
};
pub use go_runtime::GoRuntime;
pub use inherited::{InheritedEnvironment, is_ignored_setting, is_own_credential};
pub use markers::{TASK_DIRECTORY_MARKER, WORKER_MARKER};
pub use orphan::{OrphanError, OrphanGroup, stop_orphans};
pub use output::{Discard, LineChannel, OutputLine, OutputSink, OutputStream};
pub use plan::{MOST_PLAN_BYTES, PlanContext, ReadPlan, Redact, counts_only, without_attributes};
pub use render::{
    ConfigurationFiles, GeneratedFile, RenderError, RenderSettings, RenderedVariable, RootModule,
    render_configuration, render_root_module, render_tfvars, render_variables,
};
pub use report::Report;
pub use state_lock::StateLock;
pub use step::{Step, Tuning};
pub use stop::{StopPolicy, StopSignal};
