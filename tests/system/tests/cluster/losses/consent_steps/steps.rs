//! The steps of a run that needs consent, each with a task that can be held there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use cts_testkit::{eventually, terraform_path};
use cts_tests::{DEADLINE, Site, met, task};

/// A step, at which a task of its own is held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// Name of the task, and of its step.
    pub(super) task: &'static str,
    /// Place at which the task is held; empty if it needs no hold.
    place: &'static str,
    /// The first attempt is held, before the effect is known.
    pub(super) holds_first: bool,
    /// The effect is approved before the kill.
    pub(super) approved: bool,
    /// Held just before its question, which the database then does not answer.
    pub(super) at_database: bool,
}

/// Tasks that are held while an object is made.
pub(super) const AT_WORK: [&str; 2] = ["apply_begun", "half_applied"];

const fn step(task: &'static str, place: &'static str) -> Step {
    Step {
        task,
        place,
        holds_first: false,
        approved: true,
        at_database: false,
    }
}

/// All steps, in the order in which the tasks are brought there: `consent_stored` is in one group with `lease`, so that
/// it gets no lease.
pub(super) const STEPS: [Step; 10] = [
    Step {
        holds_first: true,
        approved: false,
        at_database: true,
        ..step("plan_reported", "after-plan")
    },
    Step {
        approved: false,
        ..step("wait_stored", "")
    },
    step("lease", "before-plan"),
    step("consent_stored", ""),
    step("second_plan", "after-plan"),
    Step {
        at_database: true,
        ..step("permit_unanswered", "after-plan")
    },
    step("permit_answered", "before-apply"),
    step(AT_WORK[0], "first"),
    step(AT_WORK[1], "second"),
    step("result_lost", "after-apply"),
];

/// Makes two objects, one after the other.
const MODULE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "first" {
  input = keys(var.services)
  provisioner "local-exec" {
    command = "exec sh '@SITE@/object.sh' @TASK@ first"
  }
}

resource "terraform_data" "second" {
  input      = keys(var.services)
  depends_on = [terraform_data.first]
  provisioner "local-exec" {
    command = "exec sh '@SITE@/object.sh' @TASK@ second"
  }
}
"#;

/// Notes the beginning and the end of an object, and waits between the two.
const OBJECT: &str = r#"
echo "begin $2" >>"@SITE@/$1.journal"
place=$1-$2
. '@SITE@/wait.sh'
echo "end $2" >>"@SITE@/$1.journal"
"#;

/// Waits while a file with the name of the place exists.
const WAIT: &str = r#"
[ ! -e "@SITE@/hold-$place" ] || echo "$place" >>'@SITE@/held'
while [ -e "@SITE@/hold-$place" ]; do sleep 0.1; done
"#;

/// Terraform, which waits before and after its commands.
const TERRAFORM: &str = r#"#!/bin/sh
task=$(basename "$PWD")
place=$task-before-$1
. '@SITE@/wait.sh'
place=$task-after-$1
[ -e "@SITE@/hold-$place" ] || exec '@TERRAFORM@' "$@"
'@TERRAFORM@' "$@"
code=$?
. '@SITE@/wait.sh'
exit $code
"#;

/// The files of all steps.
#[derive(Debug)]
pub(super) struct Steps {
    site: PathBuf,
}

impl Steps {
    /// Writes Terraform and the modules, and holds the tasks whose first attempts are held.
    pub(super) fn prepare(site: &Site) -> Self {
        let path = site.path().to_str().unwrap();
        let write = |name: &str, text: &str| site.write(name, &text.replace("@SITE@", path));
        let terraform = terraform_path();
        write(
            "bin/terraform",
            &TERRAFORM.replace("@TERRAFORM@", terraform.to_str().unwrap()),
        );
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(site.path().join("bin/terraform"), executable).unwrap();
        write("object.sh", OBJECT);
        write("wait.sh", WAIT);
        for step in STEPS {
            let module = MODULE.replace("@TASK@", step.task);
            write(&format!("modules/{}/main.tf", step.task), &module);
        }
        let steps = Self {
            site: site.path().to_owned(),
        };
        for step in STEPS.iter().filter(|step| step.holds_first) {
            steps.hold(*step);
        }
        steps
    }

    /// The content of the driver block.
    pub(super) fn driver(&self, site: &Site) -> String {
        let directory = self.site.join("bin");
        format!(
            "path = \"{}\"\n  {}",
            directory.display(),
            site.shared_backend()
        )
    }

    /// The blocks of all tasks.
    pub(super) fn tasks() -> String {
        let blocks = STEPS.map(|step| {
            let group = if ["lease", "consent_stored"].contains(&step.task) {
                "concurrency_group = \"one\""
            } else {
                ""
            };
            let more = format!("approval = \"always\"\n  {group}");
            task(
                step.task,
                &format!("./modules/{}", step.task),
                &["web"],
                &more,
            )
        });
        format!(
            "worker {{\n  slots = {}\n}}\n{}",
            STEPS.len(),
            blocks.concat()
        )
    }

    fn file_of(&self, step: Step) -> Option<PathBuf> {
        let Step { task, place, .. } = step;
        let name = format!("hold-{task}-{place}");
        (!place.is_empty()).then(|| self.site.join(name))
    }

    /// Makes the task stop at its place.
    pub(super) fn hold(&self, step: Step) {
        if let Some(file) = self.file_of(step) {
            fs::write(file, "").unwrap();
        }
    }

    /// Lets the task go on.
    pub(super) fn release(&self, step: Step) {
        if let Some(file) = self.file_of(step) {
            drop(fs::remove_file(file));
        }
    }

    /// Lets all tasks go on.
    pub(super) fn release_all(&self) {
        for step in STEPS {
            self.release(step);
        }
    }

    /// Waits until the task is held, if it is.
    pub(super) async fn wait_until_held(&self, step: Step) {
        if step.place.is_empty() {
            return;
        }
        let expected = format!("{}-{}", step.task, step.place);
        eventually(DEADLINE, async || {
            let held = fs::read_to_string(self.site.join("held")).unwrap_or_default();
            met(held.lines().any(|place| place == expected), held)
        })
        .await;
    }

    fn journal(&self, task: &str) -> Vec<String> {
        let text = fs::read_to_string(self.site.join(format!("{task}.journal")));
        let text = text.unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Panics if anything was made.
    #[track_caller]
    pub(super) fn assert_untouched(&self, task: &str) {
        let journal = self.journal(task);
        assert!(journal.is_empty(), "{task}: {journal:?}");
    }

    /// Waits until everything is made.
    pub(super) async fn wait_until_applied(&self, task: &str) {
        eventually(DEADLINE, async || {
            let journal = self.journal(task);
            let is_made = journal.iter().any(|line| line == "end second");
            met(is_made, format!("{task}: {journal:?}"))
        })
        .await;
    }

    /// Panics unless each object was made once: an object whose command was cut off has not ended.
    #[track_caller]
    pub(super) fn assert_applied_once(&self, step: Step) {
        let Step { task, place, .. } = step;
        let journal = self.journal(task);
        let count = |word: &str, object: &str| {
            let line = format!("{word} {object}");
            journal.iter().filter(|it| **it == line).count()
        };
        assert_eq!(count("end", "second"), 1, "{task}: {journal:?}");
        for object in ["first", "second"] {
            let begun = 1..=if place == object { 2 } else { 1 };
            let is_once = begun.contains(&count("begin", object)) && count("end", object) <= 1;
            assert!(is_once, "{task}: {journal:?}");
        }
    }
}
