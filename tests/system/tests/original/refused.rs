//! Configurations that end the start: the report of cts, then the log lines of the original with its sentence.

use super::site::{NAME, site};

/// A problem, a configuration with it, and parts of the lines with its sentence, the last line of the log last. `TASK` is a
/// task without a mistake, `\n` the end of a line.
const CASES: &str = r#"
an unknown key | frob = 1\nport = 1\nTASK | BUILDING "'config.hcl' has invalid keys: frob"
a key of an old version | provider "local" {}\nTASK | BUILDING "'config.hcl' has invalid keys: provider"
a second block | consul {}\nconsul {}\n | BUILDING "only one 'consul' block can be configured"
a second block in a block | consul {\n  tls {}\n  tls {}\n}\n | BUILDING "only one 'consul.tls' block can be configured"
a block that is not closed | task {\n | [ERROR] config: failed decoding content from file: file_path=config.hcl | BUILDING
a text that is not closed | log_level = "INFO\n | [ERROR] config: failed decoding content from file: file_path=config.hcl | BUILDING "string is not closed (literal not terminated)
a log level | log_level = "loud"\n | [ERROR] cli: error setting up logging: error="Invalid log level: loud"
tls without files | tls { enabled = true }\n | VALIDATING "key and cert are required if TLS is enabled on the CTS API"
mutual tls without authorities | tls { verify_incoming = true enabled = false }\n | VALIDATING "either ca_cert or ca_path is required if verify_incoming is enabled"
an address of a check without a scheme | consul { service_registration { default_check { address = "localhost:8558" } } }\n | VALIDATING "default check address must include scheme
a template where none may be | consul { address = "{{ env \"X\" }}" }\n | VALIDATING "dynamic configuration using template syntax is only supported
a secret without vault | terraform_provider "p" { token = "{{ with secret \"s\" }}{{ .Data.x }}{{ end }}" }\n | VALIDATING "missing Vault configuration"
a provider that commits in two tasks | terraform_provider "p" { auto_commit = true }\ntask {\n name = "a"\n module = "./module"\n providers = ["p"]\n condition "services" { names = ["web"] }\n}\ntask {\n name = "b"\n module = "./module"\n providers = ["p"]\n condition "services" { names = ["web"] }\n}\n | VALIDATING "provider with autocommit
a provider twice | terraform_provider "p" {}\nterraform_provider "p" {}\n | VALIDATING "duplicate provider configuration
an environment that is no map | terraform_provider "p" { task_env = "x" }\n | VALIDATING "unexpected task_env block format
a number in an environment | terraform_provider "p" { task_env { RETRIES = 3 } }\n | VALIDATING "unexpected task_env block format
a backend that tasks cannot use | driver "terraform" { backend "http" {} }\n | VALIDATING "unsupported Terraform backend by Sync: http"
a version that is not exact | driver "terraform" { version = "1.5" }\n | VALIDATING "provide the exact Terraform version
a version that is too old | driver "terraform" { version = "0.12.31" }\n | VALIDATING "Terraform version is not supported
two tasks of a name | TASKTASK | VALIDATING "duplicate task name: web"
a task without a name | task {\n module = "./module"\n condition "services" { names = ["web"] }\n}\n | VALIDATING "unique name for the task is required
a bad name of a task | task {\n name = "n 7"\n module = "./module"\n condition "services" { names = ["web"] }\n}\n | VALIDATING "invalid task name: a task name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes: 
a task without a module | task {\n name = "web"\n condition "services" { names = ["web"] }\n}\n | VALIDATING "module for the task is required
two instances of a provider | task {\n name = "web"\n module = "./module"\n providers = ["p.a", "p.b"]\n condition "services" { names = ["web"] }\n}\n | VALIDATING "only one provider instance per task
a condition on the catalog without an expression | task {\n name = "web"\n module = "./module"\n condition "catalog-services" {}\n}\n | VALIDATING "catalog-services condition 'regexp' field must be set
a condition on keys without a path | task {\n name = "web"\n module = "./module"\n condition "consul-kv" {}\n}\n | VALIDATING "path is required for consul-kv condition
a schedule without a time | task {\n name = "web"\n module = "./module"\n condition "schedule" {}\n}\n | VALIDATING "cron config is required for schedule condition
names and an expression | task {\n name = "web"\n module = "./module"\n condition "services" {\n  names = ["a"]\n  regexp = "a"\n }\n}\n | VALIDATING | cannot both be configured
a negative buffer | task {\n name = "web"\n module = "./module"\n condition "services" { names = ["a"] }\n buffer_period { min = "-1s" }\n}\n | VALIDATING "buffer_period: cannot be negative
a condition on services without any | task {\n name = "web"\n module = "./module"\n condition "services" {}\n}\n | VALIDATING "either the regexp or names field must be configured
an empty name of a service | task {\n name = "web"\n module = "./module"\n condition "services" { names = [""] }\n}\n | VALIDATING "names field includes empty string(s). services names cannot be empty
an expression over services that does not compile | task {\n name = "web"\n module = "./module"\n condition "services" { regexp = "(" }\n}\n | VALIDATING "unable to compile services regexp
an expression over the catalog that does not compile | task {\n name = "web"\n module = "./module"\n condition "catalog-services" { regexp = "(" }\n}\n | VALIDATING "unable to compile catalog-services 'regexp'
a time that is no cron expression | task {\n name = "web"\n module = "./module"\n condition "schedule" { cron = "soon" }\n}\n | VALIDATING "unable to parse schedule condition's cron config \"soon\"
the same input twice | task {\n name = "web"\n module = "./module"\n condition "services" { names = ["web"] }\n module_input "services" { names = ["api"] }\n}\n | VALIDATING | both monitor \"services\" variable type. condition and module_input variable type must be unique
a version of a task | task {\n name = "web"\n module = "./module"\n terraform_version = "1.5.0"\n condition "services" { names = ["web"] }\n}\n | VALIDATING "unsupported configuration 'terraform_version' for task \"web\"
"#;

/// The begins of lines in the cases.
const BEGINS: [(&str, &str); 2] = [
    (
        "BUILDING",
        "[ERROR] cli: error building configuration: error=",
    ),
    (
        "VALIDATING",
        "[ERROR] cli: error validating configuration: error=",
    ),
];

/// The text of a column, of which a begin is followed by a blank.
fn written(column: &str) -> String {
    let mut text = column.to_owned();
    for (word, begin) in BEGINS {
        text = text
            .replace(&format!("{word} "), begin)
            .replace(word, begin);
    }
    text
}

const TASK: &str = "task {\n name = \"web\"\n module = \"./module\"\n condition \"services\" { names = [\"web\"] }\n}\n";

#[tokio::test]
async fn a_configuration_that_cannot_be_used_has_the_sentence_of_the_original() {
    let mut missing = Vec::new();
    for case in CASES.trim().lines() {
        let columns: Vec<&str> = case.split(" | ").collect();
        let [problem, configuration, before @ .., sentence] = &columns[..] else {
            panic!("{case}");
        };
        let configuration = configuration.replace("\\n", "\n").replace("TASK", TASK);
        let sentence = &written(sentence);
        for mode in [&[][..], &["-once"], &["-inspect"]] {
            let site = site(&configuration);
            let exit = super::site::start(&site, mode).await;
            let last = exit.output.lines().last().unwrap_or_default();
            let said = before
                .iter()
                .all(|line| exit.output.contains(&written(line)));
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
