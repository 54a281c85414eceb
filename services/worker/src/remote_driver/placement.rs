//! Placement of the values of a run: in its workspace, or with its remote run (docs/hcp-terraform.md#variables).

use cts_hcp_terraform::{RunVariable, Variable, VariableCategory};

use super::reach::Reach;
use super::target_workspace::TargetWorkspace;
use super::variables::{Values, WantedVariable};

/// The values of a run by their place.
#[derive(Debug, Default)]
pub(crate) struct Placement {
    /// Values that travel with the remote run.
    pub(crate) of_run: Vec<RunVariable>,
    /// Variables of the workspace; `None` if nothing is written there.
    pub(crate) of_workspace: Option<Vec<WantedVariable>>,
    /// Names of variables that the workspace keeps, although the run has no value for them.
    pub(crate) kept: Vec<String>,
    /// Differences between the plan and an apply, one line each.
    pub(crate) notes: Vec<String>,
}

/// Why a plan cannot have the values of its run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PlacementError {
    #[error(
        "the plan needs secret values that the workspace does not have: {}. A plan writes no secrets into a workspace that exists: apply the task once",
        .0.join(", ")
    )]
    MissingSecrets(Vec<String>),
    #[error(
        "the values of {} are too long to travel with a plan, and the workspace has values of the last apply that would win over them: apply the task once",
        .0.join(", ")
    )]
    LongValues(Vec<String>),
}

/// Distributes the values of a run. Data that the run does not have (`lacks_data`) never replaces data of the workspace.
pub(crate) fn place(
    values: Values,
    reach: Reach,
    lacks_data: bool,
    target: TargetWorkspace<'_>,
) -> Result<Placement, PlacementError> {
    let writes = reach.changes() || target.is_disposable;
    let mut placed = Placement::default();
    let mut written = Vec::new();
    let mut missing = Vec::new();
    let mut other = Vec::new();
    let mut unknown = Vec::new();
    if !writes {
        let long = values.long.into_iter();
        let long: Vec<String> = long
            .filter(|name| find(target.present, name, VariableCategory::Terraform).is_some())
            .collect();
        if !long.is_empty() {
            return Err(PlacementError::LongValues(long));
        }
    }
    for variable in values.variables {
        let there = find(target.present, &variable.key, variable.category);
        let of_run = variable.of_run();
        if variable.is_data && lacks_data {
            placed.of_run.extend(of_run.filter(|_| there.is_none()));
            placed.kept.push(variable.key);
        } else if let Some(of_run) = of_run.filter(|_| !reach.changes()) {
            placed.of_run.push(of_run);
        } else if writes {
            written.push(variable);
        } else if let Some(there) = there {
            match variable.is_the_written(there, target.workspace_id) {
                Some(true) => {}
                Some(false) => other.push(variable.key),
                None => unknown.push(variable.key),
            }
        } else {
            missing.push(variable.key);
        }
    }
    if !missing.is_empty() {
        return Err(PlacementError::MissingSecrets(missing));
    }
    if !other.is_empty() {
        placed.notes.push(format!(
            "the plan has the secret values of the last apply, and the next apply has others: {}",
            other.join(", ")
        ));
    }
    if !unknown.is_empty() {
        placed.notes.push(format!(
            "the plan has the secret values of the workspace, and whether the next apply has others is not known: {}",
            unknown.join(", ")
        ));
    }
    placed.of_workspace = writes.then_some(written);
    Ok(placed)
}

fn find<'a>(
    present: &'a [Variable],
    key: &str,
    category: VariableCategory,
) -> Option<&'a Variable> {
    let mut present = present.iter();
    present.find(|variable| variable.key == key && variable.category == category)
}

#[cfg(test)]
mod tests {
    use cts_terraform::RenderedVariable;

    use super::super::variables::{drafted, values};
    use super::*;

    fn rendered(name: &str, value: &str, is_sensitive: bool) -> RenderedVariable {
        RenderedVariable {
            name: name.to_owned(),
            value: value.to_owned(),
            is_sensitive,
            is_data: name == "services",
        }
    }

    fn given(secret: &str) -> Values {
        let rendered = vec![
            rendered("services", "{}", false),
            rendered("zone", "1", false),
            rendered("fw", secret, true),
        ];
        values(rendered, &[("FW_TOKEN".to_owned(), "t".to_owned())])
    }

    /// The variables of a workspace after an apply with this secret.
    fn applied(secret: &str) -> Vec<Variable> {
        let variables = given(secret).variables.into_iter();
        variables
            .map(|variable| drafted(&variable, "ws-1"))
            .collect()
    }

    fn placed(
        (secret, reach, lacks_data): (&str, Reach, bool),
        present: &[Variable],
        is_disposable: bool,
    ) -> Result<Placement, PlacementError> {
        let workspace = TargetWorkspace {
            workspace_id: "ws-1",
            present,
            is_disposable,
        };
        place(given(secret), reach, lacks_data, workspace)
    }

    fn of_run(placement: &Placement) -> Vec<&str> {
        let variables = placement.of_run.iter();
        variables.map(|variable| variable.key.as_str()).collect()
    }

    fn of_workspace(placement: &Placement) -> Option<Vec<&str>> {
        let variables = placement.of_workspace.as_ref()?.iter();
        Some(variables.map(|variable| variable.key.as_str()).collect())
    }

    #[test]
    fn an_apply_writes_everything_and_a_plan_nothing() {
        let present = applied("s");
        let apply = placed(("s", Reach::Changes, false), &present, false).unwrap();
        let all = Some(vec!["services", "zone", "fw", "FW_TOKEN"]);
        assert_eq!((of_run(&apply), of_workspace(&apply)), (vec![], all));
        let plan = placed(("s", Reach::Plans, false), &present, false).unwrap();
        assert_eq!(of_run(&plan), ["services", "zone"]);
        assert_eq!((of_workspace(&plan), plan.notes.len()), (None, 0));
    }

    #[test]
    fn a_plan_says_that_its_secrets_are_not_those_of_the_next_apply() {
        let plan = placed(("t", Reach::Plans, false), &applied("s"), false).unwrap();
        let [note] = plan.notes.as_slice() else {
            panic!("{:?}", plan.notes);
        };
        assert!(note.ends_with("the next apply has others: fw"), "{note}");
        let mut present = applied("s");
        for variable in &mut present {
            variable.attributes.description = "managed by cts; edits are replaced".to_owned();
        }
        let plan = placed(("s", Reach::Plans, false), &present, false).unwrap();
        let [note] = plan.notes.as_slice() else {
            panic!("{:?}", plan.notes);
        };
        assert!(note.ends_with("is not known: fw, FW_TOKEN"), "{note}");
    }

    #[test]
    fn a_plan_without_a_secret_in_its_workspace_is_refused_unless_the_workspace_goes_with_it() {
        let refused = placed(("s", Reach::Plans, false), &[], false).unwrap_err();
        let missing = ["fw", "FW_TOKEN"].map(str::to_owned).to_vec();
        assert_eq!(refused, PlacementError::MissingSecrets(missing));
        let plan = placed(("s", Reach::Plans, false), &[], true).unwrap();
        assert_eq!(of_run(&plan), ["services", "zone"]);
        assert_eq!(of_workspace(&plan), Some(vec!["fw", "FW_TOKEN"]));
    }

    #[test]
    fn an_input_without_data_sets_no_variable_of_data() {
        for reach in [Reach::Plans, Reach::Changes] {
            let present = applied("s");
            let placement = placed(("s", reach, true), &present, false).unwrap();
            assert!(!of_run(&placement).contains(&"services"), "{reach:?}");
            let written = of_workspace(&placement).unwrap_or_default();
            assert!(!written.contains(&"services"), "{reach:?}");
            assert_eq!(placement.kept, ["services"], "{reach:?}");
            let without = &present[1..];
            let placement = placed(("s", reach, true), without, false).unwrap();
            assert!(of_run(&placement).contains(&"services"), "{reach:?}");
        }
    }

    #[test]
    fn a_long_value_does_not_lose_against_one_of_the_last_apply() {
        let long = "1".repeat(cts_hcp_terraform::LONGEST_VALUE + 1);
        let long = || values(vec![rendered("services", &long, false)], &[]);
        let applied = applied("s");
        let workspace = |present| TargetWorkspace {
            workspace_id: "ws-1",
            present,
            is_disposable: false,
        };
        let refused = place(long(), Reach::Plans, false, workspace(&applied)).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("values of services are too long")
        );
        for (reach, present) in [(Reach::Plans, &[][..]), (Reach::Changes, &applied)] {
            place(long(), reach, false, workspace(present)).unwrap();
        }
    }
}
