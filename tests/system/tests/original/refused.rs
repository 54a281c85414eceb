//! Configurations that end the start: the report of cts, then the log lines of the original with its sentence.

use super::site::{NAME, site};

/// A problem, a configuration with it, and parts of the lines with its sentence, the last line of the log last.
/// `TASK` stands for a task without a mistake.
const CASES: [(&str, &str, &[&str]); 36] = [
    (
        "an unknown key",
        "frob = 1\nport = 1\nTASK",
        &[
            "[ERROR] cli: error building configuration: error=\"'config.hcl' has invalid keys: frob\"",
        ],
    ),
    (
        "a key of an old version",
        "provider \"local\" {}\nTASK",
        &[
            "[ERROR] cli: error building configuration: error=\"'config.hcl' has invalid keys: provider\"",
        ],
    ),
    (
        "a second block",
        "consul {}\nconsul {}\n",
        &[
            "[ERROR] cli: error building configuration: error=\"only one 'consul' block can be configured\"",
        ],
    ),
    (
        "a second block in a block",
        "consul {\n  tls {}\n  tls {}\n}\n",
        &[
            "[ERROR] cli: error building configuration: error=\"only one 'consul.tls' block can be configured\"",
        ],
    ),
    (
        "a block that is not closed",
        "task {\n",
        &[
            "[ERROR] config: failed decoding content from file: file_path=config.hcl",
            "[ERROR] cli: error building configuration: error=",
        ],
    ),
    (
        "a text that is not closed",
        "log_level = \"INFO\n",
        &[
            "[ERROR] config: failed decoding content from file: file_path=config.hcl",
            "[ERROR] cli: error building configuration: error=\"string is not closed (literal not terminated)",
        ],
    ),
    (
        "a log level",
        "log_level = \"loud\"\n",
        &["[ERROR] cli: error setting up logging: error=\"Invalid log level: loud\""],
    ),
    (
        "tls without files",
        "tls { enabled = true }\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"key and cert are required if TLS is enabled on the CTS API\"",
        ],
    ),
    (
        "mutual tls without authorities",
        "tls { verify_incoming = true enabled = false }\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"either ca_cert or ca_path is required if verify_incoming is enabled\"",
        ],
    ),
    (
        "an address of a check without a scheme",
        "consul { service_registration { default_check { address = \"localhost:8558\" } } }\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"default check address must include scheme",
        ],
    ),
    (
        "a template where none may be",
        "consul { address = \"{{ env \\\"X\\\" }}\" }\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"dynamic configuration using template syntax is only supported",
        ],
    ),
    (
        "a secret without vault",
        "terraform_provider \"p\" { token = \"{{ with secret \\\"s\\\" }}{{ .Data.x }}{{ end }}\" }\n",
        &["[ERROR] cli: error validating configuration: error=\"missing Vault configuration\""],
    ),
    (
        "a provider that commits in two tasks",
        "terraform_provider \"p\" { auto_commit = true }\n\
         task {\n name = \"a\"\n module = \"./module\"\n providers = [\"p\"]\n condition \"services\" { names = [\"web\"] }\n}\n\
         task {\n name = \"b\"\n module = \"./module\"\n providers = [\"p\"]\n condition \"services\" { names = [\"web\"] }\n}\n",
        &["[ERROR] cli: error validating configuration: error=\"provider with autocommit"],
    ),
    (
        "a provider twice",
        "terraform_provider \"p\" {}\nterraform_provider \"p\" {}\n",
        &["[ERROR] cli: error validating configuration: error=\"duplicate provider configuration"],
    ),
    (
        "an environment that is no map",
        "terraform_provider \"p\" { task_env = \"x\" }\n",
        &["[ERROR] cli: error validating configuration: error=\"unexpected task_env block format"],
    ),
    (
        "a number in an environment",
        "terraform_provider \"p\" { task_env { RETRIES = 3 } }\n",
        &["[ERROR] cli: error validating configuration: error=\"unexpected task_env block format"],
    ),
    (
        "a backend that tasks cannot use",
        "driver \"terraform\" { backend \"http\" {} }\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"unsupported Terraform backend by Sync: http\"",
        ],
    ),
    (
        "a version that is not exact",
        "driver \"terraform\" { version = \"1.5\" }\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"provide the exact Terraform version",
        ],
    ),
    (
        "a version that is too old",
        "driver \"terraform\" { version = \"0.12.31\" }\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"Terraform version is not supported",
        ],
    ),
    (
        "two tasks of a name",
        "TASKTASK",
        &["[ERROR] cli: error validating configuration: error=\"duplicate task name: web\""],
    ),
    (
        "a task without a name",
        "task {\n module = \"./module\"\n condition \"services\" { names = [\"web\"] }\n}\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"unique name for the task is required",
        ],
    ),
    (
        "a bad name of a task",
        "task {\n name = \"n 7\"\n module = \"./module\"\n condition \"services\" { names = [\"web\"] }\n}\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"invalid task name: a task name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes: ",
        ],
    ),
    (
        "a task without a module",
        "task {\n name = \"web\"\n condition \"services\" { names = [\"web\"] }\n}\n",
        &["[ERROR] cli: error validating configuration: error=\"module for the task is required"],
    ),
    (
        "two instances of a provider",
        "task {\n name = \"web\"\n module = \"./module\"\n providers = [\"p.a\", \"p.b\"]\n condition \"services\" { names = [\"web\"] }\n}\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"only one provider instance per task",
        ],
    ),
    (
        "a condition on the catalog without an expression",
        "task {\n name = \"web\"\n module = \"./module\"\n condition \"catalog-services\" {}\n}\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"catalog-services condition 'regexp' field must be set",
        ],
    ),
    (
        "a condition on keys without a path",
        "task {\n name = \"web\"\n module = \"./module\"\n condition \"consul-kv\" {}\n}\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"path is required for consul-kv condition",
        ],
    ),
    (
        "a schedule without a time",
        "task {\n name = \"web\"\n module = \"./module\"\n condition \"schedule\" {}\n}\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"cron config is required for schedule condition",
        ],
    ),
    (
        "names and an expression",
        "task {\n name = \"web\"\n module = \"./module\"\n condition \"services\" {\n  names = [\"a\"]\n  regexp = \"a\"\n }\n}\n",
        &[
            "[ERROR] cli: error validating configuration: error=",
            "cannot both be configured",
        ],
    ),
    (
        "a negative buffer",
        "task {\n name = \"web\"\n module = \"./module\"\n condition \"services\" { names = [\"a\"] }\n buffer_period { min = \"-1s\" }\n}\n",
        &["[ERROR] cli: error validating configuration: error=\"buffer_period: cannot be negative"],
    ),
    (
        "a condition on services without any",
        "task {\n name = \"web\"\n module = \"./module\"\n condition \"services\" {}\n}\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"either the regexp or names field must be configured",
        ],
    ),
    (
        "an empty name of a service",
        "task {\n name = \"web\"\n module = \"./module\"\n condition \"services\" { names = [\"\"] }\n}\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"names field includes empty string(s). services names cannot be empty",
        ],
    ),
    (
        "an expression over services that does not compile",
        "task {\n name = \"web\"\n module = \"./module\"\n condition \"services\" { regexp = \"(\" }\n}\n",
        &["[ERROR] cli: error validating configuration: error=\"unable to compile services regexp"],
    ),
    (
        "an expression over the catalog that does not compile",
        "task {\n name = \"web\"\n module = \"./module\"\n condition \"catalog-services\" { regexp = \"(\" }\n}\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"unable to compile catalog-services 'regexp'",
        ],
    ),
    (
        "a time that is no cron expression",
        "task {\n name = \"web\"\n module = \"./module\"\n condition \"schedule\" { cron = \"soon\" }\n}\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"unable to parse schedule condition's cron config \\\"soon\\\"",
        ],
    ),
    (
        "the same input twice",
        "task {\n name = \"web\"\n module = \"./module\"\n condition \"services\" { names = [\"web\"] }\n module_input \"services\" { names = [\"api\"] }\n}\n",
        &[
            "[ERROR] cli: error validating configuration: error=",
            "both monitor \\\"services\\\" variable type. condition and module_input variable type must be unique",
        ],
    ),
    (
        "a version of a task",
        "task {\n name = \"web\"\n module = \"./module\"\n terraform_version = \"1.5.0\"\n condition \"services\" { names = [\"web\"] }\n}\n",
        &[
            "[ERROR] cli: error validating configuration: error=\"unsupported configuration 'terraform_version' for task \\\"web\\\"",
        ],
    ),
];

const TASK: &str = "task {\n name = \"web\"\n module = \"./module\"\n condition \"services\" { names = [\"web\"] }\n}\n";

#[tokio::test]
async fn a_configuration_that_cannot_be_used_has_the_sentence_of_the_original() {
    let mut missing = Vec::new();
    for (problem, configuration, expected) in CASES {
        for mode in [&[][..], &["-once"], &["-inspect"]] {
            let site = site(&configuration.replace("TASK", TASK));
            let exit = super::site::start(&site, mode).await;
            let [before @ .., sentence] = expected else {
                continue;
            };
            let last = exit.output.lines().last().unwrap_or_default();
            let said = before.iter().all(|line| exit.output.contains(line));
            if exit.code != Some(15)
                || !said
                || !last.contains(sentence)
                || !last.contains("[ERROR]")
            {
                missing.push(format!("{problem} {mode:?}: {sentence}\n{}", exit.output));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n\n"));
}

#[tokio::test]
async fn files_that_are_not_configurations() {
    let rows: [(&str, &str); 4] = [
        (
            "gone.hcl",
            "config: missing file/folder: file_path=gone.hcl",
        ),
        (
            "gone.hcl",
            "[ERROR] cli: error building configuration: error=",
        ),
        ("notes.yaml", "invalid file format"),
        ("notes.yaml", "no configuration files found"),
    ];
    for (name, fragment) in rows {
        let site = site("");
        site.write("notes.yaml", "a: b\n");
        let file = format!("-config-file={name}");
        let exit = site.run(NAME, &["start", &file], "start.log").wait().await;
        exit.assert_code(15).says([fragment]);
    }
}

#[tokio::test]
async fn a_task_without_a_condition_is_pointed_out() {
    let task = "task {\n name = \"web\"\n module = \"./module\"\n}\nfrob = 1\n";
    let words = ["config", "validate", "-config-file=config.hcl"];
    let exit = site(task).run("cts", &words, "start.log").wait().await;
    exit.says(["task should be configured with a condition block"]);
}
