//! The roles that may call each method: of the services' methods as their protos name them (`cts_proto::calls`).

use std::fmt;

use cts_core::callers::{Role, ServiceRole, ServiceRoles};
use cts_proto::calls::{self, CALLS, Callers};

/// A method and its rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// The path of its calls: `/package.Service/Method`.
    pub path: &'static str,
    /// Its permitted callers.
    pub rule: Rule,
}

/// The permitted callers of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Every client that the listener lets in.
    Open,
    /// Every client with a certificate of the services' authority or a token.
    Known,
    /// Certificates with one of these roles, and users whose role includes this one; without it no token suffices.
    Roles(&'static [ServiceRole], Option<Role>),
}

/// All methods, in the order of their paths. docs/grpc.md#who-may-call-what shows the table.
pub const METHODS: &[Method] = &methods();

/// Methods of every server, whose protos are not of this repository.
const STANDARD: [Method; 3] = [
    Method::new("/grpc.health.v1.Health/Check", Rule::Open),
    // Each call lasts, and takes memory as long.
    Method::new("/grpc.health.v1.Health/Watch", Rule::Known),
    Method::new(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        Rule::Known,
    ),
];

const fn methods() -> [Method; CALLS.len() + STANDARD.len()] {
    let mut methods = [STANDARD[0]; CALLS.len() + STANDARD.len()];
    let mut index = 0;
    while index < methods.len() {
        methods[index] = if index < CALLS.len() {
            let call = &CALLS[index];
            Method::new(call.path, Rule::of(call.callers))
        } else {
            STANDARD[index - CALLS.len()]
        };
        index += 1;
    }
    methods
}

/// The role of people that the protos name.
pub const fn role(role: calls::Role) -> Role {
    match role {
        calls::Role::Read => Role::Read,
        calls::Role::Approve => Role::Approve,
        calls::Role::Operate => Role::Operate,
        calls::Role::Admin => Role::Admin,
    }
}

/// The method with this path.
pub(crate) fn method(path: &str) -> Option<Method> {
    let found = METHODS.binary_search_by(|method| method.path.cmp(path));
    found.ok().map(|index| METHODS[index])
}

impl Method {
    const fn new(path: &'static str, rule: Rule) -> Self {
        Self { path, rule }
    }
}

impl Rule {
    /// The rule of a call.
    const fn of(callers: Callers) -> Self {
        use ServiceRole::{Gateway, Operator, Scheduler, Worker};
        match callers {
            Callers::People(least) => Self::Roles(&[Gateway, Operator], Some(role(least))),
            Callers::Worker => Self::Roles(&[Worker], None),
            Callers::Gateway => Self::Roles(&[Gateway], None),
            Callers::Scheduler => Self::Roles(&[Scheduler, Operator], None),
        }
    }

    /// Whether a certificate with these roles may call the method.
    pub fn admits(self, roles: &ServiceRoles) -> bool {
        match self {
            Self::Open | Self::Known => true,
            Self::Roles(services, person) => {
                services.iter().any(|role| roles.contains(*role))
                    || person.is_some_and(|least| {
                        let role = roles.person();
                        role.is_some_and(|role| role.includes(least))
                    })
            }
        }
    }

    /// Whether a token with this role may call the method.
    pub fn admits_token(self, role: Role) -> bool {
        match self {
            Self::Open | Self::Known => true,
            Self::Roles(_, person) => person.is_some_and(|least| role.includes(least)),
        }
    }
}

/// The roles of services, such as `gateway, operator`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open | Self::Known => f.write_str("any"),
            Self::Roles(services, _) => {
                let names: Vec<&str> = services.iter().map(|role| role.as_str()).collect();
                f.write_str(&names.join(", "))
            }
        }
    }
}
