//! Modules of tasks and the digest of local ones (docs/configuration.md#task).

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::symlink;

use super::{Problem, Sandbox, task, task_with};
use crate::Severity;

const SERVICES: &str = "variable \"services\" {}\n";

const CALLS_SHARED: &str = r#"
variable "services" {}
module "s" {
  source = "../shared"
}
"#;

#[test]
fn local_modules_are_made_absolute() {
    let sandbox = Sandbox::new();
    let definition = task(&sandbox, "module = \"./x/../m\"").definition;
    assert_eq!(definition.module, "./x/../m");
    assert_eq!(
        definition.module_source,
        sandbox.path().join("m").to_str().unwrap()
    );
    let absolute = sandbox.path().join("m");
    let extra = format!("module = \"{}\"", absolute.display());
    let other = task(&sandbox, &extra).definition;
    assert_eq!(other.module_source, definition.module_source);
    assert_eq!(other.module_digest, definition.module_digest);
}

#[test]
fn a_module_of_one_of_several_members_may_be_elsewhere() {
    let sandbox = Sandbox::new();
    let text = format!(
        "database {{ url = \"postgres://127.0.0.1/cts\" }}\n{}",
        task_with("module = \"./none\"")
    );
    sandbox.write("cts.hcl", &text);
    let loaded = sandbox.load(&["cts.hcl"]).unwrap();
    let definition = &loaded.config.tasks[0].definition;
    let absolute = sandbox.path().join("none");
    assert_eq!(definition.module_source, absolute.to_str().unwrap());
    assert_eq!(definition.module_digest, None);
    let warnings = sandbox.rendered(&loaded.warnings);
    assert!(
        warnings.contains("module directory /cwd/none does not exist here"),
        "{warnings}"
    );
}

#[test]
fn local_modules_must_be_there() {
    let sandbox = Sandbox::new();
    sandbox.write("e/readme", "");
    for (module, message) in [
        ("./none", "module directory /cwd/none does not exist"),
        ("./e", "module directory /cwd/e has no .tf or .tf.json file"),
        ("./e/readme", "module /cwd/e/readme is no directory"),
    ] {
        let report = sandbox.refused(&task_with(&format!("module = \"{module}\"")));
        assert!(
            sandbox.rendered(&report).contains(message),
            "{}",
            report.render()
        );
        assert_eq!(report.problems()[0].line(), Some(5));
    }
}

#[test]
fn a_module_declares_the_variables_that_it_gets() {
    let sandbox = Sandbox::new();
    sandbox.write("none/main.tf", "output \"x\" { value = 1 }");
    sandbox.write("some/main.tf", "variable \"services\" {}");
    sandbox.write("odd/main.tf", "variable {");
    let text = |module: &str, extra: &str| task_with(extra).replace("./m", module);
    let refused = |module: &str, extra: &str, line: usize| {
        let report = sandbox.refused(&text(module, extra));
        let found = report.problems()[0].line();
        assert_eq!(found, Some(line), "{}", report.render());
        sandbox.rendered(&report)
    };
    let services =
        "module for task \"t\" is missing the \"services\" variable, which every module gets: add";
    let without = refused("./none", "", 3);
    assert!(without.contains(services), "{without}");
    let own = refused("./some", "variables { size = 3 }", 5);
    let size = "is missing the \"size\" variable, which the task sets";
    assert!(own.contains(size), "{own}");
    let keys = refused("./some", "module_input \"consul-kv\" { path = \"p\" }", 3);
    assert!(
        keys.contains("is missing the \"consul_kv\" variable"),
        "{keys}"
    );
    sandbox.config(&text("./some", ""));
    sandbox.config(&text("./odd", ""));

    let shared = format!(
        "database {{ url = \"postgres://127.0.0.1/cts\" }}\n{}",
        text("./none", "")
    );
    let shared = sandbox.rendered(&sandbox.refused(&shared));
    assert!(shared.contains(services), "{shared}");
}

#[test]
fn a_variable_that_the_module_lacks_is_shown_where_the_task_sets_it() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "some/main.tf",
        "variable \"services\" {}\nvariable \"region\" {}",
    );
    sandbox.write("eu.tfvars", "# of this site\nregoin = \"eu\"\n");
    let text = task_with("variable_files = [\"eu.tfvars\"]\nvariables = { zones = 3 }");
    let report = sandbox.refused(&text.replace("./m", "./some"));
    let [zones, region] = report.problems() else {
        panic!("{}", report.render());
    };
    let place = |problem: &Problem| (problem.file().map(str::to_owned), problem.line());
    assert_eq!(place(zones), (Some("a.hcl".to_owned()), Some(6)));
    assert_eq!(place(region), (Some("eu.tfvars".to_owned()), Some(2)));
    let message = "module for task \"t\" is missing the \"regoin\" variable, which the task sets";
    assert_eq!(region.message(), message);
    assert_eq!(region.help(), Some("did you mean `region`?"));
}

#[test]
fn only_the_task_of_a_module_that_cannot_be_used_suffers_from_it() {
    let sandbox = Sandbox::new();
    sandbox.write("some/main.tf", "variable \"region\" {}");
    let broken = |name: &str, module: &str| {
        let task = task_with("").replace("\"t\"", &format!("\"{name}\""));
        task.replace("./m", module)
    };
    let text = format!(
        "{}\n{}\n{}",
        broken("gone", "./none"),
        broken("lacking", "./some"),
        task_with("")
    );
    let config = sandbox.config(&text);
    let problems: Vec<_> = config
        .tasks
        .iter()
        .map(|task| task.requirement.unusable_module.as_deref().unwrap_or(""))
        .collect();
    let gone = format!(
        "module directory {} does not exist",
        sandbox.path().join("none").display()
    );
    assert_eq!(problems[0], gone);
    assert!(problems[1].contains("is missing the \"services\" variable"));
    assert_eq!(problems[2], "");

    let loaded = sandbox.load(&["a.hcl"]).unwrap();
    assert!(loaded.warnings.is_empty());
    assert_eq!(loaded.module_problems.count(Severity::Error), 2);
    assert_eq!(loaded.all_warnings().count(Severity::Warning), 2);
    let report = sandbox.check(&["a.hcl"]);
    assert_eq!(report.count(Severity::Error), 2, "{}", report.render());

    // Together with a problem of the configuration they are problems like the rest.
    let report = sandbox.refused(&format!("{text}\nprot = 1"));
    assert_eq!(report.count(Severity::Error), 3, "{}", report.render());

    sandbox.write("none/main.tf", SERVICES);
    let declared = crate::DeclaredTasks::new(&config, sandbox.path());
    let mended = declared.read_module(&config.tasks[0]);
    assert_eq!(mended.requirement.unusable_module, None);
    assert!(mended.definition.module_digest.is_some());
    let still = declared.read_module(&config.tasks[1]);
    assert_eq!(still, config.tasks[1]);
}

#[test]
fn a_directory_needs_a_dot_in_front() {
    let sandbox = Sandbox::new();
    let text = |module: &str| task_with("").replace("./m", module);
    let report = sandbox.refused(&text("m"));
    assert!(
        report.render().contains("write \"./m\""),
        "{}",
        report.render()
    );
    for other in ["n", "m/m/m", "git::https://example.com/m.git"] {
        sandbox.config(&text(other));
    }
}

#[test]
fn the_digest_follows_the_files_of_a_module() {
    let sandbox = Sandbox::new();
    let digest = || task(&sandbox, "").definition.module_digest.unwrap();
    let empty = digest();
    assert_eq!(digest(), empty);
    sandbox.write("m/.terraform/x", "1");
    sandbox.write("m/.git/x", "1");
    assert_eq!(digest(), empty);
    sandbox.write("m/sub/x.tf", "1");
    let one = digest();
    assert_ne!(one, empty);
    sandbox.write("m/sub/x.tf", "2");
    assert_ne!(digest(), one);
    sandbox.write("m/sub/x.tf", "1");
    assert_eq!(digest(), one);
    fs::rename(
        sandbox.path().join("m/sub/x.tf"),
        sandbox.path().join("m/sub/y.tf"),
    )
    .unwrap();
    assert_ne!(digest(), one);
}

#[test]
fn a_module_may_call_the_directories_beside_it() {
    let sandbox = Sandbox::new();
    sandbox.write("m/main.tf", CALLS_SHARED);
    sandbox.write("shared/s.tf", "# 1");
    let definition = || task(&sandbox, "").definition;
    let before = definition();
    let around = sandbox.path().display();
    assert_eq!(before.module_source, format!("{around}//m"));
    sandbox.write("shared/s.tf", "# 2");
    assert_ne!(definition().module_digest, before.module_digest);
    sandbox.write("beside/s.tf", "# 1");
    sandbox.write("shared/s.tf", "# 1");
    assert_eq!(definition().module_digest, before.module_digest);
}

#[test]
fn the_digest_is_the_hash_of_the_bundle_that_workers_get() {
    let sandbox = Sandbox::new();
    sandbox.write("m/main.tf", CALLS_SHARED);
    sandbox.write("shared/s.tf", "# 1");
    let module = sandbox.path().join("m");
    let packing = cts_bundle::Packing {
        excluded: Vec::new(),
        roots: cts_bundle::Roots::new([sandbox.path()]),
        limits: cts_bundle::Limits::default(),
    };
    let bundle = cts_bundle::pack(&module, &packing).unwrap();
    let digest = task(&sandbox, "").definition.module_digest;
    assert_eq!(digest, Some(bundle.hash));
}

#[test]
fn unpackable_module_is_a_problem_of_every_task_that_uses_it() {
    let sandbox = Sandbox::new();
    sandbox.write("shared/s.tf", "1");
    symlink(
        sandbox.path().join("shared"),
        sandbox.path().join("m/shared"),
    )
    .unwrap();
    symlink("nowhere", sandbox.path().join("m/dangling")).unwrap();
    let twice = format!(
        "{}\n{}",
        task_with(""),
        task_with("").replace("\"t\"", "\"u\"")
    );
    let report = sandbox.refused(&twice);
    let message = "module directory /cwd/m cannot be used: the symbolic link /cwd/m/shared leads out of \
                   the module";
    let rendered = sandbox.rendered(&report);
    assert_eq!(report.problems().len(), 2, "{rendered}");
    assert!(rendered.contains(message), "{rendered}");
    assert!(
        report
            .problems()
            .iter()
            .all(|problem| problem.line().is_some())
    );
}

#[test]
fn task_directories_are_no_part_of_a_module() {
    let sandbox = Sandbox::new();
    let text = format!("working_dir = \"m/work\"\n{}", task_with(""));
    let text = format!("{text}\nworker {{ working_dir = \"./m/other/../worker\" }}");
    let digest = || sandbox.config(&text).tasks[0].definition.module_digest;
    let before = digest();
    sandbox.write("m/work/t/main.tf", "x");
    sandbox.write("m/worker/t/main.tf", "x");
    assert_eq!(digest(), before);
    sandbox.write("m/other/main.tf", "x");
    assert_ne!(digest(), before);
}

#[test]
fn thousands_of_tasks_may_share_modules() {
    let sandbox = Sandbox::new();
    let mut text = String::new();
    for module in 0..20 {
        for file in 0..10 {
            let content = "# a line of a comment\n".repeat(500);
            sandbox.write(&format!("m{module}/f{file}.tf"), content);
        }
        sandbox.write(&format!("m{module}/variables.tf"), SERVICES);
    }
    for number in 0..5_000 {
        let module = number % 20;
        let block = task_with("").replace("\"./m\"", &format!("\"./m{module}\""));
        text.push_str(&block.replace("\"t\"", &format!("\"t{number}\"")));
        text.push('\n');
    }
    let tasks = sandbox.config(&text).tasks;
    let sources: HashSet<_> = tasks
        .iter()
        .map(|task| task.definition.module_source.as_str())
        .collect();
    assert_eq!(tasks.len(), 5_000);
    assert_eq!(sources.len(), 20);
}

#[test]
fn the_directory_that_holds_the_module_of_a_file_is_a_root() {
    let sandbox = Sandbox::new();
    let outside = Sandbox::new();
    outside.write("modules/web/main.tf", CALLS_SHARED);
    outside.write("modules/shared/main.tf", "");
    outside.write("elsewhere/shared/main.tf", "");
    symlink(
        outside.path().join("modules/web"),
        sandbox.path().join("linked"),
    )
    .unwrap();
    sandbox.write("shared/main.tf", "");
    let absolute = outside.path().join("modules/web");
    task(&sandbox, &format!("module = \"{}\"", absolute.display()));
    task(&sandbox, "module = \"./linked\"");

    outside.write(
        "modules/far/main.tf",
        CALLS_SHARED.replace("../shared", "../../elsewhere/shared"),
    );
    let far = outside.path().join("modules/far");
    let text = task_with(&format!("module = \"{}\"", far.display()));
    let report = sandbox.refused(&text);
    let said = report.render();
    let line = format!(
        "module_roots = [{:?}]",
        outside.path().join("elsewhere/shared")
    );
    assert!(said.contains(&line), "{said}");
    assert_eq!(report.problems()[0].line(), Some(5));
    let root = outside.path().join("elsewhere");
    sandbox.config(&format!("module_roots = [{root:?}]\n{text}"));
}

#[test]
fn the_directory_of_a_linked_configuration_file_is_a_root() {
    let (sandbox, outside) = (Sandbox::new(), Sandbox::new());
    outside.write("cts.hcl", "");
    outside.write("key.pem", "");
    let text = task_with("");
    outside.write("cts.hcl", &text);
    symlink(
        outside.path().join("key.pem"),
        sandbox.path().join("m/key.pem"),
    )
    .unwrap();
    symlink(
        outside.path().join("cts.hcl"),
        sandbox.path().join("linked.hcl"),
    )
    .unwrap();
    sandbox.load(&["linked.hcl"]).unwrap();
    sandbox.refused(&text);
}
