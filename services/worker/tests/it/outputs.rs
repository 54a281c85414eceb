//! Outputs of the module that a run reports.

use cts_core::EngineKind;
use cts_proto::run::v1::complete_run_request::Outcome;
use cts_proto::run::v1::run_output::Value;
use cts_proto::run::v1::{RunKind, RunOutput};
use cts_testkit::tofu_path;

use crate::stage::{SECRET, Stage};

/// A module with an output that has a secret of the run, and an output that the module hides.
fn module() -> String {
    format!(
        r#"
variable "services" {{
  type = any
}}

output "address" {{
  value = {{ port = 80, "name of {SECRET}" = ["at {SECRET}", null, true] }}
}}

output "nothing" {{
  value = null
}}

output "long" {{
  value = join("", [for number in range(1000) : "0123456789"])
}}

output "token" {{
  value     = "hidden-by-the-module"
  sensitive = true
}}

output "other" {{
  value = "not wanted"
}}
"#
    )
}

async fn outputs(stage: &mut Stage, names: &[&str]) -> (Outcome, Vec<RunOutput>) {
    let input = stage.input_of(|task| {
        task.outputs = names.iter().map(|&name| name.to_owned()).collect();
    });
    stage.strings.grant(RunKind::Apply, input);
    let outcome = stage.strings.outcome().await;
    let details = stage.strings.details();
    assert!(!format!("{details:?}").contains(SECRET), "{details:?}");
    assert!(!format!("{details:?}").contains("hidden-by-the-module"));
    (outcome, details.outputs)
}

async fn are_told(mut stage: Stage) {
    let names = ["token", "address", "nothing", "long"];
    let (outcome, outputs) = outputs(&mut stage, &names).await;
    assert!(matches!(outcome, Outcome::Applied(_)), "{outcome:?}");
    let told: Vec<_> = outputs.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(told, names);
    let values: Vec<_> = outputs.into_iter().filter_map(|it| it.value).collect();
    let address = r#"{"name of (hidden)":["at (hidden)",null,true],"port":80}"#;
    let expected = [
        Value::Sensitive(true),
        Value::Json(address.to_owned()),
        Value::Json("null".to_owned()),
        Value::TooLong(true),
    ];
    assert_eq!(values, expected);
}

#[tokio::test]
async fn wanted_outputs_are_reported_after_an_apply() {
    are_told(Stage::new(&module()).await).await;
}

#[tokio::test]
async fn events_tell_them_too() {
    are_told(Stage::with_engine(EngineKind::OpenTofu, tofu_path(), &module()).await).await;
}

#[tokio::test]
async fn unknown_output_is_an_error_with_the_place_of_the_module() {
    let mut stage = Stage::new(&module()).await;
    let (outcome, outputs) = outputs(&mut stage, &["address", "adress"]).await;
    let Outcome::Failed(failed) = outcome else {
        panic!("{outcome:?}");
    };
    let error = failed.error;
    assert!(
        error.starts_with(
            "error tf-validate for 'edge': module \"./module\" has no output \"adress\": in /"
        ),
        "{error}"
    );
    let others = "there are address, long, nothing, other, token";
    assert!(
        error.contains("/module") && error.contains(others),
        "{error}"
    );
    assert_eq!(outputs, []);
}

#[tokio::test]
async fn a_task_that_wants_none_any_more_has_no_file_of_them() {
    let mut stage = Stage::new(&module()).await;
    outputs(&mut stage, &["address"]).await;
    assert!(stage.file("outputs.tf").exists());
    let (outcome, none) = outputs(&mut stage, &[]).await;
    assert!(matches!(outcome, Outcome::Applied(_)), "{outcome:?}");
    assert_eq!(none, []);
    assert!(!stage.file("outputs.tf").exists());
}
