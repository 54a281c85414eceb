//! The variables of a task, and files of variables (docs/configuration.md#task).

use serde_json::{Value, json};

use super::{Sandbox, assert_each, assert_problem, only, task, task_with};

#[test]
fn variables_are_expressions_and_files_win() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "1.tfvars",
        "\u{feff}a = 1 + 2\nb = { x = [true, null, \"s\"] }\nc = 1 < 2 ? \"yes\" : \"no\"\n",
    );
    sandbox.write(
        "2.tfvars",
        "a = \"last\"\nd = \"n-${1 + 1}\"\ne = [for x in [1, 2] : x * 2]\n",
    );
    sandbox.write("empty.tfvars", "");
    let extra = r#"variable_files = ["1.tfvars", "2.tfvars", "empty.tfvars"]
      variables { a = "\"file wins\"" v = "[1, {x = 2}]" w = true n = 5 s = "\"x\"" }"#;
    let variables = task(&sandbox, extra).definition.variables;
    let variables: Value = serde_json::to_value(variables).unwrap();
    assert_eq!(
        variables,
        json!({
            "a": "last", "b": { "x": [true, null, "s"] }, "c": "yes", "d": "n-2", "e": [2, 4],
            "v": [1, { "x": 2 }], "w": true, "n": 5, "s": "x"
        })
    );
}

#[test]
fn names_of_variables_that_terraform_would_refuse_are_found_where_they_are() {
    for (name, message) in [
        ("services", "the module gets what the task watches by it"),
        ("count", "Terraform keeps that name for itself"),
        ("aws", "a variable of that name for the provider"),
    ] {
        let sandbox = Sandbox::new();
        let other = if name == "services" { "other" } else { name };
        let module = format!("variable \"services\" {{}}\nvariable \"{other}\" {{}}\n");
        sandbox.write("m/main.tf", module);
        sandbox.write("v.tfvars", format!("\n{name} = 1\n"));
        let provider = "\nterraform_provider \"aws\" {}";
        let in_file = "providers = [\"aws\"]\nvariable_files = [\"v.tfvars\"]";
        let report = sandbox.refused(&format!("{}{provider}", task_with(in_file)));
        let problem = only(&report);
        assert_eq!(
            (problem.file(), problem.line()),
            (Some("v.tfvars"), Some(2))
        );
        assert!(problem.message().contains(message), "{problem}");
        let in_block = format!("providers = [\"aws\"]\nvariables {{ {name} = 1 }}");
        let report = sandbox.refused(&format!("{}{provider}", task_with(&in_block)));
        assert_eq!(report.problems()[0].line(), Some(6), "{report:?}");
        assert!(report.problems()[0].message().contains(message));
    }
}

#[test]
fn faults_in_variable_files_are_found_where_they_are() {
    let cases = r#"
        a = 1
        b = #~

        a = 1
        b = var.x #~ the reference `var` is not available

        a = 1
        # The third line.
        b = file("x") #~ the function `file` is not available

        a = 1
        a = 2 #~

        a = 1
        b = 18446744073709551617 #~ the number 18446744073709551617 cannot be kept

        a = 1
        b = [ #~ it divides by zero
          5 % 0]

        a = 1
        b = ["\u0000"] #~ variable `b` has no constant value: its value has the character U+0000

        block { } #~ blocks are not allowed
        "a" = 1 #~
    "#;
    assert_each(
        cases,
        |content| format!("{content}\n"),
        |content, line, message| {
            let sandbox = Sandbox::new();
            sandbox.write("v.tfvars", content);
            let report = sandbox.refused(&task_with("variable_files = [\"v.tfvars\"]"));
            let problem = only(&report);
            assert_eq!(problem.file(), Some("v.tfvars"), "{content}");
            assert_eq!(problem.line(), Some(line), "{content}");
            assert!(problem.message().contains(message), "{problem}");
        },
    );
}

#[test]
fn a_variable_file_that_is_not_there_is_a_problem_of_its_mention() {
    assert_problem(
        &task_with("variable_files = [\"no.tfvars\"]"),
        5,
        "cannot read variable file",
    );
    assert_problem(
        &task_with("variables { a = \"x y\" }"),
        5,
        "variable `a` is no HCL expression",
    );
}
