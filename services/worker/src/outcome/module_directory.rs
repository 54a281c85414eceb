//! Paths of a local module, as its user wrote them.

use cts_core::{TaskDefinition, TaskName};

/// The directory of a local module in Terraform's messages, and the path of the module in the declaration of its task.
///
/// Terraform copies the package of a module below `.terraform/modules`, and names the copies in its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModuleDirectory {
    /// With a slash at the end.
    copied: String,
    /// With a slash at the end.
    written: String,
}

impl ModuleDirectory {
    /// `None` for a module that is not local. `source` of the definition is the directory on this machine.
    pub(crate) fn of(definition: &TaskDefinition) -> Option<Self> {
        let TaskDefinition {
            name,
            module,
            module_source,
            ..
        } = definition;
        Self::new(name, module, module_source)
    }

    fn new(name: &TaskName, written: &str, source: &str) -> Option<Self> {
        if !written.starts_with(['.', '/']) {
            return None;
        }
        let source = source.trim_end_matches('/');
        let inside = source.split_once("//").map(|(_root, inside)| inside);
        let copied = match inside {
            Some(inside) => format!(".terraform/modules/{name}/{inside}/"),
            None => format!(".terraform/modules/{name}/"),
        };
        let written = format!("{}/", written.trim_end_matches('/'));
        Some(Self { copied, written })
    }

    /// The text with the paths of the declaration.
    pub(crate) fn restore(&self, text: &str) -> String {
        text.replace(&self.copied, &self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(module: &str, source: &str) -> Option<ModuleDirectory> {
        ModuleDirectory::new(&"pool".parse().unwrap(), module, source)
    }

    #[test]
    fn files_of_a_local_module_have_the_path_of_the_declaration() {
        for (module, source, copied) in [
            ("./modules/pool", "/srv/modules/pool", "main.tf"),
            (
                "./modules/pool/",
                "/cache/bundles/1//modules/pool",
                "modules/pool/main.tf",
            ),
            ("./modules/pool", "/.//pool", "pool/main.tf"),
        ] {
            let text = format!("Error: no\n  on .terraform/modules/pool/{copied} line 3, in\n");
            let restored = place(module, source).unwrap().restore(&text);
            assert_eq!(
                restored,
                "Error: no\n  on ./modules/pool/main.tf line 3, in\n"
            );
        }
    }

    #[test]
    fn other_modules_and_other_files_stay_as_they_are() {
        assert_eq!(place("acme/pool/aws", "acme/pool/aws"), None);
        let text = "on main.tf line 3; on .terraform/modules/other/main.tf line 1";
        assert_eq!(place("./m", "/srv/m").unwrap().restore(text), text);
    }
}
