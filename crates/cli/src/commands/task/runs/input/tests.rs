use super::*;

fn json(text: &str) -> PlannedValue {
    PlannedValue {
        value: Some(Shown::Json(text.to_owned())),
        hash: Vec::new(),
    }
}

fn item(list: &str, name: &str, value: PlannedValue) -> InputItem {
    InputItem {
        list: list.into(),
        name: name.into(),
        value: Some(value),
        ..InputItem::default()
    }
}

fn input() -> InputData {
    let instance = |port| {
        json(&format!(
            r#"{{"address":"10.0.0.1","meta":{{}},"port":{port},"tags":[]}}"#
        ))
    };
    let web = |name| InputItem {
        service: "web".into(),
        changed: true,
        ..item("services", name, instance(80))
    };
    InputData {
        task_name: "edge".into(),
        basis: InputBasis::Applied.into(),
        compared_with: "id-1".into(),
        notes: vec!["the module was changed".into()],
        items: vec![
            web("web-1.n"),
            InputItem {
                before: Some(instance(81)),
                ..web("web-2.n")
            },
            InputItem {
                value: None,
                before: Some(instance(80)),
                ..web("web-3.n\u{1b}[2J")
            },
            item("consul_kv", "app/color", json("\"red\"")),
            InputItem {
                changed: true,
                before: Some(PlannedValue::default()),
                ..item("consul_kv", "app/token", PlannedValue::default())
            },
            item("variables", "size", json("12345678901234567890.10")),
        ],
        ..InputData::default()
    }
}

#[test]
fn items_are_shown_with_what_is_in_them() {
    let expected = "Input of 'edge':
  services web-1.n (web): address \"10.0.0.1\", port 80
  services web-2.n (web): address \"10.0.0.1\", port 80
  consul_kv app/color: \"red\"
  consul_kv app/token: (hidden)
  variables size: 12345678901234567890.10
";
    assert_eq!(text(&input(), false), expected);
}

#[test]
fn the_difference_has_only_what_differs() {
    let expected = "Compared with run id-1, which applied 'edge' before:
  the module was changed
  + services web-1.n (web): address \"10.0.0.1\", port 80
  ~ services web-2.n (web): port 81 -> 80
  - services web-3.n\\u{1b}[2J (web)
  ~ consul_kv app/token: (hidden) -> (hidden)
";
    assert_eq!(text(&input(), true), expected);
}

#[test]
fn without_an_earlier_input_the_reason_is_shown() {
    let of = |basis: InputBasis| InputData {
        task_name: "edge".into(),
        basis: basis.into(),
        values_hidden: "you may not see them".into(),
        ..InputData::default()
    };
    let hidden = "Values are hidden: you may not see them.\n";
    for (basis, reason) in [
        (InputBasis::None, "'edge' was not applied before."),
        (
            InputBasis::NotKept,
            "No run that applied 'edge' before is kept, or there was none.",
        ),
        (
            InputBasis::Applied,
            "Compared with run , which applied 'edge' before:\n  nothing",
        ),
    ] {
        assert_eq!(text(&of(basis), true), format!("{reason}\n{hidden}"));
    }
    let nothing = text(&of(InputBasis::None), false);
    assert_eq!(nothing, format!("Input of 'edge':\n  nothing\n{hidden}"));
}
