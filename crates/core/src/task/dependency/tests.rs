use super::*;
use crate::view::condition::{ConsulKvCondition, DeclaredService, ScheduleCondition};

fn input(names: &[&str], regexp: Option<&str>) -> ServicesQuery {
    ServicesQuery {
        names: names.iter().map(|&name| name.to_owned()).collect(),
        regexp: regexp.map(str::to_owned),
        filter: "\n\na == b\n".into(),
        ..ServicesQuery::default()
    }
}

fn dependencies(condition: Condition, inputs: Vec<ModuleInput>) -> Vec<(String, Trigger)> {
    let dependencies = TaskDefinition::sample(condition, inputs)
        .dependencies()
        .into_iter();
    let named = dependencies.map(|dependency| {
        let id = dependency.view.id();
        (id.as_str().to_owned(), dependency.trigger)
    });
    named.collect()
}

#[test]
fn the_condition_triggers_and_module_inputs_do_not() {
    let kv = KvQuery {
        path: "//a/b".into(),
        ..KvQuery::default()
    };
    let condition = Condition::ConsulKv(ConsulKvCondition {
        query: kv.clone(),
        use_as_module_input: false,
    });
    let services = ModuleInput::Services(input(&["web", "api", "web", ""], None));
    let key = ("kv.exists.get(/a/b)".to_owned(), Trigger::Change);
    let service = |name: &str| {
        let id = format!("health.service({name}?filter=a == b)");
        (id, Trigger::Nothing)
    };
    assert_eq!(
        dependencies(condition, vec![services.clone()]),
        [key, service("api"), service("web")]
    );
    let schedule = Condition::Schedule(ScheduleCondition {
        cron: "@daily".into(),
    });
    let inputs = vec![ModuleInput::ConsulKv(kv), services];
    let kinds: Vec<_> = dependencies(schedule, inputs).into_iter().collect();
    assert!(
        kinds
            .iter()
            .all(|(_id, trigger)| *trigger == Trigger::Nothing)
    );
    assert_eq!(kinds[0].0, "kv.exists.get(/a/b)");
}

#[test]
fn a_regexp_of_a_module_input_goes_before_its_names() {
    let services = ModuleInput::Services(input(&["web"], Some("^api")));
    assert_eq!(
        dependencies(Condition::NoCondition, vec![services]),
        [(
            "service.regex(regexp=^api&filter=a == b)".to_owned(),
            Trigger::Nothing
        )]
    );
}

#[test]
fn a_declared_service_has_settings_of_its_own() {
    let mut services = input(&["web", "api"], None);
    let declared = DeclaredService {
        datacenter: "dc2".into(),
        cts_user_defined_meta: BTreeMap::from([("k".into(), "v".into())]),
        ..DeclaredService::default()
    };
    services.declared.insert("api".into(), declared);
    let query = services;
    let ids: Vec<_> = query
        .views()
        .iter()
        .map(|view| view.id().to_string())
        .collect();
    assert_eq!(
        ids,
        [
            "health.service(api@dc2)",
            "health.service(web?filter=a == b)"
        ]
    );
    assert_eq!(query.meta_of("api")["k"], "v");
    assert!(query.meta_of("web").is_empty());
}

#[test]
fn only_names_of_the_catalog_trigger() {
    let condition = Condition::CatalogServices(CatalogServicesCondition {
        regexp: String::new(),
        datacenter: "dc2".into(),
        namespace: String::new(),
        node_meta: BTreeMap::new(),
        use_as_module_input: true,
    });
    assert_eq!(
        dependencies(condition, vec![]),
        [(
            "catalog.services.registration(dc=dc2)".to_owned(),
            Trigger::OtherNames
        )]
    );
}
