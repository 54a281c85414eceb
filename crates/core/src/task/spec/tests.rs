//! The stored forms of tasks: databases of earlier versions contain them, and digests over them decide whether a
//! task has changed.

use super::*;

/// Every member that a task can have.
const FULL: &str = concat!(
    r#"{"definition":{"name":"edge","description":"free text","module":"./m","module_source":"/srv/m","#,
    r#""module_digest":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","#,
    r#""bundle":{"hash":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","module":"m"},"#,
    r#""version":"1.2.3","providers":["f5.west","local"],"#,
    r#""webhooks":["tickets","chat"],"plan":"saved","outputs":["address"],"#,
    r#""condition":{"services":{"names":["web"],"regexp":"^w","datacenter":"dc1","namespace":"team","#,
    r#""filter":"Node.Meta.x == y","cts_user_defined_meta":{"a":"b"},"#,
    r#""declared":{"web":{"datacenter":"dc2","namespace":"","filter":"","cts_user_defined_meta":{}}},"#,
    r#""use_as_module_input":false}},"#,
    r#""module_inputs":[{"services":{"names":["api"],"regexp":"^a","datacenter":"dc1","namespace":"team","#,
    r#""filter":"x","cts_user_defined_meta":{"c":"d"},"#,
    r#""declared":{"api":{"datacenter":"","namespace":"","filter":"f","cts_user_defined_meta":{"e":"f"}}}}},"#,
    r#"{"consul-kv":{"path":"a/b","recurse":true,"datacenter":"dc1","namespace":"team"}}],"#,
    r#""services":["web"],"workspace":{"execution":{"agent-pool-id":"p"},"terraform_version":"1.9.8","#,
    r#""auto_upgrade_tf_version":true},"variables":{"a":1,"b":{"c":[1.5,null]}},"working_dir":"/w/edge"},"#,
    r#""enabled":true,"buffer_setting":{"enabled":true,"min":{"secs":1,"nanos":0},"max":null},"#,
    r#""buffer_period":{"enabled":true,"min":{"secs":1,"nanos":0},"max":{"secs":4,"nanos":5}},"#,
    r#""skip_unchanged":false,"retry_failed":false,"#,
    r#""requirement":{"driver":"opentofu","version":"1.9.8","bundle":true},"#,
    r#""timeouts":{"init":{"secs":1,"nanos":0},"plan":{"secs":2,"nanos":0},"apply":{"secs":3,"nanos":0}},"#,
    r#""guard":{"min_instances":2,"max_shrink":"50%"},"concurrency_group":"firewall","on_delete":"destroy","#,
    r#""api_approval":"always"}"#,
);

/// Only the members that are always written.
const EMPTY: &str = concat!(
    r#"{"definition":{"name":"edge","description":"","module":"./m","module_source":"/srv/m","#,
    r#""module_digest":null,"version":"","providers":[],"condition":"no-condition","variables":{},"#,
    r#""working_dir":"edge"},"enabled":true,"buffer_setting":null,"#,
    r#""buffer_period":{"enabled":false,"min":{"secs":0,"nanos":0},"max":{"secs":0,"nanos":0}},"#,
    r#""skip_unchanged":true,"retry_failed":true,"#,
    r#""requirement":{"driver":"terraform","version":null,"bundle":false}}"#,
);

/// As stored by 0.1.0.
const OLDEST: &str = concat!(
    r#"{"definition":{"name":"edge","description":"","module":"./m","module_source":"/srv/m","#,
    r#""module_digest":null,"version":"","providers":[],"#,
    r#""condition":{"services":{"names":["web"],"use_as_module_input":true}},"#,
    r#""module_inputs":[{"services":{}}],"variables":{},"working_dir":"edge"},"#,
    r#""enabled":true,"buffer_setting":null,"#,
    r#""buffer_period":{"enabled":false,"min":{"secs":0,"nanos":0},"max":{"secs":0,"nanos":0}},"#,
    r#""retry_failed":true,"skip_unchanged":true}"#,
);

fn read(text: &str) -> TaskSpec {
    serde_json::from_str(text).unwrap()
}

#[test]
fn stored_forms_of_tasks_stay_as_they_are() {
    let conditions = [
        r#"{"schedule":{"cron":"0 4 * * *"}}"#,
        r#"{"services":{"names":["web"],"datacenter":"","namespace":"","filter":"","cts_user_defined_meta":{},"use_as_module_input":true}}"#,
        r#"{"catalog-services":{"regexp":"^w","datacenter":"","namespace":"","node_meta":{"a":"b"},"use_as_module_input":true}}"#,
        r#"{"consul-kv":{"query":{"path":"a","recurse":false,"datacenter":"","namespace":""},"use_as_module_input":true}}"#,
    ];
    let with_conditions = conditions.map(|condition| EMPTY.replace(r#""no-condition""#, condition));
    for text in [FULL, EMPTY]
        .into_iter()
        .chain(with_conditions.iter().map(String::as_str))
    {
        let spec = read(text);
        assert_eq!(serde_json::to_string(&spec).unwrap(), text);
        let definition = serde_json::to_string(&spec.definition).unwrap();
        assert!(
            text.starts_with(&format!("{{\"definition\":{definition},")),
            "{definition}"
        );
    }
}

#[test]
fn digests_of_declarations_stay_as_they_are() {
    let digest = |text| read(text).declaration().unwrap().to_string();
    assert_eq!(
        digest(FULL),
        "c1899ef250fb0732cffa9e3026428f194d4a6023417ac599e59e30d8caa454e2"
    );
    assert_eq!(
        digest(EMPTY),
        "0ddacb384176cb0b295f6d09ffdc9c19ad6a4e3144626cf8856b6ef5cc485207"
    );
}

#[test]
fn tasks_of_the_first_version_are_read() {
    let spec = read(OLDEST);
    let mut expected = read(EMPTY);
    expected
        .definition
        .condition
        .clone_from(&spec.definition.condition);
    expected
        .definition
        .module_inputs
        .clone_from(&spec.definition.module_inputs);
    assert_eq!(spec, expected);
    let Condition::Services(services) = &spec.definition.condition else {
        panic!("{spec:?}");
    };
    assert!(services.use_as_module_input);
    assert!(
        read(&OLDEST.replace(
            "\"enabled\":true",
            "\"enabled\":true,\"of_a_later_version\":[1]"
        )) == spec
    );
}
