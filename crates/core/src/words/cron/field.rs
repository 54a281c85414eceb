//! The fields of a cron expression: lists of values, ranges and steps.

use std::collections::BTreeSet;

use super::invalid_cron::InvalidCron;

const FIRST_YEAR: u32 = 1970;
const LAST_YEAR: u32 = 2099;

/// Fields that are plain sets of values.
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

    /// The first and the last value; 7 is Sunday too, but the range ends before it.
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

    /// Parses one value; 7 stays 7.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Values(Vec<u32>);

impl Values {
    pub(super) fn contains(&self, value: u32) -> bool {
        self.0.binary_search(&value).is_ok()
    }

    /// The smallest value not below `least`.
    pub(super) fn first_from(&self, least: u32) -> Option<u32> {
        let position = self.0.partition_point(|value| *value < least);
        self.0.get(position).copied()
    }
}

/// The day-of-month field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct DaysOfMonth {
    /// Whether every entry restricts the days.
    pub(super) restricted: bool,
    pub(super) every: BTreeSet<u32>,
    /// The last day.
    pub(super) last: bool,
    /// The last day from Monday to Friday.
    pub(super) last_working: bool,
    /// Days whose nearest day from Monday to Friday matches.
    pub(super) working: Vec<u32>,
}

/// The day-of-week field; Sunday is 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct DaysOfWeek {
    /// Whether every entry restricts the days.
    pub(super) restricted: bool,
    pub(super) every: BTreeSet<u32>,
    /// Weekdays whose last occurrence in the month matches.
    pub(super) last: Vec<u32>,
    /// Weekday and its occurrence within the month, starting at 1.
    pub(super) nth: Vec<(u32, u32)>,
}

/// Values of an entry that every field accepts.
enum Entry {
    Every,
    Some(Vec<u32>),
}

/// Parses a field that is a set of values.
pub(super) fn values(text: &str, kind: FieldKind) -> Result<Values, InvalidCron> {
    // A set holds each value once: a long list of ranges has few values, but repeats them.
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

/// The entries of a list, without empty entries.
fn entries(text: &str, kind: FieldKind) -> Result<impl Iterator<Item = &str>, InvalidCron> {
    let entries = text.split(',').filter(|entry| !entry.is_empty());
    if entries.clone().next().is_none() {
        return Err(InvalidCron::NoEntry { field: kind.name() });
    }
    Ok(entries)
}

/// Parses an entry of a form that every field accepts; `None` for other forms.
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
        // Sunday ends the week if it is named as the end of a range.
        let is_sunday = kind == FieldKind::DayOfWeek && last == 0 && number(to).is_none();
        (first, if is_sunday && first > 0 { 7 } else { last })
    } else {
        match (kind.value(bounds), step) {
            (Some(value), None) => (value, value),
            // Only the day-of-week field accepts a value above its greatest: 7, from which steps count as from 0.
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
