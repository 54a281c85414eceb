//! Parts of the overview as `cts status` and the page show them (docs/rest.md#overview).

use crate::cluster::v1::GetOverviewResponse;
use crate::json::Word as _;
use crate::task::v1::CurrentStateName;

/// The number of problems: `No problems`, `1 problem`, `12 problems`.
pub fn problems(overview: &GetOverviewResponse) -> String {
    let more = usize::try_from(overview.more_problems).unwrap_or_default();
    match overview.problems.len() + more {
        0 => "No problems".to_owned(),
        1 => "1 problem".to_owned(),
        number => format!("{number} problems"),
    }
}

/// The number of tasks in each state: `: 1 blind, 9 successful`; empty without a task.
pub fn states(overview: &GetOverviewResponse) -> String {
    let states = overview.tasks.iter().enumerate();
    let states = states.map(|(place, (state, number))| {
        let mark = if place == 0 { ":" } else { "," };
        format!("{mark} {number} {}", state.replace('_', " "))
    });
    states.collect()
}

/// The number of all tasks.
pub fn tasks(overview: &GetOverviewResponse) -> u32 {
    overview.tasks.values().sum()
}

/// The character of a state in the grid (docs/rest.md#pages-and-grid).
pub const fn grid_character(state: CurrentStateName) -> char {
    match state {
        CurrentStateName::Unspecified => '?',
        CurrentStateName::Running => 'r',
        CurrentStateName::Waiting => 'w',
        CurrentStateName::Queued => 'q',
        CurrentStateName::Retrying => 't',
        CurrentStateName::Blocked => 'b',
        CurrentStateName::Blind => 'l',
        CurrentStateName::Disabled => 'd',
        CurrentStateName::Deleting => 'g',
        CurrentStateName::NeverRun => 'n',
        CurrentStateName::Successful => 's',
        CurrentStateName::Errored => 'e',
        CurrentStateName::Critical => 'c',
    }
}

/// The name of the state that a character of the grid stands for; `unknown` for a character of a newer version.
pub fn state_of_grid(character: char) -> String {
    let states = (0..).map_while(|number: i32| CurrentStateName::try_from(number).ok());
    let mut states = states.filter(|state| grid_character(*state) == character);
    states.next().unwrap_or_default().word()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_character_leads_back_to_its_state() {
        let states = "rwqtbldgnsec?☃".chars().map(state_of_grid);
        let expected = [
            "running",
            "waiting",
            "queued",
            "retrying",
            "blocked",
            "blind",
            "disabled",
            "deleting",
            "never_run",
            "successful",
            "errored",
            "critical",
            "unknown",
            "unknown",
        ];
        assert_eq!(states.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn problems_that_are_left_out_count() {
        let overview = |more_problems| GetOverviewResponse {
            more_problems,
            ..GetOverviewResponse::default()
        };
        let shown = [0, 1, 12].map(|more| problems(&overview(more)));
        assert_eq!(shown, ["No problems", "1 problem", "12 problems"]);
    }
}
