//! Cron expressions of `condition "schedule"` (docs/configuration.md#condition).
//!
//! No widely used crate parses this dialect. The nearest, `croner`, has a sixth field for seconds instead of the
//! year, supports neither full names nor `5/20` nor `?` outside the days, refuses a surplus field, and moves times in
//! a skipped hour, which the original does not. To translate between the dialects, every entry of every field would
//! have to be parsed here anyway; only the calendar would remain.

mod calendar;
mod field;
mod invalid_cron;

use chrono::{
    DateTime, Datelike as _, MappedLocalTime, Months, NaiveDate, NaiveDateTime, NaiveTime,
    TimeDelta, TimeZone, Timelike as _,
};

use field::{DaysOfMonth, DaysOfWeek, FieldKind, Values};

pub use invalid_cron::InvalidCron;

/// A cron expression: five fields, six with a year at the end, seven with seconds at the beginning as well.
///
/// The expression fires when its fields match local time. A time in a skipped hour does not occur that day, a time in
/// a repeated hour occurs twice, as in the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronExpression {
    seconds: Values,
    minutes: Values,
    hours: Values,
    days_of_month: DaysOfMonth,
    months: Values,
    days_of_week: DaysOfWeek,
    years: Values,
}

const SHORTHANDS: [(&str, [&str; 7]); 6] = [
    ("@yearly", ["0", "0", "0", "1", "1", "*", "*"]),
    ("@annually", ["0", "0", "0", "1", "1", "*", "*"]),
    ("@monthly", ["0", "0", "0", "1", "*", "*", "*"]),
    ("@weekly", ["0", "0", "0", "*", "*", "0", "*"]),
    ("@daily", ["0", "0", "0", "*", "*", "*", "*"]),
    ("@hourly", ["0", "0", "*", "*", "*", "*", "*"]),
];

impl CronExpression {
    /// Parses an expression. Refuses an expression that matches no time of the years 1970 to 2099.
    pub fn parse(text: &str) -> Result<Self, InvalidCron> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let fields = match words.as_slice() {
            [] => return Err(InvalidCron::Empty),
            [shorthand, ..] if shorthand.starts_with('@') => SHORTHANDS
                .iter()
                .find(|(name, _)| name == shorthand)
                .map(|(_, fields)| *fields)
                .ok_or_else(|| InvalidCron::UnknownShorthand((*shorthand).to_owned()))?,
            &[minute, hour, day, month, weekday] => ["0", minute, hour, day, month, weekday, "*"],
            &[minute, hour, day, month, weekday, year] => {
                ["0", minute, hour, day, month, weekday, year]
            }
            // Text after the seventh field is ignored.
            &[second, minute, hour, day, month, weekday, year, ..] => {
                [second, minute, hour, day, month, weekday, year]
            }
            few => return Err(InvalidCron::MissingFields(few.len())),
        };
        let [second, minute, hour, day, month, weekday, year] = fields;
        let expression = Self {
            seconds: field::values(second, FieldKind::Second)?,
            minutes: field::values(minute, FieldKind::Minute)?,
            hours: field::values(hour, FieldKind::Hour)?,
            days_of_month: field::days_of_month(day)?,
            months: field::values(month, FieldKind::Month)?,
            days_of_week: field::days_of_week(weekday)?,
            years: field::values(year, FieldKind::Year)?,
        };
        match expression.next_local(DateTime::UNIX_EPOCH.naive_utc() - TimeDelta::seconds(1)) {
            Some(_) => Ok(expression),
            None => Err(InvalidCron::Never),
        }
    }

    /// Returns the first time later than `after` at which the expression fires, in the time zone of `after`; `None`
    /// if it does not fire until the end of 2099.
    pub fn next_after<Zone: TimeZone>(&self, after: &DateTime<Zone>) -> Option<DateTime<Zone>> {
        let zone = after.timezone();
        let local = after.naive_local();
        let next = self.first_moment(local, after, &zone);
        // During the first pass of a repeated hour, earlier clock readings are still to come.
        let repeated = match zone.from_local_datetime(&local) {
            MappedLocalTime::Ambiguous(first, second) if *after < second => {
                let again = local - (second - first);
                self.first_moment(again, after, &zone)
            }
            MappedLocalTime::Ambiguous(..) | MappedLocalTime::Single(_) | MappedLocalTime::None => {
                None
            }
        };
        match (next, repeated) {
            (Some(next), Some(repeated)) => Some(next.min(repeated)),
            (next, repeated) => next.or(repeated),
        }
    }

    /// The first time later than `after` whose clock reading is later than `local`.
    fn first_moment<Zone: TimeZone>(
        &self,
        mut local: NaiveDateTime,
        after: &DateTime<Zone>,
        zone: &Zone,
    ) -> Option<DateTime<Zone>> {
        loop {
            local = self.next_local(local)?;
            let (first, second) = match zone.from_local_datetime(&local) {
                MappedLocalTime::Single(moment) => (Some(moment), None),
                MappedLocalTime::Ambiguous(first, second) => (Some(first), Some(second)),
                MappedLocalTime::None => (None, None),
            };
            let later = |moment: &DateTime<Zone>| moment > after;
            if let Some(moment) = first.filter(later).or_else(|| second.filter(later)) {
                return Some(moment);
            }
        }
    }

    /// The first matching clock reading later than `after`, whether or not it exists in the zone.
    fn next_local(&self, after: NaiveDateTime) -> Option<NaiveDateTime> {
        let from = after.with_nanosecond(0)? + TimeDelta::seconds(1);
        let mut date = from.date();
        let mut earliest = from.time();
        loop {
            let year = self
                .years
                .first_from(u32::try_from(date.year()).unwrap_or(0))?;
            let year = i32::try_from(year).ok()?;
            if year != date.year() {
                date = NaiveDate::from_ymd_opt(year, 1, 1)?;
                earliest = NaiveTime::MIN;
            }
            if !self.months.contains(date.month()) {
                date = first_of_next_month(date)?;
                earliest = NaiveTime::MIN;
                continue;
            }
            let days = calendar::days(date, &self.days_of_month, &self.days_of_week);
            if days & (1 << date.day()) != 0
                && let Some(time) = self.first_time_from(earliest)
            {
                return Some(date.and_time(time));
            }
            earliest = NaiveTime::MIN;
            date = match days.checked_shr(date.day() + 1) {
                Some(later) if later != 0 => {
                    date.with_day(date.day() + 1 + later.trailing_zeros())?
                }
                _ => first_of_next_month(date)?,
            };
        }
    }

    fn first_time_from(&self, earliest: NaiveTime) -> Option<NaiveTime> {
        let first = |values: &Values| values.first_from(0);
        let hour = self.hours.first_from(earliest.hour())?;
        if hour > earliest.hour() {
            return NaiveTime::from_hms_opt(hour, first(&self.minutes)?, first(&self.seconds)?);
        }
        let second = self.seconds.first_from(earliest.second());
        let minute = match second {
            Some(_) => earliest.minute(),
            None => earliest.minute() + 1,
        };
        match self.minutes.first_from(minute) {
            Some(minute) if minute == earliest.minute() => {
                NaiveTime::from_hms_opt(hour, minute, second?)
            }
            Some(minute) => NaiveTime::from_hms_opt(hour, minute, first(&self.seconds)?),
            None => {
                let hour = self.hours.first_from(hour + 1)?;
                NaiveTime::from_hms_opt(hour, first(&self.minutes)?, first(&self.seconds)?)
            }
        }
    }
}

fn first_of_next_month(date: NaiveDate) -> Option<NaiveDate> {
    date.with_day(1)?.checked_add_months(Months::new(1))
}

#[cfg(test)]
mod tests;
