//! Paths of attributes for everybody who may read.

/// Stands for what is not shown.
pub(crate) const HIDDEN: &str = "(hidden)";

/// The path of an attribute without the keys of maps, which are texts of JSON.
pub(crate) fn without_keys(path: &str) -> String {
    let mut shown = String::new();
    let mut rest = path;
    while let Some((before, key)) = rest.split_once("[\"") {
        shown.extend([before, "[\"", HIDDEN]);
        let mut escaped = false;
        let end = key.find(|letter| match letter {
            _ if escaped => {
                escaped = false;
                false
            }
            '\\' => {
                escaped = true;
                false
            }
            letter => letter == '"',
        });
        rest = end.map_or("\"]", |end| &key[end..]);
        shown.push_str("\"]");
        rest = rest.strip_prefix("\"]").unwrap_or_default();
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_maps_are_hidden_in_paths() {
        for (path, shown) in [
            ("rule[0].port", "rule[0].port"),
            ("tags[\"name\"]", "tags[\"(hidden)\"]"),
            (
                "a[\"x\\\"] y\"].b[\"z\"][1].c",
                "a[\"(hidden)\"].b[\"(hidden)\"][1].c",
            ),
            ("a[\"cut off", "a[\"(hidden)\"]"),
        ] {
            assert_eq!(without_keys(path), shown, "{path}");
        }
    }
}
