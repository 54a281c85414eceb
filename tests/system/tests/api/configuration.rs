//! Tasks of the file beside those of the API, and what a start makes of both.

mod config_apply;
mod config_diff;
mod reconfigured;
mod restart;
