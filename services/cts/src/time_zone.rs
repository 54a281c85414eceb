//! The time zone of schedules and log lines, which `TZ` may name.

use std::path::Path;

use chrono::Local;
use cts_runtime::ProcessEnv;

/// Directories with the time zones of a system, as the `chrono` crate looks for them.
const ZONES: [&str; 4] = [
    "/usr/share/zoneinfo",
    "/share/zoneinfo",
    "/etc/zoneinfo",
    "/usr/share/lib/zoneinfo",
];

/// An unknown `TZ` is otherwise only noticed by ticks of schedules at other times.
pub(crate) fn warn_of_unknown(process_env: &ProcessEnv) {
    let environment = process_env.text_environment();
    let Some(zone) = environment.get("TZ").filter(|zone| !is_known(zone)) else {
        return;
    };
    let now = process_env.clock.now().with_timezone(&Local);
    tracing::warn!(
        target: "cli",
        TZ = zone,
        used = %now.offset(),
        "the environment variable TZ names no time zone that this machine knows, so another one is used for schedules and \
         log lines: correct the name, or install the time zones of the system (tzdata)"
    );
}

/// Whether this is the name of a time zone with a file, or a POSIX rule (`CET-1CEST`).
fn is_known(zone: &str) -> bool {
    let name = zone.strip_prefix(':').unwrap_or(zone);
    // A system without time zones uses UTC.
    if matches!(name, "" | "UTC" | "GMT" | "Etc/UTC" | "localtime") {
        return true;
    }
    // An absolute path replaces the directory.
    let mut files = ZONES.iter().map(|folder| Path::new(folder).join(name));
    files.any(|file| file.is_file()) || is_rule(zone.trim_ascii())
}

/// A rule begins with a name and an offset.
fn is_rule(text: &str) -> bool {
    let offset = if let Some(quoted) = text.strip_prefix('<') {
        quoted.split_once('>').map(|(_name, offset)| offset)
    } else {
        let offset = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        (text.len() - offset.len() >= 3).then_some(offset)
    };
    let offset = offset.map(|offset| offset.strip_prefix(['+', '-']).unwrap_or(offset));
    offset.is_some_and(|offset| offset.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_time_zone_is_unknown() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        for known in [
            "",
            "UTC",
            ":UTC",
            path,
            "CET-1CEST,M3.5.0,M10.5.0/3",
            "EST5",
            "<+03>-3",
        ] {
            assert!(is_known(known), "{known}");
        }
        for unknown in [
            "Europe/Berln",
            "/no/such/file",
            "CEST ",
            "A1",
            "+1",
            "<+03",
            "Mars/Base1",
        ] {
            assert!(!is_known(unknown), "{unknown}");
        }
    }
}
