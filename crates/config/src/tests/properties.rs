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
        "fleet_max_shrink ",
        "share ",
        "approval ",
        "approval_expires ",
        "approval_ignore ",
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

/// The properties for JSON: values that are put together to a document, and texts that are nearly one.
fn value() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let key = || {
        prop::sample::select(vec![
            "task",
            "consul",
            "tls",
            "vault",
            "driver",
            "terraform",
            "backend",
            "local",
            "required_providers",
            "terraform_provider",
            "task_env",
            "alias",
            "condition",
            "module_input",
            "services",
            "schedule",
            "consul-kv",
            "names",
            "name",
            "module",
            "providers",
            "variables",
            "service",
            "buffer_period",
            "min",
            "port",
            "token",
            "PORT",
            "x\n",
        ])
    };
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec!["", "a", "./m", "5s", "{{ key \"a\" }}", "\u{7}é"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..6).prop_map(|pairs| {
                let pairs = pairs
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value));
                Value::Object(pairs.collect())
            }),
        ]
    })
}

fn load(text: &[u8]) -> Option<String> {
    load_as("a.hcl", text)
}

fn load_as(name: &str, text: &[u8]) -> Option<String> {
    let sandbox = Sandbox::new();
    sandbox.write(name, text);
    match sandbox.load(&[name]) {
        Err(ConfigError::Problems(report)) => Some(report.render()),
        Ok(_) | Err(ConfigError::NothingFound(_)) => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arbitrary_bytes_are_loaded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        load(&bytes);
        load_as("a.json", &bytes);
    }

    #[test]
    fn documents_of_json_are_loaded_or_refused(document in value(), cut in any::<prop::sample::Index>()) {
        let text = document.to_string();
        load_as("a.json", text.as_bytes());
        load(text.as_bytes());
        let mut broken = text.into_bytes();
        broken.remove(cut.index(broken.len()));
        load_as("a.json", &broken);
    }

    #[test]
    fn accepts_the_same_json_as_serde_json(text in "[ {}\\[\\]\":,a0-9.eE+\\-\\\\un\n\t]{0,12}", as_value in any::<bool>()) {
        let text = if as_value { format!("{{\"a\":{text}}}") } else { text };
        let expected = serde_json::from_str::<serde_json::Value>(&text);
        let shown = format!("{text:?}: {expected:?}");
        match (crate::decode::json::parse(text.as_bytes()), expected) {
            (Ok(_), Ok(serde_json::Value::Object(_) | serde_json::Value::Null)) | (Err(_), Err(_)) => {}
            // A number beyond 64 bits, which others round.
            (Err(error), Ok(_)) => prop_assert!(
                error.message.contains("64 bits") || error.message.contains("at the top"),
                "{shown} {error}"
            ),
            (Ok(_), _) => prop_assert!(false, "{shown}"),
        }
    }

    #[test]
    fn a_password_never_appears_in_a_report_about_json(
        document in value(),
        before in prop::collection::vec(piece(), 0..3),
        twice in any::<bool>(),
    ) {
        let again = if twice { "\"password\": \"other\"," } else { "" };
        let text = format!(
            "{{\"a\": {document}, \"consul\": {{\"auth\": {{\"password\": \"hunter2\", {again} \"b\": {} }}}}}}",
            before.concat()
        );
        for name in ["a.json", "a.hcl"] {
            if let Some(report) = load_as(name, text.as_bytes()) {
                prop_assert!(!report.contains("hunter2"), "{report}");
            }
        }
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
