//! Places in a local module, as the user knows them.

use cts_core::TaskDefinition;

/// The path of a local module in its task, and that of the copy that Terraform works with.
#[derive(Debug, Clone)]
pub(crate) struct ModulePlace {
    copy: String,
    own: String,
}

impl ModulePlace {
    /// The place of the module of a task; `None` for one that Terraform fetches.
    pub(crate) fn of(task: &TaskDefinition) -> Option<Self> {
        task.module_digest.as_ref()?;
        Some(Self {
            copy: format!(".terraform/modules/{}/", task.name),
            own: format!("{}/", task.module.trim_end_matches('/')),
        })
    }

    /// A text of Terraform with the paths of the user.
    pub(crate) fn shown(&self, text: &str) -> String {
        text.replace(&self.copy, &self.own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_a_local_module_have_the_path_of_the_task() {
        let place = ModulePlace {
            copy: ".terraform/modules/pool/".to_owned(),
            own: "./modules/pool/".to_owned(),
        };
        assert_eq!(
            place.shown("on .terraform/modules/pool/sub/main.tf line 7, in .terraform/modules/pool.child/a.tf"),
            "on ./modules/pool/sub/main.tf line 7, in .terraform/modules/pool.child/a.tf"
        );
    }
}
