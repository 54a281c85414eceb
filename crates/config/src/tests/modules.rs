//! Modules of tasks and the digest of local ones (docs/configuration.md#task).

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::symlink;

use super::{Sandbox, task, task_with};

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
    let refused = |module: &str, extra: &str| {
        let report = sandbox.refused(&text(module, extra));
        assert_eq!(report.problems()[0].line(), Some(3), "{}", report.render());
        sandbox.rendered(&report)
    };
    let services =
        "module for task \"t\" is missing the \"services\" variable, which every module gets: add";
    let without = refused("./none", "");
    assert!(without.contains(services), "{without}");
    let own = refused("./some", "variables { size = 3 }");
    let size = "is missing the \"size\" variable, which the task sets";
    assert!(own.contains(size), "{own}");
    let keys = refused("./some", "module_input \"consul-kv\" { path = \"p\" }");
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
    sandbox.write("cts.hcl", &shared);
    let warnings = sandbox.load(&["cts.hcl"]).unwrap().warnings;
    let warnings = sandbox.rendered(&warnings);
    assert!(warnings.contains(services), "{warnings}");
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
fn what_cannot_be_packed_is_a_problem_of_every_task_that_uses_it() {
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
