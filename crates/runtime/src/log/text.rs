//! Lines for people (docs/cli.md#log).
//!
//! Values come from Consul, the API and Terraform too. None of them can begin a line of its own, fake a
//! field or steer a terminal: what could is quoted or escaped, and every further line has a prefix.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use chrono::{DateTime, Offset as _, TimeZone};
use cts_core::LogLevel;

use crate::log::line::{Line, Value};

/// Prefix of the name of a value of several lines; no line with a time begins with it.
const FIELD_PREFIX: &str = "  ";

/// Prefix of each line of such a value.
const LINE_PREFIX: &str = "  | ";

/// The line with values of several lines below it; without the last line break.
pub(super) fn shown(line: &Line) -> String {
    let (long, short): (Vec<_>, Vec<_>) = line
        .fields
        .iter()
        .partition(|(_, value)| matches!(value, Value::Text(text) if is_long(text)));
    let mut text = head(line);
    if short.is_empty() && !long.is_empty() {
        text.push(':');
    }
    add_fields(&mut text, short.into_iter());
    for (name, value) in long {
        text.push('\n');
        text.push_str(FIELD_PREFIX);
        text.push_str(name);
        text.push('=');
        let value = value.to_string();
        for part in value.strip_suffix('\n').unwrap_or(&value).split('\n') {
            text.push('\n');
            text.push_str(LINE_PREFIX);
            push_visible(&mut text, part);
        }
    }
    text
}

/// Everything on one line.
pub(super) fn on_one_line(line: &Line) -> String {
    let mut text = head(line);
    add_fields(&mut text, line.fields.iter());
    text
}

fn head(line: &Line) -> String {
    let time = time_text(&line.time);
    let level = match line.level {
        LogLevel::Trace => "[TRACE]",
        LogLevel::Debug => "[DEBUG]",
        LogLevel::Info => "[INFO] ",
        LogLevel::Warn => "[WARN] ",
        LogLevel::Error => "[ERROR]",
    };
    let mut text = format!("{time} {level} {}: ", line.module);
    push_visible(&mut text, &line.message);
    text
}

/// The time as the original writes it: `Z` in UTC, elsewhere the zone without a colon.
fn time_text<Zone: TimeZone>(time: &DateTime<Zone>) -> String
where
    Zone::Offset: Display,
{
    let format = match time.offset().fix().local_minus_utc() {
        0 => "%Y-%m-%dT%H:%M:%S%.3fZ",
        _ => "%Y-%m-%dT%H:%M:%S%.3f%z",
    };
    time.format(format).to_string()
}

fn add_fields<'a>(text: &mut String, fields: impl Iterator<Item = &'a (&'static str, Value)>) {
    for (position, (name, value)) in fields.enumerate() {
        text.push_str(if position == 0 { ": " } else { " " });
        text.push_str(name);
        text.push('=');
        match value {
            Value::Text(value) if needs_quotes(value) => {
                // Writing to a text cannot fail.
                let _written = write!(text, "{value:?}");
            }
            value => text.push_str(&value.to_string()),
        }
    }
}

/// Whether a value has several lines. One that merely ends its only line has not.
fn is_long(text: &str) -> bool {
    text.strip_suffix('\n').unwrap_or(text).contains('\n')
}

fn needs_quotes(text: &str) -> bool {
    let is_plain = |c: char| !c.is_whitespace() && is_visible(c) && c != '"' && c != '=';
    let plain = !text.is_empty() && text.chars().all(is_plain);
    !plain && !is_quoted(text)
}

/// Whether a text is one quoted text already, as the debug form of a text is.
fn is_quoted(text: &str) -> bool {
    let inside = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let Some(inside) = inside else { return false };
    let mut escaped = false;
    for character in inside.chars() {
        if !escaped && character == '"' || !is_visible(character) {
            return false;
        }
        escaped = !escaped && character == '\\';
    }
    !escaped
}

/// A line of another program with what could steer a terminal escaped, but for tabulators.
pub fn visible(line: &str) -> Cow<'_, str> {
    let is_plain = |character: char| character == '\t' || is_visible(character);
    if line.chars().all(is_plain) {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len());
    for part in line.split_inclusive('\t') {
        let tabulator = part.ends_with('\t');
        push_visible(&mut text, part.trim_end_matches('\t'));
        text.extend(tabulator.then_some('\t'));
    }
    Cow::Owned(text)
}

fn push_visible(text: &mut String, part: &str) {
    for character in part.chars() {
        if is_visible(character) {
            text.push(character);
        } else {
            text.extend(character.escape_debug());
        }
    }
}

/// Whether a character is shown as itself: no control character, no other line break, nothing that
/// turns the direction of the text.
fn is_visible(character: char) -> bool {
    matches!(character, '"' | '\'' | '\\') || character.escape_debug().len() == 1
}

#[cfg(test)]
mod tests {
    use chrono::{FixedOffset, Local};

    use super::*;

    #[test]
    fn lines_of_others_steer_no_terminal() {
        assert_eq!(visible("a\tb é \"c\""), "a\tb é \"c\"");
        assert_eq!(visible("\u{1b}[2J\ta\r\t"), "\\u{1b}[2J\ta\\r\t");
    }

    fn line(message: &str, fields: &[(&'static str, &str)]) -> Line {
        let fields = fields.iter();
        Line {
            time: DateTime::from_timestamp(1_770_000_000, 123_456_000)
                .unwrap()
                .with_timezone(&Local),
            level: LogLevel::Info,
            module: "ctrl".into(),
            message: message.into(),
            fields: fields
                .map(|(name, value)| (*name, Value::Text((*value).into())))
                .collect(),
            trace: None,
        }
    }

    fn rest(text: &str) -> &str {
        text.split_once(' ').unwrap().1
    }

    #[test]
    fn a_line_has_local_time_with_its_zone_level_and_module() {
        let line = line("task ran", &[("task_name", "web")]);
        let text = shown(&line);
        let (time, rest) = text.split_once(' ').unwrap();
        assert_eq!(rest, "[INFO]  ctrl: task ran: task_name=web");
        assert_eq!(time, time_text(&line.time));
    }

    #[test]
    fn the_zone_is_a_letter_in_utc() {
        let cases = [
            (0, "2026-02-02T02:40:00.123Z"),
            (7200, "2026-02-02T04:40:00.123+0200"),
            (-12600, "2026-02-01T23:10:00.123-0330"),
        ];
        for (seconds, expected) in cases {
            let zone = FixedOffset::east_opt(seconds).unwrap();
            let time = DateTime::from_timestamp(1_770_000_000, 123_456_000).unwrap();
            assert_eq!(time_text(&time.with_timezone(&zone)), expected);
        }
    }

    #[test]
    fn values_that_could_mislead_are_quoted() {
        let cases = [
            ("web", "web"),
            ("", "\"\""),
            ("a b", "\"a b\""),
            ("a=b", "\"a=b\""),
            ("say \"x\"", "\"say \\\"x\\\"\""),
            ("\"a\" b=\"c\"", "\"\\\"a\\\" b=\\\"c\\\"\""),
            ("\"as debug \\\"x\\\"\"", "\"as debug \\\"x\\\"\""),
            ("\"open\\\"", "\"\\\"open\\\\\\\"\""),
            ("a\rb", "\"a\\rb\""),
            ("only\n", "\"only\\n\""),
            ("\u{1b}[2J", "\"\\u{1b}[2J\""),
            ("a\u{202e}b", "\"a\\u{202e}b\""),
            ("a\u{2028}b", "\"a\\u{2028}b\""),
            ("größe", "größe"),
        ];
        for (value, expected) in cases {
            let text = shown(&line("m", &[("k", value)]));
            assert_eq!(rest(&text), format!("[INFO]  ctrl: m: k={expected}"));
        }
    }

    #[test]
    fn values_of_several_lines_follow_with_a_prefix_that_they_cannot_leave() {
        let plan =
            "Plan: 1 to add\n2026-02-03T10:15:30.123+0100 [INFO]  fake: line\r\n\u{1b}[1mend\n";
        let text = shown(&line("plan", &[("plan", plan), ("task_name", "web")]));
        assert_eq!(
            rest(&text),
            "[INFO]  ctrl: plan: task_name=web\n  plan=\n  | Plan: 1 to add\n  | \
             2026-02-03T10:15:30.123+0100 [INFO]  fake: line\\r\n  | \\u{1b}[1mend"
        );
        let text = shown(&line("plan", &[("plan", "a\n\nb")]));
        assert_eq!(
            rest(&text),
            "[INFO]  ctrl: plan:\n  plan=\n  | a\n  | \n  | b"
        );
    }

    #[test]
    fn a_message_stays_on_its_line() {
        let text = shown(&line("a\nb \"c\"", &[]));
        assert_eq!(rest(&text), "[INFO]  ctrl: a\\nb \"c\"");
    }

    #[test]
    fn one_line_is_one_line() {
        let text = on_one_line(&line("plan", &[("plan", "a\nb"), ("task_name", "web")]));
        assert_eq!(
            rest(&text),
            "[INFO]  ctrl: plan: plan=\"a\\nb\" task_name=web"
        );
    }
}
