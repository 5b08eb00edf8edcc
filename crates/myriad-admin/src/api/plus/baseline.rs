//! Reset of counts (`DELETE`). Only workers write the counters, so a reset stores the current values, which are
//! subtracted from then on.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};

/// Names of members of API objects that are not counts, and are therefore not reset: current values, and the names `id`
/// and `pid`.
const STATES: &[&str] =
    &["active", "idle", "current", "processing", "size", "max_size", "cold", "used", "free", "id", "pid"];
/// Maximum number of API objects whose reset is recorded; resets of further objects are ignored. The number of objects
/// depends only on the configuration.
const MOST: usize = 16 * 1024;

/// Counts of API objects at the time of their last reset, by path. A restart of the process resets them together with
/// the counters.
static BEFORE: Mutex<Option<HashMap<String, Map<String, Value>>>> = Mutex::new(None);

/// Subtracts from `object`, the API object at `path`, its counts at the last reset; returns it unchanged if it was
/// never reset.
pub(super) fn since(path: &str, object: Map<String, Value>) -> Map<String, Value> {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    match before.as_ref().and_then(|before| before.get(path)) {
        Some(before) => without(object, before),
        None => object,
    }
}

/// Resets the counts of the API object at `path` to 0; `object` contains its counts since the start of the process.
/// Has no effect if [`MOST`] other objects have been reset.
pub(super) fn set_baseline(path: String, object: Map<String, Value>) {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = before.get_or_insert_default();
    if before.len() < MOST || before.contains_key(&path) {
        before.insert(path, object);
    }
}

fn without(object: Map<String, Value>, before: &Map<String, Value>) -> Map<String, Value> {
    let less = |name: &str, value: Value| match (value, before.get(name)) {
        (Value::Number(now), Some(Value::Number(then))) if !STATES.contains(&name) => {
            match (now.as_u64(), then.as_u64()) {
                (Some(now), Some(then)) => now.saturating_sub(then).into(),
                _ => Value::Number(now),
            }
        }
        (Value::Object(now), Some(Value::Object(then))) => Value::Object(without(now, then)),
        (value, _) => value,
    };
    object.into_iter().map(|(name, value)| (name.clone(), less(&name, value))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::node::members;
    use super::*;

    #[test]
    fn reset_restarts_counters_and_retains_states() {
        let path = || "test/counts_begin_anew".to_owned();
        let first = members(json!({ "accepted": 5, "active": 2, "responses": { "2xx": 3 }, "name": "a" }));
        assert_eq!(since(&path(), first.clone()), first);
        set_baseline(path(), first);
        let later =
            members(json!({ "accepted": 7, "active": 3, "responses": { "2xx": 3, "4xx": 1 }, "name": "a" }));
        let expected =
            json!({ "accepted": 2, "active": 3, "responses": { "2xx": 0, "4xx": 1 }, "name": "a" });
        assert_eq!(Value::Object(since(&path(), later)), expected);
    }
}
