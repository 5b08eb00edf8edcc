//! Configuration of the servers of an upstream group, and changes to it.

use myriad_conf::number::parse_millis;
use myriad_upstream::{EditError, ServerChange, ServerSnapshot};
use serde_json::{Map, Value, json};

use super::error::PlusError;
use super::node::members;
use super::site::UpstreamBlock;

/// Returns the configuration of a server of an upstream group as an API object.
pub(super) fn server(server: &ServerSnapshot, block: UpstreamBlock, version: u8) -> Map<String, Value> {
    let mut object = members(json!({
        "id": server.id,
        "server": server.server,
        "weight": server.weight,
        "max_conns": server.max_conns,
        "max_fails": server.max_fails,
        "fail_timeout": time(server.fail_timeout_ms),
        "slow_start": time(server.slow_start_ms),
        "backup": server.backup,
        "down": server.down,
    }));
    let mut add = |name: &str, value: Value| drop(object.insert(name.to_owned(), value));
    if let Some(service) = &server.service {
        add("service", json!(service));
    }
    if let Some((parent, host)) = &server.parent {
        add("parent", json!(parent.to_string()));
        add("host", json!(host));
    }
    if block == UpstreamBlock::Http {
        add("route", json!(server.route.as_deref().unwrap_or_default()));
        if version >= 2 && server.drain {
            add("drain", json!(true));
        }
    }
    object
}

/// Formats milliseconds as in the configuration: `10s`, `1500ms`.
fn time(ms: u64) -> String {
    if ms.is_multiple_of(1000) { format!("{}s", ms / 1000) } else { format!("{ms}ms") }
}

/// Parses a change of an upstream server from a JSON body. `is_new` is true for an added server, which requires an
/// address and may have parameters that cannot be changed later. Returns an error for an unknown parameter and for an
/// invalid value.
pub(super) fn change(
    body: &[u8],
    block: UpstreamBlock,
    version: u8,
    is_new: bool,
) -> Result<ServerChange, PlusError> {
    let document: Value =
        serde_json::from_slice(body).map_err(|_| PlusError::new(415, "JsonError", "JSON error"))?;
    let Value::Object(said) = document else {
        return Err(malformed("a JSON object is expected".to_owned()));
    };
    let mut change = ServerChange::default();
    for (name, value) in said {
        if value.is_object() || value.is_array() {
            return Err(malformed("nested object or list".to_owned()));
        }
        let of_http = block == UpstreamBlock::Http;
        match name.as_str() {
            "server" => change.server = Some(text(&name, value)?),
            "service" if is_new => change.service = Some(text(&name, value)?),
            "backup" if is_new => change.backup = Some(flag(&name, &value)?),
            "weight" => {
                let weight = number(&value).filter(|weight| *weight > 0);
                change.weight = Some(weight.ok_or_else(|| bad("UpstreamBadWeight", "weight"))?);
            }
            "max_conns" => {
                change.max_conns =
                    Some(number(&value).ok_or_else(|| bad("UpstreamBadMaxConns", "max_conns"))?);
            }
            "max_fails" => {
                change.max_fails =
                    Some(number(&value).ok_or_else(|| bad("UpstreamBadMaxFails", "max_fails"))?);
            }
            "fail_timeout" => {
                let ms = millis(&value).ok_or_else(|| bad("UpstreamBadFailTimeout", "fail_timeout"))?;
                change.fail_timeout_ms = Some(ms);
            }
            "slow_start" => {
                let ms = millis(&value).ok_or_else(|| bad("UpstreamBadSlowStart", "slow_start"))?;
                change.slow_start_ms = Some(ms);
            }
            "down" => change.down = Some(flag(&name, &value)?),
            "route" if of_http => change.route = Some(text(&name, value)?),
            "drain" if of_http && version >= 2 => change.drain = Some(flag(&name, &value)?),
            // An `id` is ignored, because clients may send back a returned object.
            "id" => {}
            _ => {
                return Err(malformed(format!(
                    "unknown parameter \"{}\"",
                    crate::protocol::escape_bytes(name.as_bytes())
                )));
            }
        }
    }
    if is_new && change.server.is_none() {
        return Err(malformed("missing \"server\" argument".to_owned()));
    }
    Ok(change)
}

fn malformed(text: String) -> PlusError {
    PlusError::new(400, "UpstreamConfFormatError", text)
}

fn bad(code: &'static str, name: &str) -> PlusError {
    PlusError::new(400, code, format!("invalid \"{name}\""))
}

fn text(name: &str, value: Value) -> Result<String, PlusError> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(malformed(format!("invalid \"{name}\" value"))),
    }
}

fn flag(name: &str, value: &Value) -> Result<bool, PlusError> {
    value.as_bool().ok_or_else(|| malformed(format!("invalid \"{name}\" value")))
}

fn number(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

/// Parses a time as in the configuration, or a number of seconds. Returns milliseconds; `None` if it is invalid.
fn millis(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => parse_millis(text.as_bytes()).ok(),
        Value::Number(seconds) => seconds.as_u64()?.checked_mul(1000),
        _ => None,
    }
}

/// Returns the API error for a change that the upstream group rejects.
pub(super) fn edit_error(error: EditError, group: &str) -> PlusError {
    let (code, text) = match error {
        EditError::Static => ("UpstreamStatic", "upstream is static".to_owned()),
        EditError::NotFound(id) => {
            let text = format!("server with ID \"{id}\" does not exist");
            return PlusError::new(404, "UpstreamServerNotFound", text);
        }
        EditError::Address(why) => ("UpstreamBadAddress", why),
        EditError::Service => ("UpstreamBadService", "\"service\" is empty".to_owned()),
        EditError::NoResolver => ("UpstreamConfNoResolver", "no resolver defined to resolve".to_owned()),
        EditError::Route => ("UpstreamBadRoute", "route is too long, or not a valid cookie value".to_owned()),
        EditError::NoBackup => ("UpstreamNoBackup", format!("upstream \"{group}\" has no backup")),
        EditError::SlowStart => ("UpstreamBadSlowStart", "invalid \"slow_start\"".to_owned()),
        EditError::Immutable(id) => ("UpstreamServerImmutable", format!("server \"{id}\" is immutable")),
        EditError::TooMany => ("UpstreamOutOfMemory", format!("upstream \"{group}\" memory exhausted")),
        EditError::State(why) => return PlusError::new(500, "UpstreamStateError", why),
    };
    PlusError::new(400, code, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(body: &str, is_new: bool) -> Option<&'static str> {
        change(body.as_bytes(), UpstreamBlock::Http, 9, is_new).err().map(|error| error.code())
    }

    #[test]
    fn changes_are_read_and_refused_by_their_codes() {
        let all = r#"{"server":"a:80","weight":2,"max_conns":0,"max_fails":3,"fail_timeout":"1500ms","slow_start":5,
            "route":"r","backup":true,"down":false,"drain":true,"service":"http"}"#;
        let change = change(all.as_bytes(), UpstreamBlock::Http, 9, true).expect("a server");
        assert_eq!((change.fail_timeout_ms, change.slow_start_ms), (Some(1500), Some(5000)));
        assert_eq!((change.weight, change.backup, change.down), (Some(2), Some(true), Some(false)));
        for (body, is_new, expected) in [
            ("", true, "JsonError"),
            ("{\"server\":", true, "JsonError"),
            ("[]", true, "UpstreamConfFormatError"),
            ("{}", true, "UpstreamConfFormatError"),
            ("{\"server\":1}", true, "UpstreamConfFormatError"),
            ("{\"server\":{}}", true, "UpstreamConfFormatError"),
            ("{\"colour\":1}", false, "UpstreamConfFormatError"),
            ("{\"backup\":true}", false, "UpstreamConfFormatError"),
            ("{\"weight\":0}", false, "UpstreamBadWeight"),
            ("{\"weight\":-1}", false, "UpstreamBadWeight"),
            ("{\"weight\":\"1\"}", false, "UpstreamBadWeight"),
            ("{\"max_conns\":1e30}", false, "UpstreamBadMaxConns"),
            ("{\"max_fails\":null}", false, "UpstreamBadMaxFails"),
            ("{\"fail_timeout\":\"soon\"}", false, "UpstreamBadFailTimeout"),
            ("{\"slow_start\":true}", false, "UpstreamBadSlowStart"),
        ] {
            assert_eq!(code(body, is_new), Some(expected), "{body}");
        }
        assert_eq!(code("{}", false), None);
        let deep = "[".repeat(100_000);
        assert_eq!(code(&deep, true), Some("JsonError"));
    }

    #[test]
    fn mutated_changes_are_read_or_refused() {
        let seed = br#"{"server":"a:80","weight":2,"fail_timeout":"10s","down":true,"id":7}"#;
        let mut state = 7_u64;
        let mut next = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % bound
        };
        for _ in 0..20_000 {
            let mut bytes = seed.to_vec();
            for _ in 0..=next(3) {
                let at = next(bytes.len());
                bytes[at] = b"{}[]\",:e0-9\\\xff"[next(13)];
            }
            let _ = change(&bytes, UpstreamBlock::Stream, 9, true);
        }
    }
}
