//! The days of a month that a cron expression matches.

use chrono::{Datelike as _, NaiveDate};

use super::field::{DaysOfMonth, DaysOfWeek};

const SATURDAY: u32 = 6;

/// The matching days of the month of `date`, day `n` as bit `n`. If both fields are restricted, days that match
/// either field count.
pub(super) fn days(date: NaiveDate, of_month: &DaysOfMonth, of_week: &DaysOfWeek) -> u32 {
    let month = Month::of(date);
    match (of_month.restricted, of_week.restricted) {
        (false, false) => month.all(),
        (true, false) => month.of_month(of_month),
        (false, true) => month.of_week(of_week),
        (true, true) => month.of_month(of_month) | month.of_week(of_week),
    }
}

/// One month of one year.
#[derive(Debug, Clone, Copy)]
struct Month {
    last: u32,
    /// Weekday of its first day.
    begins_on: u32,
}

impl Month {
    fn of(date: NaiveDate) -> Self {
        let weekday = date.weekday().num_days_from_sunday();
        Self {
            last: u32::from(date.num_days_in_month()),
            begins_on: (weekday + 35 + 1 - date.day()) % 7,
        }
    }

    fn all(self) -> u32 {
        (1..=self.last).fold(0, |days, day| days | 1 << day)
    }

    fn weekday(self, day: u32) -> u32 {
        (self.begins_on + day - 1) % 7
    }

    /// The first day of the month with this weekday.
    fn first(self, weekday: u32) -> u32 {
        (weekday + 7 - self.begins_on) % 7 + 1
    }

    fn of_month(self, field: &DaysOfMonth) -> u32 {
        let every = field.every.iter().copied();
        let last = field.last.then_some(self.last);
        let last_working = field.last_working.then(|| self.nearest_working(self.last));
        // A day that the month lacks has no nearest working day.
        let working = field.working.iter().filter(|day| **day <= self.last);
        let working = working.map(|day| self.nearest_working(*day));
        let days = every.chain(last).chain(last_working).chain(working);
        days.fold(0, |days, day| days | 1 << day) & self.all()
    }

    /// Returns the day itself if it is not on a weekend, else the Friday before or the Monday after, in the
    /// same month.
    fn nearest_working(self, day: u32) -> u32 {
        match self.weekday(day) {
            SATURDAY if day == 1 => 3,
            SATURDAY => day - 1,
            0 if day == self.last => day - 2,
            0 => day + 1,
            _ => day,
        }
    }

    fn of_week(self, field: &DaysOfWeek) -> u32 {
        let every = field.every.iter();
        let every = every.flat_map(|weekday| (self.first(*weekday)..=self.last).step_by(7));
        let nth = field.nth.iter();
        let nth = nth.map(|(weekday, which)| self.first(*weekday) + (which - 1) * 7);
        let last = field.last.iter().map(|weekday| {
            let first = self.first(*weekday);
            first + (self.last - first) / 7 * 7
        });
        let days = every.chain(nth).chain(last).filter(|day| *day <= self.last);
        days.fold(0, |days, day| days | 1 << day)
    }
}
