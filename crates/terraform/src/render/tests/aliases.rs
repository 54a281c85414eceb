//! Modules that are called with providers under aliases (docs/terraform.md#maintf).

use super::*;

fn null(alias: Option<&str>, arguments: Value) -> ProviderBlock {
    ProviderBlock {
        name: "null".into(),
        alias: alias.map(str::to_owned),
        arguments: object(arguments),
        blocks: std::collections::BTreeSet::new(),
        task_env: BTreeMap::new(),
    }
}

fn declaring(aliases: &[&str]) -> ModuleInterface {
    ModuleInterface {
        provider_aliases: aliases.iter().map(|&id| ProviderId::from(id)).collect(),
        ..ModuleInterface::default()
    }
}

fn with_providers(ids: &[&str], blocks: Vec<ProviderBlock>) -> (TaskDefinition, RenderSettings) {
    let definition = TaskDefinition {
        providers: ids.iter().map(|&id| ProviderId::from(id)).collect(),
        variables: BTreeMap::new(),
        ..definition()
    };
    let settings = RenderSettings {
        providers: blocks,
        ..settings()
    };
    (definition, settings)
}

#[test]
fn a_provider_is_passed_under_the_alias_that_the_module_declares() {
    let blocks = vec![null(Some("north"), json!({"alias": "north", "host": "n"}))];
    let (definition, settings) = with_providers(&["null.north"], blocks);
    let main = |module: &ModuleInterface| {
        let root = render_root_module(&definition, &settings, module).unwrap();
        root.file(MAIN_TF).unwrap().to_owned()
    };
    let plain = main(&ModuleInterface::default());
    let passed = main(&declaring(&["null.north", "null.west"]));
    let argument = "\n  providers = {\n    null.north = null\n  }\n";
    assert_eq!(passed.replace(argument, ""), plain);
    assert_eq!(passed.matches(argument).count(), 1);
    assert!(plain.contains("provider \"null\" {\n  host = var.null.host\n}\n"));
    for other in ["null.south", "dns.north"] {
        assert_eq!(main(&declaring(&[other])), plain, "{other}");
    }
}

#[test]
fn several_instances_of_a_provider_have_a_block_each_and_one_variable() {
    let blocks = vec![
        null(Some("south"), json!({"alias": "south", "rate": 2})),
        null(Some("north"), json!({"alias": "north", "host": "n"})),
    ];
    // The order of the list does not matter.
    let (definition, mut settings) = with_providers(&["null.south", "null.north"], blocks);
    settings.required_providers = object(json!({"null": "3.2.0"}));
    let module = declaring(&["null.north", "null.south"]);
    let root = render_root_module(&definition, &settings, &module).unwrap();
    let main = root.file(MAIN_TF).unwrap();
    for part in [
        "    null = \"3.2.0\"\n",
        "provider \"null\" {\n  alias = \"north\"\n\n  host = var.null[0].host\n}\n\n\
         provider \"null\" {\n  alias = \"south\"\n\n  rate = var.null[1].rate\n}\n",
        "  providers = {\n    null.north = null.north\n    null.south = null.south\n  }\n",
    ] {
        assert_eq!(main.matches(part).count(), 1, "{part}\n{main}");
    }
    let variables = root.file("variables.tf").unwrap();
    assert_eq!(variables.matches("variable \"null\"").count(), 1);
    assert_contains(variables, ["tuple([", "host  = string", "rate  = number"]);
    let values = root.file("providers.auto.tfvars").unwrap();
    assert_eq!(values.matches("null = [").count(), 1, "{values}");

    // A server gets the same blocks, and the arguments as one variable.
    let files = render_configuration(&definition, &settings, &module).unwrap();
    let of_server = files.files[0].contents.as_str();
    let blocks = |main: &str| main[main.find("provider \"null\"").unwrap()..].to_owned();
    assert_eq!(blocks(of_server), blocks(main));
    let input = input(definition, Vec::new());
    let variables = render_variables(&input, &settings, &module).unwrap();
    let of_provider = variables.iter().filter(|variable| variable.name == "null");
    let of_provider: Vec<_> = of_provider.collect();
    assert_eq!(of_provider.len(), 1);
    assert!(of_provider[0].is_sensitive);
    assert!(values.ends_with(&format!("null = {}\n", of_provider[0].value)));
}

#[test]
fn an_instance_without_an_alias_is_inherited() {
    let (definition, settings) = with_providers(&["null.north", "null"], Vec::new());
    let module = declaring(&["null.north"]);
    let root = render_root_module(&definition, &settings, &module).unwrap();
    let main = root.file(MAIN_TF).unwrap();
    assert_contains(
        main,
        [
            "provider \"null\" {\n}\n\nprovider \"null\" {\n  alias = \"north\"\n}\n",
            "  providers = {\n    null.north = null.north\n  }\n",
        ],
    );
}

#[test]
fn an_alias_that_is_no_identifier_is_refused_among_several() {
    let (definition, settings) = with_providers(&["null.a b", "null"], Vec::new());
    let refused = render_root_module(&definition, &settings, &ModuleInterface::default());
    let refused = refused.unwrap_err().to_string();
    assert_eq!(refused, "alias \"a b\" is not a Terraform identifier");
}
