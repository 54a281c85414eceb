//! No input makes loading panic, and no report shows a secret.

use proptest::prelude::*;

use super::Sandbox;
use crate::ConfigError;

/// Pieces of configuration, so that random texts get beyond the parser.
fn piece() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "task ",
        "consul ",
        "driver ",
        "database ",
        "services ",
        "schedulers ",
        "high_availability ",
        "cluster ",
        "storage ",
        "session_ttl ",
        "url ",
        "\"terraform\" ",
        "backend ",
        "condition ",
        "\"services\" ",
        "terraform_provider ",
        "task_env ",
        "variables ",
        "buffer_period ",
        "name ",
        "names ",
        "port ",
        "providers ",
        "module ",
        "token ",
        "tls ",
        "min ",
        "{ ",
        "} ",
        "= ",
        "[ ",
        "] ",
        ", ",
        "\n",
        "\"a\" ",
        "\"\" ",
        "\"./m\" ",
        "\"5s\" ",
        "5 ",
        "1.5 ",
        "true ",
        "\"${\" ",
        "<<X\n",
        "X\n",
        "é ",
    ]);
    words.prop_map(str::to_owned)
}

fn load(text: &[u8]) -> Option<String> {
    let sandbox = Sandbox::new();
    sandbox.write("a.hcl", text);
    match sandbox.load(&["a.hcl"]) {
        Err(ConfigError::Problems(report) | ConfigError::Unsupported(report)) => {
            Some(report.render())
        }
        Ok(_) | Err(ConfigError::NothingFound(_)) => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arbitrary_bytes_are_loaded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        load(&bytes);
    }

    #[test]
    fn pieces_of_configuration_are_loaded_or_refused(
        pieces in prop::collection::vec(piece(), 0..60),
    ) {
        load(pieces.concat().as_bytes());
    }

    #[test]
    fn a_password_never_appears_in_a_report(
        before in prop::collection::vec(piece(), 0..12),
        after in prop::collection::vec(piece(), 0..12),
    ) {
        let (before, after) = (before.concat(), after.concat());
        let text = format!("{before}\nconsul {{ auth {{ password = \"hunter2\" {after} }} }}");
        if let Some(report) = load(text.as_bytes()) {
            prop_assert!(!report.contains("hunter2"), "{report}");
        }
    }

    #[test]
    fn the_url_of_a_database_never_appears_in_a_report(
        before in prop::collection::vec(piece(), 0..12),
        after in prop::collection::vec(piece(), 0..12),
    ) {
        let (before, after) = (before.concat(), after.concat());
        let text = format!("{before}\ndatabase {{ url = \"postgres://u:hunter2@h/d\" {after} }}");
        if let Some(report) = load(text.as_bytes()) {
            prop_assert!(!report.contains("hunter2"), "{report}");
        }
    }

    #[test]
    fn arbitrary_variable_files_are_read_or_refused(text in any::<String>()) {
        let sandbox = Sandbox::new();
        sandbox.write("v.tfvars", &text);
        sandbox.write("a.hcl", super::task_with("variable_files = [\"v.tfvars\"]"));
        if let Err(error) = sandbox.load(&["a.hcl"]) {
            prop_assert!(matches!(error, ConfigError::Problems(_)));
        }
    }
}
