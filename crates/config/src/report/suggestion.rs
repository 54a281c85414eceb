//! "Did you mean" for misspelt names.

/// Finds the known name that a misspelt one was probably meant to be.
pub(crate) fn suggestion(written: &str, known: &[&str]) -> Option<String> {
    // Nothing that is so much longer than every name is a misspelling of one, and comparing takes time.
    const LONGEST: usize = 60;
    if written.len() > LONGEST {
        return None;
    }
    let written = written.to_lowercase();
    let tolerance = |name: &str| (name.len() / 3).max(1);
    let length = written.chars().count();
    let near = known
        .iter()
        .filter(|name| length.abs_diff(name.chars().count()) <= tolerance(name))
        .map(|name| (strsim::damerau_levenshtein(&written, name), *name))
        .filter(|(distance, name)| *distance <= tolerance(name))
        .min();
    let part = || {
        let is_part = |name: &&&str| {
            written.len().min(name.len()) >= 4
                && (name.split('_').any(|word| word == written)
                    || name.starts_with(&written)
                    || written.starts_with(**name))
        };
        known.iter().find(is_part).copied()
    };
    let meant = near.map(|(_, name)| name).or_else(part)?;
    Some(format!("did you mean `{meant}`?"))
}

#[cfg(test)]
mod tests {
    use super::suggestion;

    #[test]
    fn near_names_and_names_with_a_part_in_common_are_suggested() {
        let known = [
            "address",
            "token",
            "terraform_provider",
            "tls",
            "min",
            "working_dir",
        ];
        let cases = [
            ("adress", Some("address")),
            ("Adress", Some("address")),
            ("tokne", Some("token")),
            ("provider", Some("terraform_provider")),
            ("working_directory", Some("working_dir")),
            ("work", Some("working_dir")),
            ("tsl", Some("tls")),
            ("tlsx_of_consul", None),
            ("mni", Some("min")),
            ("max", None),
            ("x", None),
            ("password", None),
        ];
        for (written, meant) in cases {
            let expected = meant.map(|name| format!("did you mean `{name}`?"));
            assert_eq!(suggestion(written, &known), expected, "{written}");
        }
    }
}
