//! The fields of a cron expression: lists of values, ranges and steps.

use std::collections::BTreeSet;

use super::invalid_cron::InvalidCron;

const FIRST_YEAR: u32 = 1970;
const LAST_YEAR: u32 = 2099;

/// Fields that are nothing but a set of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldKind {
    Second,
    Minute,
    Hour,
    DayOfMonth,
    Month,
    DayOfWeek,
    Year,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const WEEKDAYS: [&str; 7] = [
    "sunday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
];

impl FieldKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::DayOfMonth => "day-of-month",
            Self::Month => "month",
            Self::DayOfWeek => "day-of-week",
            Self::Year => "year",
        }
    }

    const fn expected(self) -> &'static str {
        match self {
            Self::Second | Self::Minute => "0-59, `*`, ranges and steps",
            Self::Hour => "0-23, `*`, ranges and steps",
            Self::DayOfMonth => "1-31, `*`, ranges and steps, `L`, `LW` or `15W`",
            Self::Month => "1-12 or names, `*`, ranges and steps",
            Self::DayOfWeek => "0-7 or names, `*`, ranges and steps, `5L` or `5#3`",
            Self::Year => "1970-2099, `*`, ranges and steps",
        }
    }

    /// The first and the last value; 7 is Sunday as well, but only the first day counts here.
    const fn bounds(self) -> (u32, u32) {
        match self {
            Self::Second | Self::Minute => (0, 59),
            Self::Hour => (0, 23),
            Self::DayOfMonth => (1, 31),
            Self::Month => (1, 12),
            Self::DayOfWeek => (0, 6),
            Self::Year => (FIRST_YEAR, LAST_YEAR),
        }
    }

    /// One value as written; 7 stays 7.
    fn value(self, text: &str) -> Option<u32> {
        let named = |names: &[&str], first: u32| {
            let position = names.iter().position(|name| {
                name.eq_ignore_ascii_case(text) || name[..3].eq_ignore_ascii_case(text)
            })?;
            Some(u32::try_from(position).ok()? + first)
        };
        let digits = if self == Self::Year { 4 } else { 2 };
        let number = || number(text).filter(|_| text.len() <= digits);
        let (first, last) = self.bounds();
        match self {
            Self::Month => named(&MONTHS, 1).or_else(number),
            Self::DayOfWeek => {
                return named(&WEEKDAYS, 0).or_else(number).filter(|day| *day <= 7);
            }
            Self::Second | Self::Minute | Self::Hour | Self::DayOfMonth | Self::Year => number(),
        }
        .filter(|value| (first..=last).contains(value))
    }

    fn syntax(self, entry: &str) -> InvalidCron {
        InvalidCron::Syntax {
            field: self.name(),
            entry: entry.to_owned(),
            expected: self.expected(),
        }
    }
}

fn number(text: &str) -> Option<u32> {
    let all_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| all_digits)
}

/// The values of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Values(Vec<u32>);

impl Values {
    pub(super) fn contains(&self, value: u32) -> bool {
        self.0.binary_search(&value).is_ok()
    }

    /// The least value that is not below `least`.
    pub(super) fn first_from(&self, least: u32) -> Option<u32> {
        let position = self.0.partition_point(|value| *value < least);
        self.0.get(position).copied()
    }
}

/// The day-of-month field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct DaysOfMonth {
    /// Whether no entry takes every day.
    pub(super) restricted: bool,
    pub(super) every: BTreeSet<u32>,
    /// The last day.
    pub(super) last: bool,
    /// The last day from Monday to Friday.
    pub(super) last_working: bool,
    /// The day from Monday to Friday next to each of these.
    pub(super) working: Vec<u32>,
}

/// The day-of-week field; Sunday is 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct DaysOfWeek {
    /// Whether no entry takes every day.
    pub(super) restricted: bool,
    pub(super) every: BTreeSet<u32>,
    /// The last one of the month.
    pub(super) last: Vec<u32>,
    /// Day and which of the month, from one.
    pub(super) nth: Vec<(u32, u32)>,
}

/// Values of an entry, in any field.
enum Entry {
    Every,
    Some(Vec<u32>),
}

/// Reads a field that is a set of values.
pub(super) fn values(text: &str, kind: FieldKind) -> Result<Values, InvalidCron> {
    // Each once at any time: a long list of ranges has few values, but names them over and over.
    let mut values = BTreeSet::new();
    let mut every = false;
    for entry in entries(text, kind)? {
        match plain(entry, kind)?.ok_or_else(|| kind.syntax(entry))? {
            Entry::Every => every = true,
            Entry::Some(some) => values.extend(some),
        }
    }
    if every {
        let (first, last) = kind.bounds();
        values.extend(first..=last);
    }
    Ok(Values(values.into_iter().collect()))
}

/// Reads the day-of-month field.
pub(super) fn days_of_month(text: &str) -> Result<DaysOfMonth, InvalidCron> {
    let kind = FieldKind::DayOfMonth;
    let mut days = DaysOfMonth {
        restricted: true,
        ..DaysOfMonth::default()
    };
    for entry in entries(text, kind)? {
        match plain(entry, kind)? {
            Some(Entry::Every) => days.restricted = false,
            Some(Entry::Some(some)) => days.every.extend(some),
            None if entry.eq_ignore_ascii_case("l") => days.last = true,
            None if entry.eq_ignore_ascii_case("lw") => days.last_working = true,
            None => {
                let day = entry.strip_suffix(['w', 'W']);
                let day = day.and_then(|day| kind.value(day));
                days.working.push(day.ok_or_else(|| kind.syntax(entry))?);
            }
        }
    }
    Ok(days)
}

/// Reads the day-of-week field.
pub(super) fn days_of_week(text: &str) -> Result<DaysOfWeek, InvalidCron> {
    let kind = FieldKind::DayOfWeek;
    let mut days = DaysOfWeek {
        restricted: true,
        ..DaysOfWeek::default()
    };
    for entry in entries(text, kind)? {
        let syntax = || kind.syntax(entry);
        match plain(entry, kind)? {
            Some(Entry::Every) => days.restricted = false,
            Some(Entry::Some(some)) => days.every.extend(some.into_iter().map(|day| day % 7)),
            None => {
                if let Some((day, which)) = entry.split_once('#') {
                    let day = kind.value(day).ok_or_else(syntax)?;
                    let which = number(which).filter(|which| (1..=5).contains(which));
                    days.nth.push((day % 7, which.ok_or_else(syntax)?));
                } else {
                    let day = entry.strip_suffix(['l', 'L']);
                    let day = day.and_then(|day| kind.value(day));
                    days.last.push(day.ok_or_else(syntax)? % 7);
                }
            }
        }
    }
    Ok(days)
}

/// The entries of a list; places between commas may be empty.
fn entries(text: &str, kind: FieldKind) -> Result<impl Iterator<Item = &str>, InvalidCron> {
    let entries = text.split(',').filter(|entry| !entry.is_empty());
    if entries.clone().next().is_none() {
        return Err(InvalidCron::NoEntry { field: kind.name() });
    }
    Ok(entries)
}

/// An entry of a form that every field has; `None` if it is of none of them.
fn plain(entry: &str, kind: FieldKind) -> Result<Option<Entry>, InvalidCron> {
    if matches!(entry, "*" | "?") {
        return Ok(Some(Entry::Every));
    }
    let (bounds, step) = match entry.split_once('/') {
        Some((bounds, step)) => (bounds, Some(step)),
        None => (entry, None),
    };
    let (least, greatest) = kind.bounds();
    let (first, last) = if bounds == "*" {
        (least, greatest)
    } else if let Some((from, to)) = bounds.split_once('-') {
        let (Some(first), Some(last)) = (kind.value(from), kind.value(to)) else {
            return Ok(None);
        };
        // Sunday ends the week where a range leads up to it by name.
        let is_sunday = kind == FieldKind::DayOfWeek && last == 0 && number(to).is_none();
        (first, if is_sunday && first > 0 { 7 } else { last })
    } else {
        match (kind.value(bounds), step) {
            (Some(value), None) => (value, value),
            // Only a day of the week can exceed the greatest value: 7, from which steps count as from 0.
            (Some(value), Some(_)) if value > greatest => (least, greatest),
            (Some(value), Some(_)) => (value, greatest),
            (None, _) => return Ok(None),
        }
    };
    if first > last {
        return Err(InvalidCron::ReversedRange {
            field: kind.name(),
            entry: entry.to_owned(),
        });
    }
    let step = match step.map(|step| (number(step), step)) {
        None => 1,
        Some((Some(step), _)) if (1..=greatest).contains(&step) => step,
        Some((_, step)) if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) => {
            return Err(InvalidCron::Step {
                field: kind.name(),
                entry: entry.to_owned(),
                greatest,
            });
        }
        Some(_) => return Ok(None),
    };
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    Ok(Some(Entry::Some((first..=last).step_by(step).collect())))
}
