//! The brake of the fleet for people, and `cts task release -all`.

use chrono::{DateTime, FixedOffset, Local};
use cts_api_client::{ApiClient, Brake};
use cts_proto::cluster::v1 as proto;
use serde_json::json;

use crate::arguments::{Output, Release, TableWidth};
use crate::commands::table::table;
use crate::commands::task::prompt::ask;
use crate::commands::task::session::{ExitStatus, Session};
use crate::commands::terminal_text::on_one_line;
use crate::commands::time_text::{local, moment, time_of_day};

/// Losses that `cts status` shows.
const IN_STATUS: usize = 5;

/// Runs that are named.
const RUNS: usize = 10;

/// Releases the brake: shows what that lets through, asks, and releases no more than it has shown.
pub(in crate::commands::task) async fn release(
    session: &mut Session<'_>,
    options: &Release,
) -> Result<(), ExitStatus> {
    let client = session.client(&options.query.client)?;
    let brake = client.brake().await.map_err(|error| {
        let headline = "Error: unable to read the brake of the fleet";
        session.call_failed(headline, &error)
    })?;
    let released = if brake.set {
        if !options.auto_approve && !is_approved(session, &brake, options).await? {
            return Ok(());
        }
        released(session, &client, &brake).await?
    } else {
        session.ui.note(if brake.configured {
            "The brake of the fleet is not set"
        } else {
            "The brake of the fleet is not configured: there is no `fleet_max_shrink`"
        });
        None
    };
    if let Output::Json = options.query.output {
        let document = json!({ "released": released });
        session.ui.result(&format!("{document:#}\n"));
    }
    Ok(())
}

async fn released(
    session: &mut Session<'_>,
    client: &ApiClient,
    seen: &Brake,
) -> Result<Option<Brake>, ExitStatus> {
    let released = client.release_brake(seen).await.map_err(|error| {
        if error.is_conflict() {
            let headline = "Error: the brake is not released, because more is lost by now";
            let failed = session.call_failed(headline, &error);
            session
                .ui
                .note("Run the command again: it shows the present losses");
            return failed;
        }
        session.call_failed("Error: unable to release the brake of the fleet", &error)
    })?;
    session.ui.note(&match &released {
        Some(brake) => format!(
            "The brake of the fleet is released: {} run with the instances that are left",
            tasks(brake.held)
        ),
        None => "The brake of the fleet has ended since".to_owned(),
    });
    Ok(released)
}

async fn is_approved(
    session: &mut Session<'_>,
    brake: &Brake,
    options: &Release,
) -> Result<bool, ExitStatus> {
    let width = options.query.wide.width();
    let ui = &mut session.ui;
    let since = moment(brake.since).map_or_else(String::new, local);
    ui.info(&format!("The brake of the fleet is {}", set(brake, &since)));
    ui.block(&losses(brake, usize::MAX, width));
    if !brake.leased.is_empty() {
        ui.output("Runs that workers had when it was set take instances away in any case:");
        ui.block(&leased(&brake.leased, width));
    }
    ui.info("Do you want to release the brake of the fleet?");
    ui.output(&format!(
        " - {} run with the instances that are left, and Terraform takes the lost ones away.",
        tasks(brake.held)
    ));
    ui.output(" - This action cannot be undone.");
    ui.output(" - A task whose own shrink limit blocks it stays blocked.");
    ask(session, "Nothing is released").await
}

/// The first lines of `cts status`, with the time of the answer; empty while the brake is not set.
pub(in crate::commands::task) fn first_lines(
    brake: Option<&proto::Brake>,
    at: Option<DateTime<FixedOffset>>,
    width: TableWidth,
) -> String {
    let Some(brake) = brake.filter(|brake| brake.set) else {
        return String::new();
    };
    let since = moment(brake.since).map_or_else(String::new, |since| {
        let day = |time: DateTime<FixedOffset>| time.with_timezone(&Local).date_naive();
        match at {
            Some(at) if day(at) == day(since) => time_of_day(since),
            _ => local(since),
        }
    });
    let to_confirm = brake.leased.iter().filter(|run| run.to_confirm);
    let to_confirm: Vec<_> = to_confirm.cloned().collect();
    let remote = if to_confirm.is_empty() {
        String::new()
    } else {
        format!(
            "Remote runs that take instances away once they are confirmed:\n{}",
            leased(&to_confirm, width)
        )
    };
    format!(
        "Brake: {}; `cts task release -all` lets them run\n{remote}{}\n",
        set(brake, &since),
        losses(brake, IN_STATUS, width)
    )
}

/// The line of `cts status` while a brake is configured and not set.
pub(in crate::commands::task) fn not_set(brake: Option<&proto::Brake>) -> Option<String> {
    let brake = brake.filter(|brake| brake.configured && !brake.set)?;
    Some(format!(
        "not set; lost instances: {} of {}, at most {}",
        grouped(brake.lost),
        grouped(brake.of),
        grouped(brake.limit)
    ))
}

fn set(brake: &proto::Brake, since: &str) -> String {
    let tasks = match brake.held {
        1 => "1 task waits".to_owned(),
        held => format!("{} tasks wait", grouped(held.into())),
    };
    format!(
        "set since {since}: {} of {} instances are lost, {tasks}",
        grouped(brake.lost),
        grouped(brake.of)
    )
}

fn tasks(held: u32) -> String {
    match held {
        1 => "1 task".to_owned(),
        held => format!("{} tasks", grouped(held.into())),
    }
}

fn losses(brake: &proto::Brake, shown: usize, width: TableWidth) -> String {
    let rows = brake.losses.iter().take(shown).map(|loss| {
        let [service, datacenter] =
            [&loss.service, &loss.datacenter].map(|name| on_one_line(name).into_owned());
        let [now, before] = [loss.now, loss.before].map(|number| number.to_string());
        [service, datacenter, now, before]
    });
    let header = ["SERVICE", "DATACENTER", "INSTANCES", "BEFORE"];
    let text = table(header, rows, width);
    let not_shown = brake.losses.iter().skip(shown).map(|_| 1);
    match not_shown.sum::<u64>() + u64::from(brake.more_losses) {
        0 => text,
        more => format!("{text}and {} more losses\n", grouped(more)),
    }
}

fn leased(runs: &[proto::BrakeRun], width: TableWidth) -> String {
    let rows = runs.iter().take(RUNS).map(|run| {
        let state = match (run.to_confirm, run.address.is_empty()) {
            (true, _) => "waits for a confirmation",
            (false, false) => "runs on its server",
            (false, true) => "runs on its worker",
        };
        [
            run.task_name.clone(),
            run.run_id.clone(),
            state.to_owned(),
            on_one_line(&run.address).into_owned(),
        ]
    });
    let text = table(["TASK", "RUN", "STATE", "ADDRESS"], rows, width);
    match runs.len().saturating_sub(RUNS) {
        0 => text,
        more => format!("{text}and {more} more runs\n"),
    }
}

/// A number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brake() -> proto::Brake {
        let loss = |number: u32| proto::BrakeLoss {
            service: format!("web-{number}"),
            datacenter: "dc2".into(),
            before: 100 - number,
            now: 3,
        };
        let run = |to_confirm| proto::BrakeRun {
            task_name: "edge".into(),
            run_id: "r-1".into(),
            address: "https://tfe.example.com/runs/run-1".into(),
            to_confirm,
        };
        proto::Brake {
            configured: true,
            set: true,
            since: Some(prost_types::Timestamp {
                seconds: 1_770_110_130,
                nanos: 0,
            }),
            lost: 230,
            of: 1000,
            limit: 200,
            losses: (1..=7).map(loss).collect(),
            more_losses: 2,
            held: 41,
            leased: vec![run(true), run(false)],
        }
    }

    #[test]
    fn a_set_brake_is_the_first_line_with_the_largest_losses_and_runs_to_confirm() {
        let brake = brake();
        let since = moment(brake.since);
        let text = first_lines(Some(&brake), since, TableWidth::Whole);
        let expected = format!(
            "\
Brake: set since {}: 230 of 1,000 instances are lost, 41 tasks wait; `cts task release -all` lets them run
Remote runs that take instances away once they are confirmed:
TASK  RUN  STATE                     ADDRESS
edge  r-1  waits for a confirmation  https://tfe.example.com/runs/run-1
SERVICE  DATACENTER  INSTANCES  BEFORE
web-1    dc2         3          99
web-2    dc2         3          98
web-3    dc2         3          97
web-4    dc2         3          96
web-5    dc2         3          95
and 4 more losses

",
            time_of_day(since.unwrap())
        );
        assert_eq!(text, expected);
        assert_eq!(not_set(Some(&brake)), None);
    }

    #[test]
    fn a_brake_of_another_day_has_its_date() {
        let brake = brake();
        let since = moment(brake.since).unwrap();
        let text = first_lines(Some(&brake), None, TableWidth::Whole);
        assert!(
            text.starts_with(&format!("Brake: set since {}: ", local(since))),
            "{text}"
        );
    }

    #[test]
    fn a_brake_that_is_not_set_has_its_numbers_below() {
        let loose = proto::Brake {
            set: false,
            lost: 3,
            ..brake()
        };
        assert_eq!(first_lines(Some(&loose), None, TableWidth::Whole), "");
        assert_eq!(
            not_set(Some(&loose)).unwrap(),
            "not set; lost instances: 3 of 1,000, at most 200"
        );
        assert_eq!(not_set(None), None);
        assert_eq!(first_lines(None, None, TableWidth::Whole), "");
    }

    #[test]
    fn numbers_have_groups_of_three_digits() {
        let texts = [0, 7, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "7", "999", "1,000", "1,234,567"]);
    }
}
