//! A plan that is made first, and then applied unchanged or not at all (docs/terraform.md#saved-plans).
//!
//! The file of a plan holds the values of variables and parts of the state. Only its owner may read it. The file exists
//! at most from the end of `plan` to the end of `apply`. With engines that support ephemeral variables the plan holds no
//! arguments of providers.

use std::path::PathBuf;

use cts_core::Chain;

use crate::attempt::Attempt;
use crate::commands::outcome::failed;
use crate::commands::terraform::{PlanOutput, Terraform};
use crate::directory::{make_secret, remove_if_present, write_secret};
use crate::error::CommandError;
use crate::scratch::SAVED_PLAN;
use crate::step::Step;

/// A plan that waits to be applied. Its file is removed when this is dropped.
#[derive(Debug)]
#[must_use = "the plan is forgotten when it is dropped"]
pub struct SavedPlan {
    /// Its name in the directory of the task.
    file: &'static str,
    path: PathBuf,
}

impl Terraform {
    /// Runs `terraform plan` as [`Terraform::plan`] does, and keeps the plan in addition to its output.
    ///
    /// # Cancellation
    /// Like [`Terraform::plan`].
    pub async fn save_plan(
        &self,
        attempt: &Attempt,
    ) -> Result<(SavedPlan, PlanOutput), CommandError> {
        self.save_plan_with(attempt, self.arguments(Step::Plan))
            .await
    }

    pub(crate) async fn save_plan_with(
        &self,
        attempt: &Attempt,
        mut arguments: Vec<String>,
    ) -> Result<(SavedPlan, PlanOutput), CommandError> {
        let path = attempt.directory.path().join(SAVED_PLAN);
        let unwritten = |error| failed(attempt, Step::Plan, error);
        // Terraform writes into this file, and its mode stays.
        write_secret(&path, "").map_err(unwritten)?;
        let plan = SavedPlan {
            file: SAVED_PLAN,
            path,
        };
        arguments.push(format!("-out={SAVED_PLAN}"));
        let mut output = self.plan_with(attempt, arguments).await?;
        make_secret(&plan.path).map_err(unwritten)?;
        output.text.truncate(without_advice(&output.text).len());
        Ok((plan, output))
    }

    /// Runs `terraform apply` with exactly this plan, which Terraform refuses if the state has changed since
    /// the plan was made. The plan can be applied again after a failure that has changed nothing.
    ///
    /// # Cancellation
    /// Like [`Terraform::apply`].
    pub async fn apply_saved(
        &self,
        attempt: &Attempt,
        plan: &SavedPlan,
    ) -> Result<(), CommandError> {
        let mut arguments = self.arguments(Step::Apply);
        arguments.push(plan.file.to_owned());
        self.apply_with(attempt, arguments).await
    }
}

/// The text of a plan without the advice at its end to apply its file, which does not last.
fn without_advice(text: &str) -> &str {
    let ends = [" the plan to: ", " plan was saved to: "];
    let saved = ends
        .iter()
        .find_map(|end| text.rfind(&format!("{end}{SAVED_PLAN}\n")));
    let Some(saved) = saved else {
        return text;
    };
    let line = |end: usize| text[..end].rfind('\n').map_or(0, |at| at + 1);
    let kept = text[..line(saved)].trim_end();
    let rule = &text[line(kept.len())..kept.len()];
    let is_rule = !rule.is_empty() && rule.chars().all(|c| matches!(c, '─' | '-'));
    let kept = if is_rule {
        text[..line(kept.len())].trim_end()
    } else {
        kept
    };
    // With the end of its line.
    let end = text[kept.len()..].find('\n');
    &text[..end.map_or(text.len(), |at| kept.len() + at + 1)]
}

impl SavedPlan {
    /// Its name in the directory of the task.
    pub(crate) const fn file(&self) -> &'static str {
        self.file
    }
}

impl Drop for SavedPlan {
    fn drop(&mut self) {
        if let Err(error) = remove_if_present(&self.path) {
            tracing::warn!(error = %Chain(&error), "the file of a plan is left behind");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_says_nothing_about_its_file() {
        let plan = "\nPlan: 1 to add, 0 to change, 0 to destroy.\n";
        let rules = ["─".repeat(77), "-".repeat(72), String::new()];
        let advices = [
            "Saved the plan to: saved.tfplan\n\nTo perform exactly these actions, run:\n    terraform apply \"saved.tfplan\"\n",
            "This plan was saved to: saved.tfplan\n\nTo perform exactly these actions, run:\n    terraform apply \"saved.tfplan\"\n",
        ];
        for rule in &rules {
            for advice in advices {
                assert_eq!(without_advice(&format!("{plan}\n{rule}\n\n{advice}")), plan);
            }
        }
        // The wide space is part of the line.
        let wide = "Plan: 1 to add\u{3000}\nSaved the plan to: saved.tfplan\n";
        assert_eq!(without_advice(wide), "Plan: 1 to add\u{3000}\n");
        for other in [plan, "", "Saved the plan to: elsewhere\n"] {
            assert_eq!(without_advice(other), other);
        }
    }
}
