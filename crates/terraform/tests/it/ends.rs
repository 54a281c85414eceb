//! How processes of Terraform end.

mod guard;
mod guard_process;
mod orphans;
mod stop;
