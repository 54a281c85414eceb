//! Claims of a token.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cts_core::callers::Role;
use cts_core::excerpt;
use serde_json::{Map, Value};

use super::settings::IssuerSettings;

/// Characters of each part of a summary.
const SHOWN: usize = 1000;

/// Claims whose text is a list with blanks (RFC 6749, RFC 8693).
const BLANK_SEPARATED: [&str; 2] = ["scope", "scp"];

/// A claim with seconds since 1970; `None` if it is missing or something else.
pub(super) fn moment(claims: &Map<String, Value>, name: &str) -> Option<DateTime<Utc>> {
    let seconds = claims.get(name)?.as_f64()?;
    if !(0.0..1e11).contains(&seconds) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    DateTime::from_timestamp(seconds as i64, 0)
}

pub(super) fn text<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    found(claims, name)?
        .as_str()
        .filter(|text| !text.is_empty())
}

/// The role with all rights that a claim gives, which is a text or a list of texts.
pub(super) fn role(
    claims: &Map<String, Value>,
    name: &str,
    roles: &BTreeMap<String, Role>,
) -> Option<Role> {
    let of = |text: &str| roles.get(text).copied();
    match found(claims, name)? {
        Value::Array(values) => {
            let texts = values.iter().filter_map(Value::as_str);
            texts.filter_map(of).reduce(Role::with)
        }
        Value::String(text) if BLANK_SEPARATED.contains(&name) => {
            text.split(' ').filter_map(of).reduce(Role::with)
        }
        Value::String(text) => of(text),
        _ => None,
    }
}

/// The names of all claims, and the values of those that `settings` reads.
pub(super) fn summary(claims: &Map<String, Value>, settings: &IssuerSettings) -> String {
    let read = [&settings.role_claim, &settings.name_claim].map(|name| {
        let value = found(claims, name);
        value.map_or_else(
            || format!("`{name}` is missing"),
            |value| format!("`{name}` is {value}"),
        )
    });
    let mut names: Vec<&str> = claims.keys().map(String::as_str).collect();
    names.sort_unstable();
    let names = excerpt(&names.join(", "), SHOWN);
    let [role, name] = read.map(|text| excerpt(&text, SHOWN));
    format!("{role}; {name}; claims of the token: {names}")
}

/// The claim with this name, else at this path. Dots may also be part of a name in the path.
fn found<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(name) {
        return Some(value);
    }
    let mut paths = name.match_indices('.').filter_map(|(dot, _)| {
        let inner = claims.get(&name[..dot])?.as_object()?;
        found(inner, &name[dot + 1..])
    });
    paths.next()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_roles_of_a_text_or_a_list_add_up() {
        let claims = json!({
            "group": "ops",
            "groups": ["x", "ops", "platform", 1],
            "duties": ["consent", "ops", "x"],
            "realm": {"roles": ["ops"]},
            "resource_access": {"cts.example": {"roles": ["platform"]}},
            "https://cts.example/roles": ["platform"],
            "scope": "openid ops",
            "department": "not ops",
        });
        let claims = claims.as_object().unwrap();
        let roles = [
            ("ops", Role::Operate),
            ("platform", Role::Admin),
            ("consent", Role::Approve),
        ];
        let roles = roles.map(|(name, role)| (name.to_owned(), role)).into();
        for (name, expected) in [
            ("group", Some(Role::Operate)),
            ("groups", Some(Role::Admin)),
            ("duties", Some(Role::OperateApprove)),
            ("realm.roles", Some(Role::Operate)),
            ("https://cts.example/roles", Some(Role::Admin)),
            ("resource_access.cts.example.roles", Some(Role::Admin)),
            ("scope", Some(Role::Operate)),
            ("department", None),
            ("realm", None),
            ("group.ops", None),
            ("other", None),
        ] {
            assert_eq!(role(claims, name, &roles), expected, "{name}");
        }
    }

    #[test]
    fn a_time_is_a_number_of_seconds() {
        for (value, expected) in [
            (json!(1_700_000_000), Some(1_700_000_000)),
            (json!(1_700_000_000.5), Some(1_700_000_000)),
            (json!("1700000000"), None),
            (json!(-1), None),
            (json!(1e300), None),
        ] {
            let claims = json!({"exp": value});
            let read = moment(claims.as_object().unwrap(), "exp");
            assert_eq!(read.map(|at| at.timestamp()), expected, "{claims}");
        }
    }
}
