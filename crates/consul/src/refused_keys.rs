//! Versions of Consul that refuse keys with a colon, which the keys of Terraform's states have.

/// Consul's answer to a request for such a key.
const REFUSAL: &str = "invalid key name";

/// The remedy, as an instruction.
pub const REFUSED_KEY_REMEDY: &str = "update Consul (1.21.6, 1.22 and newer take such keys), or keep the states elsewhere: `backend` in the driver block";

/// Whether a text has Consul's refusal of a key. An engine wraps its texts, and draws a frame in front of each line.
pub fn refuses_key(text: &str) -> bool {
    let words = text.split(|c: char| c.is_whitespace() || c == '│');
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ").contains(REFUSAL)
}

/// Describes the refusal by a Consul of this version, if that is known.
pub fn refused_key(version: Option<&str>) -> String {
    let version = version.map_or_else(String::new, |version| format!(" {version}"));
    format!(
        "Consul{version} refuses the keys of Terraform's states, which have a colon (<path>-env:<task>)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_is_found_across_line_breaks() {
        let words = "Failed to get existing workspaces: Unexpected response code: 500 (invalid key name, keys should respect the format)";
        assert!(refuses_key(words));
        assert!(refuses_key(&words.replace("key name", "key\n│ name")));
        assert!(!refuses_key("Error: key name is invalid"));
    }
}
