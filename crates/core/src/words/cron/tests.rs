use chrono::{FixedOffset, Utc};
use proptest::prelude::*;

use super::*;

fn cron(text: &str) -> CronExpression {
    CronExpression::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn time(text: &str) -> NaiveDateTime {
    let formats = ["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"];
    formats
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
        .unwrap_or_else(|| panic!("{text}"))
}

/// Asserts the next times after a Saturday morning.
#[track_caller]
fn assert_next(text: &str, expected: &[&str]) {
    let expression = cron(text);
    let mut now = time("2026-11-21 10:00:00").and_utc();
    for expected in expected {
        now = expression.next_after(&now).expect(text);
        assert_eq!(now.naive_utc(), time(expected), "{text}");
    }
}

#[test]
fn the_dialect_is_understood() {
    // Five, six and seven fields; text after them is ignored.
    assert_next("* * * * *", &["2026-11-21 10:01", "2026-11-21 10:02"]);
    assert_next(
        "30 2 * * Mon-Fri",
        &["2026-11-23 02:30", "2026-11-24 02:30"],
    );
    assert_next("0 0 1 1 * 2030", &["2030-01-01 00:00"]);
    assert_next("15 0 0 1 1 * 2030", &["2030-01-01 00:00:15"]);
    assert_next(
        "*/20 * * * * * *",
        &[
            "2026-11-21 10:00:20",
            "2026-11-21 10:00:40",
            "2026-11-21 10:01",
        ],
    );
    assert_next("0 0 12 * * * * what ever", &["2026-11-21 12:00"]);
    assert_next("\t 5   *\t* * * ", &["2026-11-21 10:05"]);
    // Shorthands.
    assert_next("@hourly", &["2026-11-21 11:00"]);
    assert_next("@daily", &["2026-11-22 00:00"]);
    assert_next("@weekly", &["2026-11-22 00:00", "2026-11-29 00:00"]);
    assert_next("@monthly", &["2026-12-01 00:00"]);
    for yearly in ["@yearly", "@annually"] {
        assert_next(yearly, &["2027-01-01 00:00"]);
    }
    // Wildcards, lists with empty places, ranges, steps.
    assert_next("? ? ? ? ?", &["2026-11-21 10:01"]);
    assert_next(",7,,3, * * * *", &["2026-11-21 10:03", "2026-11-21 10:07"]);
    assert_next(
        "5-7,50/5 * * * *",
        &["2026-11-21 10:05", "2026-11-21 10:06"],
    );
    assert_next("50/5 * * * *", &["2026-11-21 10:50", "2026-11-21 10:55"]);
    assert_next(
        "10-30/10 10 * * *",
        &["2026-11-21 10:10", "2026-11-21 10:20"],
    );
    assert_next("*/59 * * * *", &["2026-11-21 10:59", "2026-11-21 11:00"]);
    assert_next("05 09 * * *", &["2026-11-22 09:05"]);
    assert_next("0 0 1 */6 *", &["2027-01-01 00:00", "2027-07-01 00:00"]);
    assert_next(
        "0 0 1 1 * 2028-2040/4",
        &["2028-01-01 00:00", "2032-01-01 00:00"],
    );
    // Names in any case, short and full.
    assert_next(
        "0 0 1 DEC,february *",
        &["2026-12-01 00:00", "2027-02-01 00:00"],
    );
    assert_next("0 0 1 jan-Mar *", &["2027-01-01 00:00", "2027-02-01 00:00"]);
    assert_next("0 0 * * sUN", &["2026-11-22 00:00"]);
    assert_next("0 0 * * wednesday", &["2026-11-25 00:00"]);
    for sunday in ["0", "7", "07", "00"] {
        assert_next(
            &format!("0 0 * * {sunday}"),
            &["2026-11-22 00:00", "2026-11-29 00:00"],
        );
    }
    for weekend in ["6-7", "Sat-Sun", "0,6", "Sat,7"] {
        let text = format!("0 0 * * {weekend}");
        assert_next(&text, &["2026-11-22 00:00", "2026-11-28 00:00"]);
    }
    assert_next("0 0 * * 7/3", &["2026-11-22 00:00", "2026-11-25 00:00"]);
    assert_next("0 0 * * */6", &["2026-11-22 00:00", "2026-11-28 00:00"]);
}

#[test]
fn days_may_be_counted_from_the_end_and_to_the_next_working_day() {
    assert_next(
        "0 0 L * *",
        &["2026-11-30 00:00", "2026-12-31 00:00", "2027-01-31 00:00"],
    );
    assert_next("0 0 l 2 *", &["2027-02-28 00:00", "2028-02-29 00:00"]);
    // 31 January 2027 is a Sunday, 31 July 2027 a Saturday.
    assert_next("0 0 LW 1,7 *", &["2027-01-29 00:00", "2027-07-30 00:00"]);
    // 1 August 2027 is a Sunday, 1 May 2027 a Saturday: no month is left.
    assert_next("0 0 1W 5,8 *", &["2027-05-03 00:00", "2027-08-02 00:00"]);
    // 15 and 28 November 2026 are a Sunday and a Saturday.
    assert_next("0 0 28w,15W 11 * 2026", &["2026-11-27 00:00"]);
    assert_next("0 0 31W 4,5 *", &["2027-05-31 00:00"]);
    assert_next(
        "0 0 1,L,10-11 * *",
        &["2026-11-30 00:00", "2026-12-01 00:00", "2026-12-10 00:00"],
    );
    // Days of the week.
    assert_next("0 0 * * 5L", &["2026-11-27 00:00", "2026-12-25 00:00"]);
    assert_next(
        "0 0 * * MonL,sunday#1",
        &["2026-11-30 00:00", "2026-12-06 00:00"],
    );
    assert_next("0 0 * * Mon#2", &["2026-12-14 00:00", "2027-01-11 00:00"]);
    assert_next("0 0 * * 7#5", &["2026-11-29 00:00", "2027-01-31 00:00"]);
}

#[test]
fn day_of_month_or_weekday_suffices_if_both_are_restricted() {
    assert_next(
        "0 0 24 * Mon",
        &["2026-11-23 00:00", "2026-11-24 00:00", "2026-11-30 00:00"],
    );
    // A step restricts a field; a wildcard among other entries does not.
    assert_next(
        "0 0 */30 * Mon",
        &["2026-11-23 00:00", "2026-11-30 00:00", "2026-12-01 00:00"],
    );
    assert_next("0 0 1,* * Mon", &["2026-11-23 00:00", "2026-11-30 00:00"]);
    assert_next("0 0 ? * Mon", &["2026-11-23 00:00"]);
    assert_next("0 0 25 * *", &["2026-11-25 00:00"]);
}

#[test]
fn other_texts_are_refused_with_the_field_and_what_it_takes() {
    let cases = [
        ("", "a cron expression is required"),
        (" \t ", "a cron expression is required"),
        ("* * *", "missing field(s): expected at least 5"),
        ("@reboot", "unknown shorthand \"@reboot\""),
        ("@midnight", "unknown shorthand"),
        ("@every 5m", "unknown shorthand \"@every\""),
        ("@Daily", "unknown shorthand"),
        (
            "CRON_TZ=UTC 0 0 * * *",
            "\"CRON_TZ=UTC\" is no entry of the minute field: expected 0-59",
        ),
        ("60 * * * *", "\"60\" is no entry of the minute field"),
        ("005 * * * *", "is no entry of the minute field"),
        ("-5 * * * *", "is no entry of the minute field"),
        ("* 24 * * *", "hour field"),
        ("* * 0 * *", "day-of-month field"),
        ("* * 32 * *", "day-of-month field"),
        ("* * * 13 *", "month field"),
        ("* * * Janu *", "month field"),
        ("* * * * 8", "day-of-week field: expected 0-7"),
        ("* * * * * 1969", "year field"),
        ("* * * * * 2100", "year field"),
        ("* * * * * 30", "year field"),
        ("60 * * * * * *", "second field"),
        (", * * * *", "the minute field has no entry"),
        ("L * * * *", "minute field"),
        ("* * L-3 * *", "day-of-month field"),
        ("* * 1-5W * *", "day-of-month field"),
        ("* * WL * *", "day-of-month field"),
        ("* * * * L", "day-of-week field"),
        ("* * * * 5#6", "day-of-week field"),
        ("* * * * 5#0", "day-of-week field"),
        ("* * * * #1", "day-of-week field"),
        ("*-5 * * * *", "minute field"),
        ("1-2-3 * * * *", "minute field"),
        ("1/2/3 * * * *", "minute field"),
        ("5/ * * * *", "minute field"),
        ("?/5 * * * *", "minute field"),
        (
            "*/0 * * * *",
            "the step of \"*/0\" in the minute field must be between 1 and 59",
        ),
        ("*/60 * * * *", "between 1 and 59"),
        ("* * * * */7", "between 1 and 6"),
        (
            "5-1 * * * *",
            "the range \"5-1\" in the minute field is reversed",
        ),
        ("1,5-1/2 * * * *", "reversed"),
        ("* * * * 5-0", "reversed"),
        ("* * * Oct-Feb *", "reversed"),
        ("0 0 30 2 *", "it never fires"),
        ("0 0 31 2,4,6,9,11 *", "it never fires"),
        ("0 0 29 2 * 2027", "it never fires"),
    ];
    for (text, expected) in cases {
        let error = CronExpression::parse(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}

#[test]
fn the_first_second_of_all_is_a_time() {
    let first = cron("0 0 0 1 1 * 1970");
    let before = time("1969-12-31 23:59:59").and_utc();
    assert_eq!(first.next_after(&before), Some(DateTime::UNIX_EPOCH));
}

#[test]
fn after_the_last_year_there_is_nothing() {
    let past = cron("0 0 1 1 * 1999");
    let after = |text: &str| past.next_after(&time(text).and_utc());
    assert!(after("1998-12-31 00:00").is_some());
    assert_eq!(after("1999-01-01 00:00"), None);
    assert_eq!(
        cron("* * * * *").next_after(&time("2099-12-31 23:59").and_utc()),
        None
    );
}

/// A zone whose clocks are an hour ahead from 29 March to 25 October 2026, each at 01:00 UTC.
#[derive(Debug, Clone, Copy)]
struct Summer;

impl Summer {
    fn east(hours: i32) -> FixedOffset {
        FixedOffset::east_opt(hours * 3600).unwrap()
    }
}

impl TimeZone for Summer {
    type Offset = FixedOffset;

    fn from_offset(_offset: &FixedOffset) -> Self {
        Self
    }

    fn offset_from_local_date(&self, _local: &NaiveDate) -> MappedLocalTime<FixedOffset> {
        unimplemented_in_tests()
    }

    fn offset_from_local_datetime(&self, local: &NaiveDateTime) -> MappedLocalTime<FixedOffset> {
        let fits =
            |offset: &FixedOffset| self.offset_from_utc_datetime(&(*local - *offset)) == *offset;
        let offsets: Vec<_> = [Self::east(2), Self::east(1)]
            .into_iter()
            .filter(fits)
            .collect();
        match offsets.as_slice() {
            [] => MappedLocalTime::None,
            [only] => MappedLocalTime::Single(*only),
            [first, second, ..] => MappedLocalTime::Ambiguous(*first, *second),
        }
    }

    fn offset_from_utc_date(&self, _utc: &NaiveDate) -> FixedOffset {
        unimplemented_in_tests()
    }

    fn offset_from_utc_datetime(&self, utc: &NaiveDateTime) -> FixedOffset {
        let summer = time("2026-03-29 01:00")..time("2026-10-25 01:00");
        Self::east(if summer.contains(utc) { 2 } else { 1 })
    }
}

fn unimplemented_in_tests<T>() -> T {
    panic!("nothing asks for the offset of a date")
}

/// Instants in UTC.
fn in_summer_zone(text: &str, after: &str, count: usize) -> Vec<NaiveDateTime> {
    let expression = cron(text);
    let mut now = time(after).and_utc().with_timezone(&Summer);
    let next = || {
        now = expression.next_after(&now)?;
        Some(now.naive_utc())
    };
    std::iter::from_fn(next).take(count).collect()
}

#[test]
fn times_in_a_skipped_hour_are_left_out() {
    assert_eq!(
        in_summer_zone("30 2 * * *", "2026-03-28 00:00", 2),
        ["2026-03-28 01:30", "2026-03-30 00:30"].map(time)
    );
    assert_eq!(
        in_summer_zone("0,30 * * * *", "2026-03-29 00:00", 3),
        ["2026-03-29 00:30", "2026-03-29 01:00", "2026-03-29 01:30"].map(time)
    );
}

#[test]
fn times_in_a_repeated_hour_occur_twice() {
    assert_eq!(
        in_summer_zone("30 2 * * *", "2026-10-24 12:00", 3),
        ["2026-10-25 00:30", "2026-10-25 01:30", "2026-10-26 01:30"].map(time)
    );
    assert_eq!(
        in_summer_zone("*/30 * * * *", "2026-10-24 23:45", 6),
        [
            "2026-10-25 00:00",
            "2026-10-25 00:30",
            "2026-10-25 01:00",
            "2026-10-25 01:30",
            "2026-10-25 02:00",
            "2026-10-25 02:30"
        ]
        .map(time)
    );
    // The first pass has no match left; 02:10 occurs again in the second pass.
    assert_eq!(
        in_summer_zone("10,40 2 * * *", "2026-10-25 00:45", 2),
        ["2026-10-25 01:10", "2026-10-25 01:40"].map(time)
    );
}

/// Entries that every field accepts, and some that only one field accepts.
fn expression() -> impl Strategy<Value = String> {
    let minute = prop_oneof![
        Just("*".to_owned()),
        (0u32..60).prop_map(|n| n.to_string()),
        Just("*/7".to_owned())
    ];
    let hour = prop_oneof![
        Just("*".to_owned()),
        (0u32..24).prop_map(|n| n.to_string()),
        Just("8-18/3".to_owned())
    ];
    let day = prop_oneof![
        Just("*".to_owned()),
        (1u32..29).prop_map(|n| n.to_string()),
        (1u32..29).prop_map(|n| format!("{n}W")),
        Just("L".to_owned()),
        Just("LW".to_owned())
    ];
    let month = prop_oneof![Just("*".to_owned()), (1u32..13).prop_map(|n| n.to_string())];
    let weekday = prop_oneof![
        Just("*".to_owned()),
        (0u32..8).prop_map(|n| n.to_string()),
        (0u32..8).prop_map(|n| format!("{n}L")),
        (0u32..8, 1u32..5).prop_map(|(n, k)| format!("{n}#{k}"))
    ];
    (0u32..60, minute, hour, day, month, weekday)
        .prop_map(|(s, m, h, d, month, w)| format!("{s} {m} {h} {d} {month} {w} *"))
}

proptest! {
    #[test]
    fn the_next_time_is_later_and_nothing_lies_between(
        text in expression(),
        seconds in 0i64..2_000_000_000,
        part in 0.0f64..1.0,
    ) {
        let expression = cron(&text);
        let after: DateTime<Utc> = DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds) + TimeDelta::nanoseconds(5);
        let next = expression.next_after(&after).unwrap();
        prop_assert!(next > after, "{} {} {}", text, after, next);
        prop_assert_eq!(next.nanosecond(), 0);
        // From any time between the two, the next time is the same.
        let gap = (next - after).num_seconds();
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "any moment will do")]
        let between = after + TimeDelta::seconds((gap as f64 * part) as i64);
        prop_assert_eq!(expression.next_after(&between), Some(next));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[-0-9*/,?LW# a-z@]{0,30}") {
        if let Ok(expression) = CronExpression::parse(&text) {
            let epoch = DateTime::UNIX_EPOCH - TimeDelta::seconds(1);
            prop_assert!(expression.next_after(&epoch).is_some());
        }
    }
}
