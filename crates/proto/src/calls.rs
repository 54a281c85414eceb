//! The permitted callers of each call, as the option `role` of its method names them
//! (`proto/cts/access/v1/options.proto`).

/// A method of the services.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// The path of its calls: `/package.Service/Method`.
    pub path: &'static str,
    /// Its permitted callers.
    pub callers: Callers,
}

/// The permitted callers of a method.
#[derive(Debug, Clone, Copy)]
pub enum Callers {
    /// People with the rights of this role, gateways for them, and operators.
    People(Role),
    /// Workers.
    Worker,
    /// Gateways.
    Gateway,
    /// Schedulers and operators.
    Scheduler,
}

/// A role of people and programs outside of cts.
#[derive(Debug, Clone, Copy)]
pub enum Role {
    /// Reads.
    Read,
    /// Approves and rejects effects of plans.
    Approve,
    /// Operates.
    Operate,
    /// Administers.
    Admin,
}

include!("gen/calls.rs");
