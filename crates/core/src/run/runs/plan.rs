//! Output of `terraform plan`, within its limit.

/// Maximum bytes of the text of a plan, which must fit into one message.
pub const PLAN_BYTES: usize = 3 * 1024 * 1024;

/// Replaces a plan of a disabled task, in the words of the original.
pub const SKIPPED_INSPECTION: &str = "Task is disabled, inspection was skipped.";

/// Bytes kept of the end of a text that is too long: there Terraform prints the number of changes.
const END_BYTES: usize = 256 * 1024;

/// Space for the line about the omission, with its line breaks.
const NOTICE_BYTES: usize = 128;

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Whether an apply would change anything.
    pub changes_present: bool,
    /// Standard output of Terraform, at most [`PLAN_BYTES`] bytes.
    pub text: String,
    /// Page of the remote run that made the plan. Stored with the details of the run.
    pub remote_url: Option<String>,
}

impl Plan {
    /// Makes a plan with this text. If the text is longer than [`PLAN_BYTES`], its middle is replaced by a line that
    /// states the omitted length.
    pub fn new(changes_present: bool, text: String) -> Self {
        Self {
            changes_present,
            text: if text.len() > PLAN_BYTES {
                shortened(&text)
            } else {
                text
            },
            remote_url: None,
        }
    }
}

fn shortened(text: &str) -> String {
    let begin = text.floor_char_boundary(PLAN_BYTES - END_BYTES - NOTICE_BYTES);
    let end = text.ceil_char_boundary(text.len() - END_BYTES);
    let missing = end - begin;
    format!(
        "{}\n[{missing} bytes of the plan are left out here]\n{}",
        &text[..begin],
        &text[end..]
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_that_fits_stays_as_it_is() {
        for length in [0, 1, PLAN_BYTES] {
            let plan = Plan::new(true, "x".repeat(length));
            assert_eq!(plan.text.len(), length);
            assert!(!plan.text.contains("left out"));
        }
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end_and_says_what_is_missing() {
        let text = format!("begin\n{}\nPlan: 1 to add", "y".repeat(2 * PLAN_BYTES));
        let plan = Plan::new(true, text.clone());
        assert!(plan.text.starts_with("begin\ny"));
        assert!(plan.text.ends_with("y\nPlan: 1 to add"));
        let (before, rest) = plan.text.split_once("\n[").unwrap();
        let (missing, rest) = rest.split_once(" bytes of the plan").unwrap();
        let (_, after) = rest.split_once("]\n").unwrap();
        let missing: usize = missing.parse().unwrap();
        assert_eq!(before.len() + missing + after.len(), text.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        /// A plan that is passed on may be bounded again.
        #[test]
        fn shortened_plan_fits_and_is_not_shortened_again(over in 0_usize..9, odd in 0_usize..4, wide in any::<bool>()) {
            let character = if wide { "\u{1F600}" } else { "z" };
            let count = (PLAN_BYTES + over) / character.len() + 1;
            let text = "a".repeat(odd) + &character.repeat(count);
            let plan = Plan::new(false, text);
            prop_assert!(plan.text.len() <= PLAN_BYTES);
            prop_assert_eq!(&Plan::new(false, plan.text.clone()), &plan);
        }
    }
}
