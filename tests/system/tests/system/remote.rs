//! Driver `terraform-cloud`: runs on a server of HCP Terraform, whose stub runs the real Terraform
//! (docs/hcp-terraform.md).

mod braked;
mod confirmations;
mod decisions;
mod endings;
mod first_runs;
mod inputs;
mod inspections;
mod interruptions;
mod moves;
mod outages;
mod people;
mod proxies;
mod refusals;
mod renamed;
mod settings;
pub(crate) mod stage;
mod waiting_applies;
mod way_back;
