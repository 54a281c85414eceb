// This file is @generated from the options of the methods.
/// Least role for `/cts.access.v1.AccessService/ListAuditRecords`.
pub const LIST_AUDIT_RECORDS: Role = Role::Admin;
/// Least role for `/cts.cluster.v1.ClusterService/GetBrake`.
pub const GET_BRAKE: Role = Role::Read;
/// Least role for `/cts.cluster.v1.ClusterService/GetCluster`.
pub const GET_CLUSTER: Role = Role::Read;
/// Least role for `/cts.cluster.v1.ClusterService/GetConfiguration`.
pub const GET_CONFIGURATION: Role = Role::Read;
/// Least role for `/cts.cluster.v1.ClusterService/GetLimitedOverview`.
pub const GET_LIMITED_OVERVIEW: Role = Role::Read;
/// Least role for `/cts.cluster.v1.ClusterService/GetOverview`.
pub const GET_OVERVIEW: Role = Role::Read;
/// Least role for `/cts.cluster.v1.ClusterService/GetTimes`.
pub const GET_TIMES: Role = Role::Read;
/// Least role for `/cts.cluster.v1.ClusterService/ReleaseBrake`.
pub const RELEASE_BRAKE: Role = Role::Operate;
/// Least role for `/cts.cluster.v1.FollowService/Follow`.
pub const FOLLOW: Role = Role::Read;
/// Least role for `/cts.log.v1.LogService/ReadLog`.
pub const READ_LOG: Role = Role::Read;
/// Least role for `/cts.log.v1.LogService/ReadLogWindow`.
pub const READ_LOG_WINDOW: Role = Role::Read;
/// Least role for `/cts.log.v1.LogService/SearchLog`.
pub const SEARCH_LOG: Role = Role::Read;
/// Least role for `/cts.run.v1.ApprovalService/ApproveSet`.
pub const APPROVE_SET: Role = Role::Approve;
/// Least role for `/cts.run.v1.ApprovalService/DecideApproval`.
pub const DECIDE_APPROVAL: Role = Role::Approve;
/// Least role for `/cts.run.v1.ApprovalService/GetApproval`.
pub const GET_APPROVAL: Role = Role::Read;
/// Least role for `/cts.run.v1.ApprovalService/ListApprovals`.
pub const LIST_APPROVALS: Role = Role::Read;
/// Least role for `/cts.run.v1.ApprovalService/ReopenApproval`.
pub const REOPEN_APPROVAL: Role = Role::Approve;
/// Least role for `/cts.run.v1.PlanService/GetInput`.
pub const GET_INPUT: Role = Role::Read;
/// Least role for `/cts.run.v1.PlanService/GetPlan`.
pub const GET_PLAN: Role = Role::Read;
/// Least role for `/cts.run.v1.RunService/CancelRun`.
pub const CANCEL_RUN: Role = Role::Operate;
/// Least role for `/cts.run.v1.RunService/FollowRuns`.
pub const FOLLOW_RUNS: Role = Role::Read;
/// Least role for `/cts.run.v1.RunService/GetQueue`.
pub const GET_QUEUE: Role = Role::Read;
/// Least role for `/cts.run.v1.RunService/GetRun`.
pub const GET_RUN: Role = Role::Read;
/// Least role for `/cts.run.v1.RunService/ListCauses`.
pub const LIST_CAUSES: Role = Role::Read;
/// Least role for `/cts.run.v1.RunService/ListRuns`.
pub const LIST_RUNS: Role = Role::Read;
/// Least role for `/cts.task.v1.TaskService/CreateTask`.
pub const CREATE_TASK: Role = Role::Admin;
/// Least role for `/cts.task.v1.TaskService/DecideTerraformState`.
pub const DECIDE_TERRAFORM_STATE: Role = Role::Admin;
/// Least role for `/cts.task.v1.TaskService/DeleteTask`.
pub const DELETE_TASK: Role = Role::Admin;
/// Least role for `/cts.task.v1.TaskService/ExplainTask`.
pub const EXPLAIN_TASK: Role = Role::Read;
/// Least role for `/cts.task.v1.TaskService/GetTask`.
pub const GET_TASK: Role = Role::Read;
/// Least role for `/cts.task.v1.TaskService/GetTaskGrid`.
pub const GET_TASK_GRID: Role = Role::Read;
/// Least role for `/cts.task.v1.TaskService/GetTaskState`.
pub const GET_TASK_STATE: Role = Role::Read;
/// Least role for `/cts.task.v1.TaskService/GetTaskVersion`.
pub const GET_TASK_VERSION: Role = Role::Read;
/// Least role for `/cts.task.v1.TaskService/GetTerraformState`.
pub const GET_TERRAFORM_STATE: Role = Role::Read;
/// Least role for `/cts.task.v1.TaskService/ListCurrentStates`.
pub const LIST_CURRENT_STATES: Role = Role::Read;
/// Least role for `/cts.task.v1.TaskService/ListTaskPage`.
pub const LIST_TASK_PAGE: Role = Role::Read;
/// Least role for `/cts.task.v1.TaskService/ListTaskStates`.
pub const LIST_TASK_STATES: Role = Role::Read;
/// Least role for `/cts.task.v1.TaskService/ListTasks`.
pub const LIST_TASKS: Role = Role::Read;
/// Least role for `/cts.task.v1.TaskService/PlanTaskDestruction`.
pub const PLAN_TASK_DESTRUCTION: Role = Role::Admin;
/// Least role for `/cts.task.v1.TaskService/ReleaseTask`.
pub const RELEASE_TASK: Role = Role::Operate;
/// Least role for `/cts.task.v1.TaskService/ReplaceTask`.
pub const REPLACE_TASK: Role = Role::Admin;
/// Least role for `/cts.task.v1.TaskService/UpdateTask`.
pub const UPDATE_TASK: Role = Role::Operate;
/// Least role for `/cts.worker.v1.WorkerService/DrainWorker`.
pub const DRAIN_WORKER: Role = Role::Operate;
/// Least role for `/cts.worker.v1.WorkerService/ListWorkers`.
pub const LIST_WORKERS: Role = Role::Read;
/// All calls, in the order of their paths.
pub const CALLS: &[Call] = &[
    Call { path: "/cts.access.v1.AccessService/FollowTokens", callers: Callers::Gateway },
    Call { path: "/cts.access.v1.AccessService/ListAuditRecords", callers: Callers::People(LIST_AUDIT_RECORDS) },
    Call { path: "/cts.access.v1.AccessService/RecordRefusals", callers: Callers::Gateway },
    Call { path: "/cts.access.v1.SessionService/BeginSession", callers: Callers::Gateway },
    Call { path: "/cts.access.v1.SessionService/EndSession", callers: Callers::Gateway },
    Call { path: "/cts.access.v1.SessionService/FollowSessions", callers: Callers::Gateway },
    Call { path: "/cts.bundle.v1.BundleService/GetBundle", callers: Callers::Worker },
    Call { path: "/cts.cluster.v1.ClusterService/GetBrake", callers: Callers::People(GET_BRAKE) },
    Call { path: "/cts.cluster.v1.ClusterService/GetCluster", callers: Callers::People(GET_CLUSTER) },
    Call { path: "/cts.cluster.v1.ClusterService/GetConfiguration", callers: Callers::People(GET_CONFIGURATION) },
    Call { path: "/cts.cluster.v1.ClusterService/GetLimitedOverview", callers: Callers::People(GET_LIMITED_OVERVIEW) },
    Call { path: "/cts.cluster.v1.ClusterService/GetOverview", callers: Callers::People(GET_OVERVIEW) },
    Call { path: "/cts.cluster.v1.ClusterService/GetTimes", callers: Callers::People(GET_TIMES) },
    Call { path: "/cts.cluster.v1.ClusterService/ReleaseBrake", callers: Callers::People(RELEASE_BRAKE) },
    Call { path: "/cts.cluster.v1.FollowService/Follow", callers: Callers::People(FOLLOW) },
    Call { path: "/cts.log.v1.LogService/AppendLog", callers: Callers::Worker },
    Call { path: "/cts.log.v1.LogService/ReadLog", callers: Callers::People(READ_LOG) },
    Call { path: "/cts.log.v1.LogService/ReadLogWindow", callers: Callers::People(READ_LOG_WINDOW) },
    Call { path: "/cts.log.v1.LogService/SearchLog", callers: Callers::People(SEARCH_LOG) },
    Call { path: "/cts.run.v1.ApprovalService/ApproveSet", callers: Callers::People(APPROVE_SET) },
    Call { path: "/cts.run.v1.ApprovalService/DecideApproval", callers: Callers::People(DECIDE_APPROVAL) },
    Call { path: "/cts.run.v1.ApprovalService/GetApproval", callers: Callers::People(GET_APPROVAL) },
    Call { path: "/cts.run.v1.ApprovalService/ListApprovals", callers: Callers::People(LIST_APPROVALS) },
    Call { path: "/cts.run.v1.ApprovalService/PermitApply", callers: Callers::Worker },
    Call { path: "/cts.run.v1.ApprovalService/ReopenApproval", callers: Callers::People(REOPEN_APPROVAL) },
    Call { path: "/cts.run.v1.PlanService/GetInput", callers: Callers::People(GET_INPUT) },
    Call { path: "/cts.run.v1.PlanService/GetPlan", callers: Callers::People(GET_PLAN) },
    Call { path: "/cts.run.v1.PlanService/RecordPlan", callers: Callers::Worker },
    Call { path: "/cts.run.v1.RunService/AcquireRun", callers: Callers::Worker },
    Call { path: "/cts.run.v1.RunService/AwaitCancel", callers: Callers::Worker },
    Call { path: "/cts.run.v1.RunService/CancelRun", callers: Callers::People(CANCEL_RUN) },
    Call { path: "/cts.run.v1.RunService/CompleteRun", callers: Callers::Worker },
    Call { path: "/cts.run.v1.RunService/FollowRuns", callers: Callers::People(FOLLOW_RUNS) },
    Call { path: "/cts.run.v1.RunService/GetInputContents", callers: Callers::Worker },
    Call { path: "/cts.run.v1.RunService/GetQueue", callers: Callers::People(GET_QUEUE) },
    Call { path: "/cts.run.v1.RunService/GetRemoteRuns", callers: Callers::Worker },
    Call { path: "/cts.run.v1.RunService/GetRun", callers: Callers::People(GET_RUN) },
    Call { path: "/cts.run.v1.RunService/GetRunInput", callers: Callers::Worker },
    Call { path: "/cts.run.v1.RunService/ListCauses", callers: Callers::People(LIST_CAUSES) },
    Call { path: "/cts.run.v1.RunService/ListLostLeases", callers: Callers::Worker },
    Call { path: "/cts.run.v1.RunService/ListRuns", callers: Callers::People(LIST_RUNS) },
    Call { path: "/cts.run.v1.RunService/RecordRemoteRun", callers: Callers::Worker },
    Call { path: "/cts.run.v1.RunService/RecordState", callers: Callers::Worker },
    Call { path: "/cts.run.v1.RunService/RenewRun", callers: Callers::Worker },
    Call { path: "/cts.run.v1.RunService/ResumeRun", callers: Callers::Worker },
    Call { path: "/cts.run.v1.RunService/SuspendRun", callers: Callers::Worker },
    Call { path: "/cts.task.v1.TaskService/CreateTask", callers: Callers::People(CREATE_TASK) },
    Call { path: "/cts.task.v1.TaskService/DecideTerraformState", callers: Callers::People(DECIDE_TERRAFORM_STATE) },
    Call { path: "/cts.task.v1.TaskService/DeleteTask", callers: Callers::People(DELETE_TASK) },
    Call { path: "/cts.task.v1.TaskService/ExplainTask", callers: Callers::People(EXPLAIN_TASK) },
    Call { path: "/cts.task.v1.TaskService/GetTask", callers: Callers::People(GET_TASK) },
    Call { path: "/cts.task.v1.TaskService/GetTaskGrid", callers: Callers::People(GET_TASK_GRID) },
    Call { path: "/cts.task.v1.TaskService/GetTaskState", callers: Callers::People(GET_TASK_STATE) },
    Call { path: "/cts.task.v1.TaskService/GetTaskVersion", callers: Callers::People(GET_TASK_VERSION) },
    Call { path: "/cts.task.v1.TaskService/GetTerraformState", callers: Callers::People(GET_TERRAFORM_STATE) },
    Call { path: "/cts.task.v1.TaskService/ListCurrentStates", callers: Callers::People(LIST_CURRENT_STATES) },
    Call { path: "/cts.task.v1.TaskService/ListTaskPage", callers: Callers::People(LIST_TASK_PAGE) },
    Call { path: "/cts.task.v1.TaskService/ListTaskStates", callers: Callers::People(LIST_TASK_STATES) },
    Call { path: "/cts.task.v1.TaskService/ListTasks", callers: Callers::People(LIST_TASKS) },
    Call { path: "/cts.task.v1.TaskService/PlanTaskDestruction", callers: Callers::People(PLAN_TASK_DESTRUCTION) },
    Call { path: "/cts.task.v1.TaskService/ReleaseTask", callers: Callers::People(RELEASE_TASK) },
    Call { path: "/cts.task.v1.TaskService/ReplaceTask", callers: Callers::People(REPLACE_TASK) },
    Call { path: "/cts.task.v1.TaskService/UpdateTask", callers: Callers::People(UPDATE_TASK) },
    Call { path: "/cts.watch.v1.WatchService/GetConsul", callers: Callers::Scheduler },
    Call { path: "/cts.watch.v1.WatchService/KeepTraces", callers: Callers::Scheduler },
    Call { path: "/cts.watch.v1.WatchService/Watch", callers: Callers::Scheduler },
    Call { path: "/cts.worker.v1.WorkerService/DrainWorker", callers: Callers::People(DRAIN_WORKER) },
    Call { path: "/cts.worker.v1.WorkerService/Heartbeat", callers: Callers::Worker },
    Call { path: "/cts.worker.v1.WorkerService/ListWorkers", callers: Callers::People(LIST_WORKERS) },
];
