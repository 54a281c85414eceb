use serde_json::json;

use super::*;

fn checked(schema: &Value, mut value: Value) -> Result<Value, String> {
    let document =
        json!({"components": {"schemas": {"Tested": schema, "Text": {"type": "string"}}}});
    Schema::component(&document, "Tested")
        .check(&mut value)
        .map(|()| value)
        .map_err(|mismatch| mismatch.to_string())
}

fn object() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["z", "a"],
        "properties": {
            "a": {"$ref": "#/components/schemas/Text"},
            "flag": {"type": "boolean", "default": true},
            "inner": {
                "type": "object",
                "additionalProperties": false,
                "required": ["x"],
                "properties": {"x": {"type": "integer", "minimum": 1}},
            },
            "list": {"type": "array", "items": {"type": "string"}},
            "map": {
                "type": "object",
                "nullable": true,
                "additionalProperties": {"type": "string", "nullable": true},
            },
            "word": {"type": "string", "enum": ["on", "off"]},
            "z": {"type": "string"},
        },
    })
}

#[test]
fn the_first_problem_is_told_with_its_place() {
    let cases = [
        (json!(null), "Value is not nullable"),
        (json!([]), "value must be an object"),
        (json!(1), "value must be an object"),
        (json!({"q": 1}), "property \"q\" is unsupported"),
        (json!({}), "Error at \"/z\": property \"z\" is missing"),
        (
            json!({"z": ""}),
            "Error at \"/a\": property \"a\" is missing",
        ),
        (json!({"a": 1}), "Error at \"/a\": value must be a string"),
        (json!({"a": null}), "Error at \"/a\": Value is not nullable"),
        (
            json!({"flag": 0}),
            "Error at \"/flag\": value must be a boolean",
        ),
        (
            json!({"inner": []}),
            "Error at \"/inner\": value must be an object",
        ),
        (
            json!({"inner": {}}),
            "Error at \"/inner/x\": property \"x\" is missing",
        ),
        (
            json!({"inner": {"y": 1}}),
            "Error at \"/inner\": property \"y\" is unsupported",
        ),
        (
            json!({"inner": {"x": 1.5}}),
            "Error at \"/inner/x\": value must be an integer",
        ),
        (
            json!({"inner": {"x": 0}}),
            "Error at \"/inner/x\": number must be at least 1",
        ),
        (
            json!({"list": {}}),
            "Error at \"/list\": value must be an array",
        ),
        (
            json!({"list": ["a", 2]}),
            "Error at \"/list/1\": value must be a string",
        ),
        (
            json!({"map": {"k/~": 1}}),
            "Error at \"/map/k/~\": value must be a string",
        ),
        (
            json!({"word": "ON"}),
            "Error at \"/word\": value is not one of the allowed values [\"on\",\"off\"]",
        ),
    ];
    for (value, expected) in cases {
        let got = checked(&object(), value.clone());
        assert_eq!(got, Err(expected.to_owned()), "{value}");
    }
}

#[test]
fn members_are_visited_in_the_order_of_their_names() {
    let cases = [
        (
            json!({"a": 1, "b": 1}),
            "Error at \"/a\": value must be a string",
        ),
        (json!({"b": 1, "flag": 1}), "property \"b\" is unsupported"),
        (
            json!({"inner": {"y": 1, "x": "1"}, "list": 1}),
            "Error at \"/inner/x\": value must be an integer",
        ),
        (
            json!({"inner": {}, "list": 1}),
            "Error at \"/inner/x\": property \"x\" is missing",
        ),
        (
            json!({"list": 1}),
            "Error at \"/list\": value must be an array",
        ),
    ];
    for (value, expected) in cases {
        let got = checked(&object(), value.clone());
        assert_eq!(got, Err(expected.to_owned()), "{value}");
    }
}

#[test]
fn what_has_a_default_is_filled_in() {
    let base = json!({"a": "", "z": ""});
    for flag in [None, Some(json!(null)), Some(json!(true))] {
        let mut value = base.clone();
        if let Some(flag) = flag {
            value["flag"] = flag;
        }
        let got = checked(&object(), value).unwrap();
        assert_eq!(got, json!({"a": "", "z": "", "flag": true}));
    }
    let explicit = json!({"a": "", "z": "", "flag": false, "map": {"k": null}});
    assert_eq!(checked(&object(), explicit.clone()), Ok(explicit));
    let null = json!({"a": "", "z": "", "flag": false, "map": null});
    assert_eq!(checked(&object(), null.clone()), Ok(null));
}
