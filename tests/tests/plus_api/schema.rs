//! Validation of a response against its schema in the OpenAPI document, with the subset of JSON Schema that the
//! document uses.

use serde_json::Value;

/// Returns the violations of a response, by their path; empty if it conforms. A member that the schema does not define
/// is a violation.
pub(crate) fn faults(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(document, schema, value, "$", &mut faults);
    faults
}

fn check(document: &Value, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.trim_start_matches("#/components/schemas/");
        let schema = &document["components"]["schemas"][name];
        assert!(schema.is_object(), "the document has no schema {name}");
        return check(document, schema, value, at, faults);
    }
    if value.is_null() && schema["nullable"] == true {
        return;
    }
    let fits = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.as_f64().is_some_and(|number| number >= 0.0),
        Some("integer") => value.as_i64().is_some_and(|number| number >= 0),
        other => panic!("a type that this test does not know: {other:?} at {at}"),
    };
    if !fits {
        faults.push(format!("{at} is no {}: {value}", schema["type"]));
        return;
    }
    if let Some(words) = schema["enum"].as_array().filter(|words| !words.contains(value)) {
        faults.push(format!("{at} is {value}, and none of {words:?}"));
    }
    if schema["format"] == "date-time" && !is_moment(value.as_str().unwrap_or_default()) {
        faults.push(format!("{at} is no moment: {value}"));
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        check(document, &schema["items"], item, &format!("{at}[{index}]"), faults);
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(name).is_none() {
            faults.push(format!("{at} lacks {name}"));
        }
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{name}");
        match (schema["properties"].get(name), &schema["additionalProperties"]) {
            (Some(schema), _) | (None, schema @ Value::Object(_)) => {
                check(document, schema, member, &at, faults);
            }
            (None, Value::Bool(false)) => faults.push(format!("{at} is in no schema")),
            (None, _) => {}
        }
    }
}

/// Returns whether a text has the form `2022-06-28T11:15:44.467Z`.
fn is_moment(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "0000-00-00T00:00:00.000Z"
}

#[test]
fn what_no_schema_names_and_what_is_missing_is_found() {
    let document: Value = serde_json::json!({ "components": { "schemas": { "A": {
        "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"],
        "additionalProperties": false } } } });
    let schema = serde_json::json!({ "type": "array", "items": { "$ref": "#/components/schemas/A" } });
    let answer = serde_json::json!([{ "a": 1 }, { "a": "1" }, { "b": 1 }]);
    let faults = faults(&document, &schema, &answer);
    assert_eq!(faults.len(), 3, "{faults:?}");
}
