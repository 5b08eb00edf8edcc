//! Value of an API path, and the selection of its members by `fields`.

use serde_json::{Map, Value};

/// Value of a path of NGINX Plus's API.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// Names of the API paths below this path.
    Directory(Vec<&'static str>),
    /// Single object.
    Object(Map<String, Value>),
    /// Objects of one kind by name, such as all zones.
    Collection(Map<String, Value>),
    /// List of objects without names.
    List(Vec<Value>),
}

impl Node {
    /// Creates an object; values other than JSON objects become empty.
    pub(super) fn object(value: Value) -> Self {
        Self::Object(members(value))
    }

    /// Returns the JSON value. `fields` are the members to include, in a collection or list those of each object;
    /// `None` for all. They do not affect a directory. With an empty list, a collection is returned as the names of its
    /// objects.
    pub(super) fn into_value(self, fields: Option<&[String]>) -> Value {
        let keep = |members: Map<String, Value>| -> Map<String, Value> {
            let wanted = |name: &String| fields.is_none_or(|fields| fields.contains(name));
            members.into_iter().filter(|(name, _)| wanted(name)).collect()
        };
        let keep_in = |value| match value {
            Value::Object(members) => Value::Object(keep(members)),
            other => other,
        };
        match self {
            Self::Directory(names) => names.into(),
            Self::Object(members) => Value::Object(keep(members)),
            Self::Collection(things) if fields.is_some_and(<[String]>::is_empty) => {
                things.into_iter().map(|(name, _)| Value::String(name)).collect()
            }
            Self::Collection(things) => {
                Value::Object(things.into_iter().map(|(name, thing)| (name, keep_in(thing))).collect())
            }
            Self::List(things) => things.into_iter().map(keep_in).collect(),
        }
    }
}

/// Returns the members of an object; empty for other values.
pub(super) fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_those_of_an_object_or_of_each_thing() {
        let fields = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let object = Node::object(json!({ "a": 1, "b": 2 }));
        assert_eq!(object.clone().into_value(Some(&fields(&["b", "c"]))), json!({ "b": 2 }));
        assert_eq!(object.into_value(None), json!({ "a": 1, "b": 2 }));
        let all = Node::Collection(members(json!({ "x": { "a": 1, "b": 2 }, "y": { "a": 3 } })));
        assert_eq!(all.clone().into_value(Some(&fields(&["b"]))), json!({ "x": { "b": 2 }, "y": {} }));
        assert_eq!(all.into_value(Some(&[])), json!(["x", "y"]));
    }
}
