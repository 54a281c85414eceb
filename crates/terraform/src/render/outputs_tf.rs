//! `outputs.tf`: outputs of the module that runs report (docs/terraform.md#outputstf).

use cts_core::TaskDefinition;

use super::expression::{quoted, write_assignments};
use super::header::Title;

/// Its name in the task directory.
pub(crate) const OUTPUTS_TF: &str = "outputs.tf";

/// The parts of the file that are known before the module itself can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WantedOutputs {
    /// The module as configured.
    pub(crate) module: String,
    /// The label of the module block.
    label: String,
    header: String,
    /// The outputs of the module.
    pub(crate) names: Vec<String>,
}

impl WantedOutputs {
    /// The outputs that a task wants; `None` without any.
    pub(super) fn of(title: &Title<'_>, definition: &TaskDefinition) -> Option<Self> {
        (!definition.outputs.is_empty()).then(|| Self {
            module: definition.module.clone(),
            label: title.name.to_owned(),
            header: title.header(),
            names: definition.outputs.clone(),
        })
    }

    /// The text of the file, for these outputs and whether they are sensitive.
    pub(crate) fn render(&self, outputs: &[(&str, bool)]) -> String {
        let mut text = self.header.clone();
        for (name, sensitive) in outputs {
            text.push_str("\noutput ");
            text.push_str(&quoted(name));
            text.push_str(" {\n");
            let value = ("value", format!("module.{}.{name}", self.label));
            if *sensitive {
                let sensitive = ("sensitive", "true".to_owned());
                write_assignments(&mut text, &[sensitive, value], 1);
            } else {
                write_assignments(&mut text, &[value], 1);
            }
            text.push_str("}\n");
        }
        text
    }
}
