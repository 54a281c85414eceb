//! Plans that are hostile, too large or unclear, and values that are hidden.

use super::*;

#[test]
fn attributes_are_found_by_their_paths() {
    let plan = of_changes(&[created(&json!({
        "tags": { "name": "a", "odd key": { "x": 1 } }, "rule": [{ "port": 80, "sub": { "y": [] } }], "none": null, "empty": {}
    }))]);
    assert_eq!(
        attribute_lines(&plan.changes[0]),
        [
            "    ~ empty: absent -> {}",
            "      none: absent -> null",
            "    ~ rule[0].port: absent -> 80",
            "    ~ rule[0].sub[\"y\"]: absent -> []",
            "    ~ tags[\"name\"]: absent -> \"a\"",
            "    ~ tags[\"odd key\"][\"x\"]: absent -> 1",
        ]
    );
}

#[test]
fn a_value_may_change_its_form() {
    let plan = of_changes(&[json!({
        "address": "a.b",
        "change": {
            "actions": ["update"], "before": { "v": { "x": 1 }, "w": [1] }, "after": { "v": "text" },
            "after_unknown": { "w": true }, "before_sensitive": {}, "after_sensitive": {}
        }
    })]);
    assert_eq!(
        attribute_lines(&plan.changes[0]),
        [
            "    ~ v: absent -> \"text\"",
            "    ~ v[\"x\"]: 1 -> absent",
            "    ~ w: absent -> unknown",
            "    ~ w[0]: 1 -> absent",
        ]
    );
}

#[test]
fn hidden_values_are_compared_by_their_hashes() {
    let change = |before: Value, after: Value| {
        json!({
            "address": "a.b",
            "change": {
                "actions": ["update"], "before": { "v": before }, "after": { "v": after }, "after_unknown": {},
                "before_sensitive": { "v": true }, "after_sensitive": { "v": true }
            }
        })
    };
    let hashes = |before: Value, after: Value| {
        let plan = of_changes(&[change(before, after)]);
        let attribute = plan.changes[0].attributes[0].clone();
        let hash = |value: Option<PlannedValue>| value.unwrap().hash;
        (
            hash(attribute.before),
            hash(attribute.after),
            attribute.changed,
        )
    };
    let (before, after, changed) = hashes(json!({ "x": 1 }), json!({ "x": 2 }));
    assert!(changed && before != after && before.len() == 16);
    let (same, also, changed) = hashes(json!({ "x": 1 }), json!({ "x": 1 }));
    assert!(!changed && same == also && same == before);
}

#[test]
fn names_marks_and_the_configuration_hide_values() {
    let change = json!({
        "address": format!("a.b[\"{CONFIGURED}\"]"),
        "change": {
            "actions": ["update"],
            "before": { "user_data": "an earlier secret", "api_token": "t", "inner": [{ "client_secret": { "a": 1 } }] },
            "after": {
                "user_data": format!("run {CONFIGURED}"), "api_token": "u", "inner": [{ "client_secret": { "a": 2 } }],
                "marked": { "deep": ["m"], "open": 1 }, CONFIGURED: 1
            },
            "after_unknown": {}, "before_sensitive": {}, "after_sensitive": { "marked": { "deep": [true] } }
        }
    });
    let plan = of_changes(&[change]);
    assert_eq!(plan.changes[0].address, "a.b[\"(hidden)\"]");
    assert_eq!(
        attribute_lines(&plan.changes[0]),
        [
            "    ~ api_token: hidden -> hidden",
            "    ~ inner[0].client_secret: hidden -> hidden",
            "    ~ marked[\"deep\"][0]: absent -> hidden",
            "    ~ marked[\"open\"]: absent -> 1",
            "    ~ (hidden): absent -> 1",
            "    ~ user_data: hidden -> hidden",
        ]
    );
}

#[test]
fn a_sensitive_value_is_hidden_in_every_spelling() {
    // As Terraform itself writes these texts.
    let text = r#"{"format_version":"1.2","resource_changes":[
        {"address":"a.v","change":{"actions":["create"],"before":null,"after":{"v":"p<ss&\"word\u2028 12"},"after_unknown":{},"before_sensitive":false,"after_sensitive":{"v":true}}},
        {"address":"a.w","change":{"actions":["create"],"before":null,"after":{
            "copy":"p\u003css\u0026\"word\u2028 12","encoded":"{\"p\":\"p\\u003css\\u0026\\\"word\\u2028 12\"}","other":"\u003c12",
            "keys":{"p\u003css\u0026\"word\u2028 12":1}},"after_unknown":{},"before_sensitive":false,"after_sensitive":{}}}],
        "output_changes":{"o":{"actions":["create"],"before":null,"after":{"p\u003css\u0026\"word\u2028 12":["x"]},"before_sensitive":false,"after_sensitive":false}}}"#;
    let plan = plan_of(text);
    assert_eq!(
        attribute_lines(&plan.changes[1]),
        [
            "    ~ copy: absent -> hidden",
            "    ~ encoded: absent -> hidden",
            "    ~ (hidden): absent -> 1",
            "    ~ other: absent -> \"\\u003c12\"",
        ]
    );
    assert_eq!(value(plan.outputs[0].after.as_ref()), "hidden");
}

#[test]
fn a_sensitive_text_counts_once() {
    let change = |mark: Value| {
        let mut change = created(&json!({ "v": "x".repeat(1024) }));
        change["change"]["after_sensitive"] = mark;
        change
    };
    let mut changes = vec![change(json!({ "v": true })); 300];
    changes.push(change(json!({})));
    let plan = of_changes(&changes);
    assert_eq!(plan.extent(), PlanExtent::All);
    let lines: Vec<_> = plan.changes.iter().flat_map(attribute_lines).collect();
    assert_eq!(lines, vec!["    ~ v: absent -> hidden"; 301]);
}

#[test]
fn marks_below_a_hidden_name_hide_copies() {
    let mut change = created(&json!({ "env_token": { "a": ["marked text", "open text"] } }));
    change["change"]["after_sensitive"] = json!({ "env_token": { "a": [true] } });
    let copies = created(&json!({ "copy": "a marked text", "open": "open text" }));
    let plan = of_changes(&[change, copies]);
    assert_eq!(
        attribute_lines(&plan.changes[1]),
        [
            "    ~ copy: absent -> hidden",
            "    ~ open: absent -> \"open text\"",
        ]
    );
}

#[test]
fn imported_objects_are_hidden_like_values() {
    let shown = |importing: Value, mark: Value| {
        let plan = of_changes(&[json!({
            "address": "a.b",
            "change": {
                "actions": ["no-op"], "before": { "v": "marked text" }, "after": { "v": "marked text" },
                "before_sensitive": mark, "after_sensitive": {}, "importing": importing
            }
        })]);
        plan.changes[0].importing.clone()
    };
    let (marked, open) = (json!({ "v": true }), json!({}));
    for (importing, mark, expected) in [
        (json!({ "id": "the marked text" }), &marked, "(hidden)"),
        (json!({ "id": "the marked text" }), &open, "the marked text"),
        (
            json!({ "identity": { "api_token": "t" } }),
            &open,
            "(hidden)",
        ),
        (
            json!({ "identity": { "v": ["marked text"] } }),
            &marked,
            "(hidden)",
        ),
        (json!({ "identity": { "v": 1 } }), &marked, "{\"v\":1}"),
    ] {
        assert_eq!(shown(importing, mark.clone()), expected);
    }
    // Ids are hidden, too, if too many texts are sensitive.
    let many = "x".repeat(300 * 1024);
    let plan = of_changes(&[json!({
        "address": "a.b",
        "change": {
            "actions": ["no-op"], "before": { "v": many }, "after": null,
            "before_sensitive": { "v": true }, "importing": { "id": "i" }
        }
    })]);
    assert_eq!(plan.changes[0].importing, "(hidden)");
}

#[test]
fn a_value_longer_than_a_plan_is_not_taken_apart() {
    let zeros = format!("[{}0]", "0,".repeat(9 * 1024 * 1024));
    let text =
        json!({ "format_version": "1.2", "resource_changes": [created(&json!({ "v": 7 }))] });
    let plan = plan_of(
        &text
            .to_string()
            .replace("\"v\":7", &format!("\"v\":{zeros}")),
    );
    assert_eq!(
        (plan.extent(), plan.effect.len()),
        (PlanExtent::Addresses, 32)
    );
    assert_eq!(plan.counts.unwrap().created, 1);
}

#[test]
fn the_environment_of_a_container_is_hidden() {
    let plan = of_changes(&[created(
        &json!({ "env": ["DB_PASS=hunter2hunter2"], "inner": [{ "env": "x" }], "environment": 1 }),
    )]);
    assert_eq!(
        attribute_lines(&plan.changes[0]),
        [
            "    ~ env: absent -> hidden",
            "    ~ environment: absent -> 1",
            "    ~ inner[0].env: absent -> hidden",
        ]
    );
}

#[test]
fn a_sensitive_value_is_hidden_in_places_without_a_mark() {
    let value = |name: &str, text: &str, sensitive: Value| {
        let mut change = created(&json!({ name: text }));
        change["change"]["after_sensitive"] = sensitive;
        change
    };
    let plan = of_changes(&[
        value("copy", "<a \"marked\" text>", json!({})),
        value("v", "a \"marked\" text", json!({ "v": true })),
        value("short", "a", json!({ "short": true })),
        value("other", "a", json!({})),
    ]);
    let lines: Vec<_> = plan.changes.iter().flat_map(attribute_lines).collect();
    assert_eq!(
        lines,
        [
            "    ~ copy: absent -> hidden",
            "    ~ v: absent -> hidden",
            "    ~ short: absent -> hidden",
            "    ~ other: absent -> \"a\"",
        ]
    );
    let hash = |change: &PlannedChange| change.attributes[0].after.clone().unwrap().hash;
    assert_eq!(hash(&plan.changes[0]).len(), 16);
    let much = "x".repeat(300 * 1024);
    let plan = of_changes(&[
        value("v", &much, json!({ "v": true })),
        value("w", "y", json!({})),
    ]);
    assert_eq!(plan.extent(), PlanExtent::Addresses);
}

#[test]
fn without_marks_everything_may_be_a_secret() {
    let plan = of_changes(&[json!({
        "address": "a.b", "change": { "actions": ["create"], "after": { "v": { "x": 1 } } }
    })]);
    assert_eq!(
        attribute_lines(&plan.changes[0]),
        ["    ~ v: absent -> hidden"]
    );
}

#[test]
fn outputs_are_hidden_like_attributes() {
    let output = |after: Value, mark: Value| json!({ "actions": ["create"], "before": null, "after": after, "before_sensitive": false, "after_sensitive": mark });
    let plan = plan_of(
        &json!({
            "format_version": "1.2",
            "output_changes": {
                "a": output(json!({ "x": [1] }), json!(false)), "b": output(json!("s"), json!(true)),
                "c": output(json!({ "password": "p" }), json!(false)), "d": output(json!(CONFIGURED), json!(false)),
                "e_token": output(json!(1), json!(false)), "f": { "actions": ["no-op"], "after": 1 },
                "g": { "actions": ["create"], "after_unknown": true }
            }
        })
        .to_string(),
    );
    let lines: Vec<_> = plan
        .outputs
        .iter()
        .map(|output| format!("{} {}", output.name, value(output.after.as_ref())))
        .collect();
    assert_eq!(
        lines,
        [
            "a {\"x\":[1]}",
            "b hidden",
            "c hidden",
            "d hidden",
            "e_token hidden",
            "g unknown"
        ]
    );
}

#[test]
fn unclear_plans_say_why() {
    let unclear = |members: Value| plan_of(&members.to_string()).unclear;
    let none: [&str; 0] = [];
    for clear in ["0.1", "0.2", "1.0", "1.9"] {
        assert_eq!(unclear(json!({ "format_version": clear })), none);
    }
    let complete =
        json!({ "format_version": "1.2", "complete": true, "errored": false, "applyable": false });
    assert_eq!(unclear(complete), none);
    assert_eq!(
        unclear(json!({ "format_version": "2.0" })),
        ["this version of cts does not know the format 2.0"]
    );
    assert_eq!(
        unclear(json!({})),
        ["the engine does not name the version of its format"]
    );
    let incomplete = ["the plan is not complete: changes are put off to a later plan"];
    assert_eq!(
        unclear(json!({ "format_version": "1.2", "complete": false })),
        incomplete
    );
    let deferred = json!({ "format_version": "1.2", "deferred_changes": [{ "reason": "x", "resource_change": { "address": "a.b" } }] });
    assert_eq!(unclear(deferred), incomplete);
    assert_eq!(
        unclear(json!({ "format_version": "1.2", "errored": true })),
        ["the plan has ended with an error"]
    );
    for words in [
        json!([]),
        json!(["create", "forget"]),
        json!(["no-op", "create"]),
        json!(["leap\u{1b}[2J"]),
    ] {
        let plan = of_changes(&[
            json!({ "address": "a.b", "change": { "actions": words, "after": { "v": 1 }, "after_sensitive": {} } }),
        ]);
        let [reason] = &plan.unclear[..] else {
            panic!("{:?}", plan.unclear)
        };
        assert!(
            reason.ends_with("of a.b") && !reason.contains('\u{1b}'),
            "{reason}"
        );
        assert_eq!(
            (plan.counts.unwrap().unknown, plan.changes[0].effect.len()),
            (1, 32)
        );
    }
}

#[test]
fn texts_that_are_no_plans_leave_numbers_only() {
    let good =
        json!({ "format_version": "1.2", "resource_changes": [created(&json!({ "v": "value" }))] })
            .to_string();
    let wrong = json!({ "format_version": "1.2", "resource_changes": [created(&json!({})), { "address": 7, "x": "value" }] });
    let deep = format!("{{\"v\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
    let deep = good.replace("{\"v\":\"value\"}", &deep);
    for (text, created) in [
        (good[..good.len() - 2].to_owned(), 1),
        (wrong.to_string(), 1),
        (deep, 1),
        ("Error: x".to_owned(), 0),
        (String::new(), 0),
        ("[]".to_owned(), 0),
    ] {
        let (plan, end) = read(text.as_bytes(), &context(), soon());
        assert_eq!(end, ReadEnd::NotAPlan, "{text:.40}");
        let data = plan.data;
        assert_eq!(data.extent(), PlanExtent::Counts);
        assert_eq!(data.counts.unwrap().created, created, "{text:.40}");
        assert_eq!(
            data.unclear,
            ["the output of the engine is not a plan that can be read"]
        );
        assert!(plan.unread.is_some() && data.effect.is_empty() && data.changes.is_empty());
    }
}

#[test]
fn limits_of_bytes_and_time_end_the_reading() {
    let change = created(&json!({ "v": "x".repeat(100_000) }));
    let changes: Vec<_> = (0..20).map(|_| change.clone()).collect();
    let skipped = "y".repeat(4_000_000);
    let text =
        json!({ "format_version": "1.2", "prior_state": skipped, "resource_changes": changes })
            .to_string();
    let limits = |bytes| Limits { bytes, ..soon() };
    let (plan, end) = read(text.as_bytes(), &context(), limits(3_000_000));
    assert_eq!(
        (end, plan.data.counts.unwrap().created),
        (ReadEnd::Whole, 20)
    );
    let (plan, end) = read(text.as_bytes(), &context(), limits(1_000_000));
    assert_eq!(end, ReadEnd::Limit);
    let created = plan.data.counts.unwrap().created;
    assert!((5..12).contains(&created), "{created}");
    assert_eq!(
        plan.data.unclear,
        ["the changes of the plan are longer than 64 MiB"]
    );
    assert!(plan.data.effect.is_empty());
    let over = Limits {
        deadline: Instant::now(),
        ..soon()
    };
    let (plan, end) = read(text.as_bytes(), &context(), over);
    assert_eq!((end, plan.unread), (ReadEnd::Limit, Some(TOO_SLOW)));
}

#[test]
fn a_large_plan_is_kept_without_attributes_and_a_larger_one_as_numbers() {
    let change = created(&json!({ "v": "x".repeat(1024 * 1024) }));
    let changes: Vec<_> = (0..17).map(|_| change.clone()).collect();
    let plan = of_changes(&changes);
    assert_eq!(
        (plan.extent(), plan.changes.len()),
        (PlanExtent::Addresses, 17)
    );
    assert!(
        plan.changes
            .iter()
            .all(|change| change.attributes.is_empty())
    );
    assert_eq!(plan.effect.len(), 32);
    let mut change = change;
    change["address"] = "a".repeat(1024 * 1024).into();
    let changes: Vec<_> = (0..17).map(|_| change.clone()).collect();
    let plan = of_changes(&changes);
    assert_eq!((plan.extent(), plan.changes.len()), (PlanExtent::Counts, 0));
    assert_eq!((plan.counts.unwrap().created, plan.effect.len()), (17, 32));
    assert!(plan.unclear.is_empty());
}
