//! Settings that must lie between limits, or be one of a few words.

use std::cell::Cell;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use cts_core::size_text;
use cts_hcl1::ValueKind;

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::decode::units::duration;
use crate::report::location::Located;
use crate::report::suggestion::suggestion;

/// Bare numbers are nanoseconds; what is shorter than this was hardly meant so.
const SHORTEST_MEANT: u64 = 1_000_000;

impl Block<'_> {
    /// A duration in nanoseconds, which may be negative. A bare number that can hardly have been meant as
    /// nanoseconds is taken as such, but not in silence.
    pub(crate) fn duration(&mut self, name: &'static str) -> Option<Located<i64>> {
        let (written, hint) = self.duration_and_hint(name)?;
        if let Some(hint) = hint {
            let duration = Duration::from_nanos(written.value.unsigned_abs());
            let sign = if written.value < 0 { "-" } else { "" };
            let message = format!("`{}` is {sign}{duration:?}: {hint}", self.path_of(name));
            self.sink().warning(&written.place, message);
        }
        Some(written)
    }

    fn duration_and_hint(
        &mut self,
        name: &'static str,
    ) -> Option<(Located<i64>, Option<&'static str>)> {
        let bare = Cell::new(false);
        let written = self.take(name, |value| {
            let kind = &value.kind;
            bare.set(matches!(kind, ValueKind::Number(_) | ValueKind::Bool(_)));
            coerce::duration(value)
        })?;
        let doubtful = (1..SHORTEST_MEANT).contains(&written.value.unsigned_abs());
        let hint = (bare.get() && doubtful)
            .then_some("a bare number is in nanoseconds; give a unit, as in \"30s\"");
        Some((written, hint))
    }

    /// A duration; beyond its limits it is reported, with an example of how to write one.
    pub(crate) fn duration_within(
        &mut self,
        name: &'static str,
        limits: &RangeInclusive<Duration>,
    ) -> Option<Located<Duration>> {
        let (written, hint) = self.duration_and_hint(name)?;
        let value = Duration::from_nanos(written.value.unsigned_abs());
        let path = self.path_of(name);
        if written.value >= 0 && limits.contains(&value) {
            if let Some(hint) = hint {
                let message = format!("`{path}` is {value:?}: {hint}");
                self.sink().warning(&written.place, message);
            }
            return Some(written.map(|_nanoseconds| value));
        }
        let sign = if written.value < 0 { "-" } else { "" };
        let message = format!(
            "`{path}` must be between {} and {}, not {sign}{value:?}",
            duration(*limits.start()),
            duration(*limits.end()),
        );
        let help = hint.map(str::to_owned);
        self.sink().error_with_help(&written.place, message, help);
        None
    }

    /// A whole number; beyond its limits it is reported.
    pub(crate) fn number_within<T>(
        &mut self,
        name: &'static str,
        limits: &RangeInclusive<T>,
    ) -> Option<Located<T>>
    where
        T: TryFrom<i64> + PartialOrd + Display,
    {
        let written = self.take(name, coerce::integer)?;
        let (path, from, to) = (self.path_of(name), limits.start(), limits.end());
        self.sink().checked(written, |integer| {
            let number = T::try_from(integer).ok();
            let refusal = || format!("`{path}` must be between {from} and {to}, not {integer}");
            number
                .filter(|number| limits.contains(number))
                .ok_or_else(refusal)
        })
    }

    /// A number of bytes; beyond its limits it is reported.
    pub(crate) fn size_within<T: TryFrom<u64>>(
        &mut self,
        name: &'static str,
        limits: &RangeInclusive<u64>,
    ) -> Option<Located<T>> {
        let written = self.take(name, coerce::size)?;
        let path = self.path_of(name);
        self.sink().checked(written, |size| {
            let number = T::try_from(size).ok().filter(|_| limits.contains(&size));
            let [from, to, size] = [*limits.start(), *limits.end(), size].map(size_text);
            number.ok_or_else(|| format!("`{path}` must be between {from} and {to}, not {size}"))
        })
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&'static str, T)],
    ) -> Option<Located<T>> {
        let written = self.take(name, coerce::text)?;
        let chosen = choices.iter().find(|(word, _)| *word == written.value);
        if chosen.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
            let message = format!(
                "`{}` must be {}, not {}",
                self.path_of(name),
                quoted.join(" or "),
                coerce::quoted(&written.value)
            );
            let help = suggestion(&written.value, &words);
            self.sink().error_with_help(&written.place, message, help);
        }
        chosen.map(|(_, value)| written.map(|_word| *value))
    }
}
