//! Tests of the HCL 1 reader through its public interface.

mod accepted;
mod examples;
mod limits;
mod messages;
mod outline;
mod properties;
mod refused;
mod spans;
