//! How each row of docs/compatibility.md that names a code or a message is tried.

use crate::cli::calls::{ORIGINAL, OURS};

/// How a row is tried.
#[derive(Debug)]
pub(crate) enum Check {
    /// A test with this name in this file of the repository.
    Test(&'static str, &'static str),
    /// A command line in a directory with the [files](super::files): the name of the program, its words, its exit code, and parts of
    /// its output.
    Call(&'static str, &'static str, i32, &'static [&'static str]),
    /// A request to a daemon: method and target, body, status, and parts of the answer.
    Request(&'static str, &'static str, u16, &'static [&'static str]),
    /// Its numbers are no results.
    Counts,
}

use Check::{Call, Counts, Request, Test};

/// Begins of rows with their checks.
pub(crate) const CHECKS: &[(&str, &[Check])] = &[
    // Watching and running
    (
        "an answer with index 0, `null` or status 404",
        &[Test(
            "crates/consul/tests/it/answers.rs",
            "answers_of_a_proxy_instead_of_consul_are_no_data",
        )],
    ),
    ("one connection per view", &[Counts]),
    ("five events in memory", &[Counts]),
    // Configuration
    (
        "a TLS file of Vault that is missing",
        &[Test(DAEMON, "a_daemon_answers_and_logs_as_the_rows_say")],
    ),
    (
        "a `port` below 0",
        &[Call(ORIGINAL, "start -config-file port.hcl", 15, &[])],
    ),
    (
        "one task may name `panos.x`",
        &[Call(
            OURS,
            "config validate -config-file commits.hcl",
            15,
            &[],
        )],
    ),
    (
        "names of tasks may have letters",
        &[Request(
            "POST /v1/tasks?run=now",
            r#"{"task":{"name":"ünï","module":"./modules/pool","condition":{"services":{"names":["web"]}}}}"#,
            201,
            &[],
        )],
    ),
    // Command line
    (
        "option errors on standard output",
        &[
            Call(ORIGINAL, "start -nonsense", 14, &[]),
            Test(
                "tests/system/tests/cli/table.rs",
                "every_row_has_its_exit_code_and_streams",
            ),
        ],
    ),
    (
        "options must stand before arguments",
        &[
            Call(ORIGINAL, "task delete web -auto-approve", 13, &[]),
            Test(
                "tests/system/tests/cli/task/arguments.rs",
                "cts_accepts_an_option_after_the_name",
            ),
        ],
    ),
    (
        "unknown command: usage, 127",
        &[
            Call(ORIGINAL, "nonsense", 127, &[]),
            Call(OURS, "nonsense", 127, &[]),
        ],
    ),
    // Once and inspect
    (
        "one task after another, and the first that fails",
        &[Test(PASSES, "a_failing_task_is_told_and_the_others_go_on")],
    ),
    (
        "a signal kills Terraform, waits 10 s",
        &[Test(
            PASSES,
            "a_signal_ends_a_pass_gently_and_tells_what_is_not_done",
        )],
    ),
    (
        "the plan is a log line at `INFO`",
        &[Test(
            PASSES,
            "inspect_shows_plans_and_leaves_everything_as_it_is",
        )],
    ),
    (
        "may run beside a daemon in the same directory",
        &[Test(
            REFUSAL,
            "a_second_process_in_the_same_directory_is_refused",
        )],
    ),
    // Task commands
    (
        "a declined prompt: exit code 0",
        &[Test("tests/system/tests/cli/task/create.rs", "declined")],
    ),
    (
        "`yes` without an end of line",
        &[Test(
            "tests/system/tests/cli/task/delete.rs",
            "yes_without_an_end_of_line_is_no_answer",
        )],
    ),
    (
        "interrupting `task create` or `task enable`",
        &[Test(
            "tests/system/tests/cli/task/enable.rs",
            "interrupted_while_the_server_works",
        )],
    ),
    (
        "task without `name`",
        &[
            Call(OURS, "task create -task-file=nameless.hcl", 11, &[]),
            Call(OURS, "task create -task-file=pathless.hcl", 11, &[]),
            Call(OURS, "task create -task-file=expressionless.hcl", 11, &[]),
            Call(OURS, "task create -task-file=timeless.hcl", 11, &[]),
        ],
    ),
    (
        "redirections (301, 302, 303)",
        &[
            Test(
                API_CLIENT,
                "a_redirection_that_changes_the_request_is_not_followed",
            ),
            Test(
                API_CLIENT,
                "a_redirection_that_keeps_the_request_is_followed",
            ),
        ],
    ),
    (
        "success without `plan`, `task` or `inspect`",
        &[
            Test(
                "tests/system/tests/cli/task/create.rs",
                "an_answer_without_plan_is_an_error",
            ),
            Test(
                "tests/system/tests/cli/task/enable.rs",
                "an_answer_without_plan_is_an_error",
            ),
        ],
    ),
    (
        "names `.`, `..` and the empty one",
        &[
            Call(OURS, "task delete -auto-approve .", 11, &[]),
            Call(OURS, "task delete -auto-approve ..", 11, &[]),
        ],
    ),
    (
        "texts: the original's",
        &[
            Call(
                ORIGINAL,
                "task create",
                13,
                &[
                    "no task file provided",
                    "Error: unable to ",
                    "For additional help try ",
                ],
            ),
            Test(
                "tests/system/tests/cli/task/fragments.rs",
                "each_fragment_is_on_its_stream",
            ),
        ],
    ),
    (
        "a task file with a bad name",
        &[Call(
            ORIGINAL,
            "task create -task-file=moduleless.hcl",
            11,
            &[
                "unable to create request",
                "module for the task is required",
            ],
        )],
    ),
    (
        "faults of TLS: Go's words",
        &[Test(
            TLS_WORDS,
            "the_command_line_against_an_api_with_mutual_tls",
        )],
    ),
    (
        "without a client certificate",
        &[Test(
            TLS_WORDS,
            "the_command_line_against_an_api_with_mutual_tls",
        )],
    ),
    (
        "`task delete` ends before the task is gone",
        &[Call(ORIGINAL, "task delete --wait web", 14, &[])],
    ),
    // Process
    (
        "bad CA file at the start",
        &[Test(
            "tests/system/tests/system/outside.rs",
            "unusable_tls_file_or_syslog_ends_the_start",
        )],
    ),
    (
        "signals while waiting for Consul",
        &[Test(
            "tests/system/tests/system/termination.rs",
            "a_process_that_waits_for_an_answer_of_consul_ends_at_once",
        )],
    ),
    ("busy port", &[Test(REFUSAL, "a_port_in_use_is_named")]),
    (
        "errors during the stop",
        &[Test(DAEMON, "a_daemon_answers_and_logs_as_the_rows_say")],
    ),
    (
        "order of the log",
        &[Call(
            ORIGINAL,
            "start -once -config-file schedule.hcl",
            15,
            &["[WARN]  config.task: disabling buffer_period for schedule condition"],
        )],
    ),
    (
        "`Terraform output is muted`",
        &[Test(DAEMON, "a_daemon_answers_and_logs_as_the_rows_say")],
    ),
    (
        "`error building configuration`",
        &[Call(
            ORIGINAL,
            "start -config-file unknown.hcl",
            15,
            &["[ERROR] cli: error building configuration: "],
        )],
    ),
    // API
    (
        "error texts",
        &[
            Request(
                "POST /v1/tasks",
                "{",
                400,
                &["failed to decode request body"],
            ),
            Test(
                "tests/system/tests/api/contract/texts.rs",
                "error_texts_have_the_sentences_that_programs_match",
            ),
        ],
    ),
    (
        "the error of an event after retries",
        &[Test(
            "tests/system/tests/single/log_lines.rs",
            "a_start_a_change_a_failure_and_an_end_have_the_lines_of_the_original",
        )],
    ),
    (
        "failures of `POST` are 500",
        &[
            Request("POST /v1/tasks", UNUSABLE, 500, &[]),
            Request("POST /v1/tasks?run=inspect", UNUSABLE, 400, &[]),
            Test(
                "tests/system/tests/api/changes/delete.rs",
                "a_running_task_finishes_its_run_and_begins_no_other",
            ),
            Test(
                "tests/system/tests/api/changes/replace.rs",
                "every_request_gets_the_documented_answer",
            ),
        ],
    ),
    (
        "plain HTTP on the port of TLS",
        &[Test(
            "services/gateway/tests/it/clients/tls.rs",
            "plain_http_requests_are_answered_with_an_explanation",
        )],
    ),
    (
        "enabling renders in a loop without end",
        &[Test(
            "services/scheduler/tests/it/creations.rs",
            "data_that_stays_incomplete_is_waited_for_and_then_refused",
        )],
    ),
    (
        "`/` is 404",
        &[
            Request("GET /", "", 404, &["404 page not found"]),
            Test(
                "services/gateway/tests/it/clients/page/screens.rs",
                "browsers_are_led_to_the_page_from_the_root_and_others_get_the_original_answer",
            ),
        ],
    ),
    (
        "`GET /v1/health`: 200",
        &[
            Request("GET /v1/health", "", 200, &[]),
            Test(
                "services/gateway/tests/it/health.rs",
                "unhealthy_while_none_does",
            ),
        ],
    ),
    (
        "creating can answer 201 with an empty task",
        &[Request(
            "POST /v1/tasks",
            r#"{"task":{"name":"made","module":"./modules/pool","condition":{"services":{"names":["web"]}}}}"#,
            201,
            &[r#""name":"made""#],
        )],
    ),
    (
        "the list of statuses can be 404",
        &[Test(
            "services/gateway/tests/it/failures.rs",
            "lists_are_never_not_found",
        )],
    ),
    (
        "connections, followers and waiting requests",
        &[
            Test(
                "services/gateway/tests/it/clients/crowds.rs",
                "one_client_takes_its_own_places_only",
            ),
            Test(
                "services/gateway/tests/it/clients/crowds.rs",
                "requests_that_wait_for_runs_have_places",
            ),
        ],
    ),
    (
        "with `-once` and `-inspect` the last",
        &[Test(PASSES, "a_failing_task_is_told_and_the_others_go_on")],
    ),
    (
        "`error applying task` has",
        &[Test(PASSES, "a_failing_task_is_told_and_the_others_go_on")],
    ),
    (
        "a request that cannot be read as HTTP",
        &[Test(
            "services/gateway/tests/it/clients/hostile.rs",
            "a_request_that_is_no_http_is_refused_without_a_body",
        )],
    ),
    (
        "a page of any site may create",
        &[Test(
            "services/gateway/tests/it/clients/browsers.rs",
            "a_page_of_another_site_changes_nothing",
        )],
    ),
    (
        "every client that can connect",
        &[Test(
            "services/gateway/tests/it/authorization.rs",
            "every_operation_needs_its_role",
        )],
    ),
    (
        "request bodies have no limit",
        &[Test(
            "services/gateway/tests/it/clients/hostile.rs",
            "a_body_of_unknown_size_is_read_to_the_limit",
        )],
    ),
    (
        "the head of a request may have",
        &[Test(
            "services/gateway/src/transport/connection.rs",
            "a_head_has_less_than_64_kib",
        )],
    ),
    (
        "any `filter` is sent to Consul",
        &[
            Test(
                "tests/system/tests/api/changes/create_failures.rs",
                "a_filter_that_would_keep_consul_busy_is_refused_with_its_position",
            ),
            Test(
                "crates/config/src/tests/conditions.rs",
                "a_filter_that_is_not_sent_is_a_warning_at_its_place",
            ),
        ],
    ),
    // High availability
    (
        "a follower answers 400",
        &[Test(
            "services/gateway/tests/it/clients/strict_follower.rs",
            "a_follower_names_the_leader_and_its_address_as_configured",
        )],
    ),
    (
        "two members with one `id`",
        &[Test(
            "services/scheduler/tests/it/cluster/membership.rs",
            "a_process_whose_id_is_in_use_ends_and_the_other_goes_on",
        )],
    ),
    (
        "without a reachable storage",
        &[Test(
            REFUSAL,
            "members_of_a_cluster_without_a_database_are_refused",
        )],
    ),
];

const API_CLIENT: &str = "crates/api-client/tests/it/requests.rs";
const DAEMON: &str = "tests/system/tests/cli/compatibility.rs";
const PASSES: &str = "tests/system/tests/single/passes.rs";
const REFUSAL: &str = "tests/system/tests/single/refusal.rs";
const TLS_WORDS: &str = "tests/system/tests/original/tls/command_line.rs";

/// A task that cannot be made.
const UNUSABLE: &str = r#"{"task":{"name":"gone","module":"./modules/gone","condition":{"services":{"names":["web"]}}}}"#;
