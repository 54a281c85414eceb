//! Plans for callers who may not see values: addresses, actions and numbers stay.

use cts_proto::run::v1::planned_value::Value;
use cts_proto::run::v1::{PlanData, PlannedValue};

use crate::approval::paths::{HIDDEN, without_keys};

/// The values of all attributes and outputs.
pub(super) fn values(plan: &mut PlanData) -> impl Iterator<Item = &mut PlannedValue> {
    let attributes = plan.changes.iter_mut().flat_map(|it| &mut it.attributes);
    let attributes = attributes.flat_map(|it| [&mut it.before, &mut it.after]);
    let outputs = plan.outputs.iter_mut();
    let outputs = outputs.flat_map(|it| [&mut it.before, &mut it.after]);
    attributes.chain(outputs).flatten()
}

/// Hides values, ids of imports, keys of deposed objects, and keys in the paths of attributes.
pub(super) fn hide_values(plan: &mut PlanData) {
    for value in values(plan) {
        if matches!(value.value, Some(Value::Json(_))) {
            value.value = Some(Value::Hidden(true));
        }
    }
    for change in &mut plan.changes {
        for text in [&mut change.importing, &mut change.deposed] {
            if !text.is_empty() {
                HIDDEN.clone_into(text);
            }
        }
        for attribute in &mut change.attributes {
            attribute.path = without_keys(&attribute.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use cts_proto::run::v1::{PlannedAttribute, PlannedChange, PlannedOutput};

    use super::*;

    #[test]
    fn addresses_and_actions_stay_without_values() {
        let value = |text: &str| {
            Some(PlannedValue {
                value: Some(Value::Json(text.to_owned())),
                hash: Vec::new(),
            })
        };
        let unknown = Some(PlannedValue {
            value: Some(Value::Unknown(true)),
            hash: Vec::new(),
        });
        let change = PlannedChange {
            address: "a.b[\"c\"]".into(),
            importing: "secret".into(),
            attributes: vec![PlannedAttribute {
                path: "tags[\"secret\"]".into(),
                before: value("\"secret\""),
                after: unknown.clone(),
                changed: true,
                ..PlannedAttribute::default()
            }],
            ..PlannedChange::default()
        };
        let mut plan = PlanData {
            effect: "ab".into(),
            changes: vec![change],
            outputs: vec![PlannedOutput {
                after: value("\"secret\""),
                ..PlannedOutput::default()
            }],
            ..PlanData::default()
        };
        hide_values(&mut plan);
        let change = &plan.changes[0];
        assert_eq!(
            (&*change.address, &*change.importing),
            ("a.b[\"c\"]", "(hidden)")
        );
        assert_eq!((&*change.deposed, &*plan.effect), ("", "ab"));
        assert!(change.attributes[0].changed);
        assert_eq!(change.attributes[0].after, unknown);
        assert!(!format!("{plan:?}").contains("secret"), "{plan:?}");
    }
}
