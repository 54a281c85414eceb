//! `services` of a task and the `service` blocks (docs/configuration.md#deprecated-keys-of-tasks, #service).

use std::collections::BTreeMap;

use cts_core::{Condition, DeclaredService, ModuleInput, ServicesQuery};

use super::conditions::{loaded, with};
use super::{Sandbox, assert_problem, assert_problems};

#[test]
fn a_list_of_services_is_a_condition_or_a_module_input() {
    let (task, warnings) = loaded(&with("services = [\"web\", \"api\"]"));
    assert_eq!(task.definition.services, ["web", "api"]);
    let Condition::Services(services) = &task.definition.condition else {
        panic!("{:?}", task.definition.condition);
    };
    assert_eq!(services.query.names, ["web", "api"]);
    assert!(services.use_as_module_input && services.query.declared.is_empty());
    assert_eq!(
        warnings,
        ["2: `services` is deprecated, use a `condition \"services\"`"]
    );

    let (task, warnings) = loaded(&with(
        "services = [\"web\"]\ncondition \"schedule\" { cron = \"@daily\" }",
    ));
    let expected = ServicesQuery {
        names: vec!["web".into()],
        ..ServicesQuery::default()
    };
    assert_eq!(
        task.definition.module_inputs,
        [ModuleInput::Services(expected)]
    );
    assert_eq!(
        warnings,
        ["2: `services` is deprecated, use a `module_input \"services\"`"]
    );

    let (task, warnings) = loaded(&with(
        "services = [\"web\"]\ncondition \"no-condition\" { }",
    ));
    let Condition::Services(services) = &task.definition.condition else {
        panic!("{:?}", task.definition.condition);
    };
    assert_eq!(services.query.names, ["web"]);
    assert_eq!(task.definition.module_inputs, []);
    assert_eq!(
        warnings,
        [
            "2: `services` is deprecated, use a `condition \"services\"` in place of `condition \"no-condition\"`"
        ]
    );
    assert_problem(
        &with("services = [\"web\",\n\"\"]"),
        3,
        "`services` includes an empty string",
    );
}

#[test]
fn service_blocks_are_addressed_by_their_id() {
    let blocks =
        "service { name = \"api\" id = \"api-west\" datacenter = \"west\" description = \"d\"
         namespace = \"ns\" filter = \"f\" cts_user_defined_meta { k = \"v\" } }
         service { name = \"api\" id = \"api-east\" datacenter = \"east\" }
         service { name = \"db\" datacenter = \"north\" }";
    let listed = |list: &str| {
        let text = format!("{}\n{blocks}", with(&format!("services = [{list}]")));
        let (task, mut warnings) = loaded(&text);
        warnings.retain(|warning| !warning.contains("deprecated"));
        let Condition::Services(services) = task.definition.condition else {
            panic!("no services");
        };
        let declared = services.query.declared.into_iter();
        let datacenters: Vec<(String, String)> = declared
            .map(|(name, service)| (name, service.datacenter))
            .collect();
        (services.query.names, datacenters, warnings)
    };
    let pair = |name: &str, datacenter: &str| (name.to_owned(), datacenter.to_owned());
    let (names, declared, warnings) = listed("\"api-west\", \"db\", \"web\"");
    assert_eq!(names, ["api", "db", "web"]);
    assert_eq!(declared, [pair("api", "west"), pair("db", "north")]);
    assert!(warnings.is_empty(), "{warnings:?}");
    // Several ids of one name: the last one counts.
    let (names, declared, warnings) = listed("\"api-west\", \"api-east\"");
    assert_eq!(
        (names.as_slice(), declared),
        (["api".to_owned()].as_slice(), vec![pair("api", "east")])
    );
    assert!(
        warnings[0].contains("listed more than once"),
        "{warnings:?}"
    );
    // A block with an id does not answer to its name.
    let (names, declared, warnings) = listed("\"api\"");
    assert_eq!(
        (names.as_slice(), declared.len()),
        (["api".to_owned()].as_slice(), 0)
    );
    assert!(
        warnings[0].contains("without the settings of the block"),
        "{warnings:?}"
    );

    let text = format!("{}\n{blocks}", with("services = [\"api-west\"]"));
    let Condition::Services(services) = loaded(&text).0.definition.condition else {
        panic!("no services");
    };
    let expected = DeclaredService {
        datacenter: "west".into(),
        namespace: "ns".into(),
        filter: "f".into(),
        cts_user_defined_meta: BTreeMap::from([("k".into(), "v".into())]),
    };
    assert_eq!(services.query.declared["api"], expected);
}

#[test]
fn service_blocks_are_checked() {
    let cases = r#"
        service { id = "a" } #~ `service` needs a `name`
        service { name = "" } #~ `service` needs a `name`

        service { name = "a" }
        service { name = "a" } #~ unique service IDs are required

        service { name = "a" }
        service { name = "b" id = "a" } #~ unique service IDs

        service { name = "a"
          tag = "x" } #~ unknown key `service.tag`

        service { name = "a"
          filtre = "x" } #~ unknown key `filtre` in `service`

        service "a" { name = "a" } #~ takes no label
    "#;
    assert_problems(cases);
    let sandbox = Sandbox::new();
    let warnings = sandbox.warnings("service { name = \"a\" }");
    assert!(
        warnings[0].contains("`service` blocks are deprecated: put"),
        "{warnings:?}"
    );
    assert!(sandbox.warnings("service { }")[0].contains("has no effect"));
}

#[test]
fn a_template_in_the_name_of_a_service_is_told() {
    let expected = [
        "3: the service name \"${local.web}\" is taken as it is written: files of cts have no variables or functions, \
         write the name itself",
    ];
    let (task, warnings) = loaded(&with(
        "condition \"services\" {\nnames = [\"${local.web}\", \"api\"]\n}",
    ));
    let Condition::Services(services) = &task.definition.condition else {
        panic!("{:?}", task.definition.condition);
    };
    assert_eq!(services.query.names, ["${local.web}", "api"]);
    assert_eq!(warnings, expected);
    let (_task, warnings) = loaded(&with("services = [\n\"${local.web}\"]"));
    assert!(warnings.contains(&expected[0].to_owned()), "{warnings:?}");
}
