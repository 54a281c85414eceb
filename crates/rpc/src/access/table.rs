//! The roles that may call each method of the services.

use std::fmt;

use cts_core::access::{Role, ServiceRole, ServiceRoles};

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
    /// Certificates with one of these roles, and users with at least this role; without a role no token suffices.
    Roles(&'static [ServiceRole], Option<Role>),
}

const WORKER: &[ServiceRole] = &[ServiceRole::Worker];
const GATEWAY: &[ServiceRole] = &[ServiceRole::Gateway];
const CLIENTS: &[ServiceRole] = &[ServiceRole::Gateway, ServiceRole::Operator];
const FOLLOWERS: &[ServiceRole] = &[ServiceRole::Scheduler, ServiceRole::Operator];

/// All methods, in the order of their paths. docs/grpc.md#who-may-call-what shows the table.
pub const METHODS: &[Method] = &[
    Method::new(
        "/cts.access.v1.AccessService/FollowTokens",
        Rule::Roles(GATEWAY, None),
    ),
    Method::new(
        "/cts.access.v1.AccessService/ListAuditRecords",
        Rule::Roles(CLIENTS, Some(Role::Admin)),
    ),
    Method::new(
        "/cts.access.v1.AccessService/RecordRefusals",
        Rule::Roles(GATEWAY, None),
    ),
    Method::new(
        "/cts.bundle.v1.BundleService/GetBundle",
        Rule::Roles(WORKER, None),
    ),
    Method::new(
        "/cts.cluster.v1.ClusterService/GetCluster",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.cluster.v1.ClusterService/GetConfiguration",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.cluster.v1.ClusterService/GetOverview",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.log.v1.LogService/AppendLog",
        Rule::Roles(WORKER, None),
    ),
    Method::new(
        "/cts.log.v1.LogService/ReadLog",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.run.v1.RunService/AcquireRun",
        Rule::Roles(WORKER, None),
    ),
    Method::new(
        "/cts.run.v1.RunService/AwaitCancel",
        Rule::Roles(WORKER, None),
    ),
    Method::new(
        "/cts.run.v1.RunService/CancelRun",
        Rule::Roles(CLIENTS, Some(Role::Operate)),
    ),
    Method::new(
        "/cts.run.v1.RunService/CompleteRun",
        Rule::Roles(WORKER, None),
    ),
    Method::new(
        "/cts.run.v1.RunService/FollowRuns",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.run.v1.RunService/GetInputContents",
        Rule::Roles(WORKER, None),
    ),
    Method::new(
        "/cts.run.v1.RunService/GetQueue",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.run.v1.RunService/GetRemoteRuns",
        Rule::Roles(WORKER, None),
    ),
    Method::new(
        "/cts.run.v1.RunService/GetRun",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.run.v1.RunService/GetRunInput",
        Rule::Roles(WORKER, None),
    ),
    Method::new(
        "/cts.run.v1.RunService/ListLostLeases",
        Rule::Roles(WORKER, None),
    ),
    Method::new(
        "/cts.run.v1.RunService/ListRuns",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.run.v1.RunService/RecordRemoteRun",
        Rule::Roles(WORKER, None),
    ),
    Method::new(
        "/cts.run.v1.RunService/RecordState",
        Rule::Roles(WORKER, None),
    ),
    Method::new("/cts.run.v1.RunService/RenewRun", Rule::Roles(WORKER, None)),
    Method::new(
        "/cts.run.v1.RunService/ResumeRun",
        Rule::Roles(WORKER, None),
    ),
    Method::new(
        "/cts.run.v1.RunService/SuspendRun",
        Rule::Roles(WORKER, None),
    ),
    Method::new(
        "/cts.task.v1.TaskService/CreateTask",
        Rule::Roles(CLIENTS, Some(Role::Admin)),
    ),
    Method::new(
        "/cts.task.v1.TaskService/DecideTerraformState",
        Rule::Roles(CLIENTS, Some(Role::Admin)),
    ),
    Method::new(
        "/cts.task.v1.TaskService/DeleteTask",
        Rule::Roles(CLIENTS, Some(Role::Admin)),
    ),
    Method::new(
        "/cts.task.v1.TaskService/ExplainTask",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.task.v1.TaskService/GetTask",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.task.v1.TaskService/GetTaskState",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.task.v1.TaskService/GetTaskVersion",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.task.v1.TaskService/GetTerraformState",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.task.v1.TaskService/ListCurrentStates",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.task.v1.TaskService/ListTaskStates",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.task.v1.TaskService/ListTasks",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new(
        "/cts.task.v1.TaskService/PlanTaskDestruction",
        Rule::Roles(CLIENTS, Some(Role::Admin)),
    ),
    Method::new(
        "/cts.task.v1.TaskService/ReleaseTask",
        Rule::Roles(CLIENTS, Some(Role::Operate)),
    ),
    Method::new(
        "/cts.task.v1.TaskService/ReplaceTask",
        Rule::Roles(CLIENTS, Some(Role::Admin)),
    ),
    Method::new(
        "/cts.task.v1.TaskService/UpdateTask",
        Rule::Roles(CLIENTS, Some(Role::Operate)),
    ),
    Method::new(
        "/cts.watch.v1.WatchService/GetConsul",
        Rule::Roles(FOLLOWERS, None),
    ),
    Method::new(
        "/cts.watch.v1.WatchService/KeepTraces",
        Rule::Roles(FOLLOWERS, None),
    ),
    Method::new(
        "/cts.watch.v1.WatchService/Watch",
        Rule::Roles(FOLLOWERS, None),
    ),
    Method::new(
        "/cts.worker.v1.WorkerService/DrainWorker",
        Rule::Roles(CLIENTS, Some(Role::Operate)),
    ),
    Method::new(
        "/cts.worker.v1.WorkerService/Heartbeat",
        Rule::Roles(WORKER, None),
    ),
    Method::new(
        "/cts.worker.v1.WorkerService/ListWorkers",
        Rule::Roles(CLIENTS, Some(Role::Read)),
    ),
    Method::new("/grpc.health.v1.Health/Check", Rule::Open),
    // Each call lasts, and takes memory as long.
    Method::new("/grpc.health.v1.Health/Watch", Rule::Known),
    Method::new(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        Rule::Known,
    ),
];

/// The rule of the method with this path.
pub fn rule_of(path: &str) -> Option<Rule> {
    let found = METHODS.binary_search_by(|method| method.path.cmp(path));
    found.ok().map(|index| METHODS[index].rule)
}

impl Method {
    const fn new(path: &'static str, rule: Rule) -> Self {
        Self { path, rule }
    }
}

impl Rule {
    /// Whether a certificate with these roles may call the method.
    pub fn admits(self, roles: &ServiceRoles) -> bool {
        match self {
            Self::Open | Self::Known => true,
            Self::Roles(services, person) => {
                services.iter().any(|role| roles.contains(*role))
                    || person.is_some_and(|least| roles.person() >= Some(least))
            }
        }
    }

    /// Whether a token with this role may call the method.
    pub fn admits_token(self, role: Role) -> bool {
        match self {
            Self::Open | Self::Known => true,
            Self::Roles(_, person) => person.is_some_and(|least| role >= least),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_found_by_their_paths() {
        assert!(METHODS.is_sorted_by(|one, next| one.path < next.path));
        for method in METHODS {
            assert_eq!(rule_of(method.path), Some(method.rule), "{}", method.path);
        }
        assert_eq!(rule_of("/cts.run.v1.RunService/Acquire"), None);
    }

    #[test]
    fn people_need_the_role_of_the_method_and_never_speak_for_workers() {
        let rule = |path| rule_of(path).unwrap();
        let cancel = rule("/cts.run.v1.RunService/CancelRun");
        assert!(cancel.admits_token(Role::Operate) && cancel.admits_token(Role::Admin));
        assert!(!cancel.admits_token(Role::Read));
        let complete = rule("/cts.run.v1.RunService/CompleteRun");
        assert!(!complete.admits_token(Role::Admin));
        let roles = |name| ServiceRoles::of([name], None);
        assert!(cancel.admits(&roles("operate.cts.example")));
        assert!(!cancel.admits(&roles("read.cts.example")));
        assert!(!complete.admits(&roles("operator.cts.example")));
        assert!(complete.admits(&roles("worker.cts.example")));
    }
}
