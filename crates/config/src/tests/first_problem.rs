//! The first problem in the words of the original's log, in the order of its stages.

use super::{Sandbox, task_with};

fn refused(text: &str) -> String {
    let first = Sandbox::new().refused(text).first_problem();
    format!("{}: {}", first.message, first.sentence)
}

#[test]
fn unknown_keys_are_listed_with_their_paths() {
    let text = "task { name = \"t\" modules = \"./m\" buffer_period { mim = 1 } }\n\
                consul { adress = \"x\" tls { bar = 1 } }\n\
                task { name = \"u\" module = \"./m\" condition \"no-condition\" { } zzz = 1 }";
    let keys =
        "consul.adress, consul.tls.bar, task[0].buffer_period.mim, task[0].modules, task[1].zzz";
    assert_eq!(
        refused(text),
        format!("error building configuration: 'a.hcl' has invalid keys: {keys}")
    );
}

#[test]
fn unknown_keys_of_conditions_and_module_inputs_come_first_with_the_block() {
    let text = "frob = 1\ntask { name = \"t\" module = \"./m\" condition \"services\" { names = [\"a\"] zzz = 1 aaa = 2 } }";
    let expected = "error building configuration: 'task[0].condition' has invalid keys: aaa, zzz";
    assert_eq!(refused(text), expected);
    let text = task_with("module_input \"consul-kv\" { path = \"a\" use_as_module_input = true }");
    let expected = "error building configuration: 'task[0].module_input[0]' has invalid keys: use_as_module_input";
    assert_eq!(refused(&text), expected);
}

#[test]
fn the_first_stage_with_a_problem_gives_the_message() {
    for (text, message) in [
        (
            "port = \"x\"\n",
            "error building configuration: 'port': `port` must be",
        ),
        (
            "task { name = \"t\" buffer_period { min = \"x\" } }\n",
            "error building configuration: 'task[0].buffer_period.min': ",
        ),
        (
            "consul { tls { } tls { } }\nport = -9\n",
            "error building configuration: only one 'consul.tls' block can be configured",
        ),
        (
            "driver \"terraform\" { version = \"x\" }\n",
            "error validating configuration: Malformed version \"x\"",
        ),
        (
            "consul = \"x\"\n",
            "error building configuration: `consul` must be",
        ),
        (
            "task {\n name = \"t\"\n condition \"foo\" { }\n}\n",
            "error building configuration: unsupported condition type `foo`",
        ),
        (
            "task {\n name = \"t\"\n module = \"./m\"\n variable_files = [\"none.tfvars\"]\n}\ntask { name = \"t\" }\n",
            "error finalizing configuration: cannot read variable file",
        ),
        (
            "task { module = \"./m\" }\nfrob = 1\n",
            "error building configuration: '",
        ),
        (
            "log_level = \"loud\"\ntask { module = \"./m\" }\n",
            "error validating configuration: unique name for the task is required",
        ),
    ] {
        let refused = refused(text);
        assert!(refused.starts_with(message), "{text}: {refused}");
    }
}
