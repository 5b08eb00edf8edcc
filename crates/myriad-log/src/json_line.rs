//! Error log lines in JSON (`error_log … format=json`): one object per line.

use std::fmt::Write as _;

use myriad_base::calendar::format_time_iso8601;
use myriad_conf::settings::LogLevel;

use crate::escape::is_unsafe;
use crate::local_time;

/// Fields of a JSON error log line before the message.
pub(crate) struct JsonLineHead {
    /// Time of the message, in seconds since the Unix epoch.
    pub(crate) now_s: u64,
    pub(crate) level: LogLevel,
    /// Number of the client connection; `None` for a message without one.
    pub(crate) connection: Option<u64>,
    /// Number of suppressed repetitions of the message, if the line reports them; otherwise `None`.
    pub(crate) repeated: Option<u64>,
}

/// Fields of nginx's request context in order: text before the value, name in JSON, and true if the value is quoted.
const FIELDS: [(&str, &str, bool); 7] = [
    (", client: ", "client", false),
    (", server: ", "server", false),
    (", request: \"", "request", true),
    (", subrequest: \"", "subrequest", true),
    (", upstream: \"", "upstream", true),
    (", host: \"", "host", true),
    (", referrer: \"", "referrer", true),
];

/// Formats a line, including the line break. `context` is nginx's request context, which is split into fields.
pub(crate) fn line(head: &JsonLineHead, message: &str, context: &str) -> String {
    let mut line = String::with_capacity(160 + message.len() + context.len());
    let time = format_time_iso8601(head.now_s, local_time::offset_minutes(head.now_s));
    let (pid, tid) = (std::process::id(), rustix::thread::gettid().as_raw_nonzero());
    // Writing to a String cannot fail.
    let _ = write!(
        line,
        "{{\"time\":\"{}\",\"level\":\"{}\",\"pid\":{pid},\"tid\":{tid}",
        String::from_utf8_lossy(&time),
        head.level.name()
    );
    if let Some(connection) = head.connection {
        let _ = write!(line, ",\"connection\":{connection}");
    }
    if let Some(repeated) = head.repeated {
        let _ = write!(line, ",\"repeated\":{repeated}");
    }
    member(&mut line, "message", message);
    for (name, value) in fields(context) {
        member(&mut line, name, value);
    }
    line.push_str("}\n");
    line
}

/// Splits a request context into names and values. A value extends to the start of the next field. Text in the request
/// line, which clients control, cannot change the client address, because the address comes first.
fn fields(context: &str) -> Vec<(&'static str, &str)> {
    let mut found: Vec<(&'static str, usize, usize, bool)> = Vec::new();
    let mut from = 0;
    for (begin, name, is_quoted) in FIELDS {
        if let Some(at) = context[from..].find(begin) {
            found.push((name, from + at, from + at + begin.len(), is_quoted));
            from += at + begin.len();
        }
    }
    let ends = found.iter().skip(1).map(|field| field.1).chain([context.len()]);
    let value = |((name, _, start, is_quoted), end): (&(&'static str, usize, usize, bool), usize)| {
        let value = &context[*start..end];
        (*name, if *is_quoted { value.strip_suffix('"').unwrap_or(value) } else { value })
    };
    found.iter().zip(ends).map(value).collect()
}

fn member(line: &mut String, name: &str, value: &str) {
    let _ = write!(line, ",\"{name}\":\"");
    for character in value.chars() {
        match character {
            '"' | '\\' => line.extend(['\\', character]),
            '\t' => line.push_str("\\t"),
            _ if is_unsafe(character) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(line, "\\u{unit:04x}");
                }
            }
            _ => line.push(character),
        }
    }
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(message: &str, context: &str) -> serde_json::Value {
        let head = JsonLineHead {
            now_s: 1_764_000_000,
            level: LogLevel::Error,
            connection: Some(7),
            repeated: None,
        };
        let line = line(&head, message, context);
        assert_eq!(line.lines().count(), 1);
        serde_json::from_str(&line).expect("JSON")
    }

    #[test]
    fn the_account_of_a_request_becomes_fields() {
        let object = parsed(
            "connect() failed (111: Connection refused) while connecting to upstream",
            ", client: 192.0.2.1, server: a.test, request: \"GET / HTTP/1.1\", upstream: \"http://127.0.0.1:1/\", host: \"a.test\"",
        );
        assert_eq!(
            object["message"],
            "connect() failed (111: Connection refused) while connecting to upstream"
        );
        assert_eq!((&object["level"], &object["connection"]), (&"error".into(), &7.into()));
        assert_eq!((&object["client"], &object["server"]), (&"192.0.2.1".into(), &"a.test".into()));
        assert_eq!(object["request"], "GET / HTTP/1.1");
        assert_eq!((&object["upstream"], &object["host"]), (&"http://127.0.0.1:1/".into(), &"a.test".into()));
        assert!(object.get("referrer").is_none());
    }

    #[test]
    fn a_client_changes_neither_its_address_nor_the_line() {
        let object = parsed(
            "x\n\"\u{1b}[2J\u{202e}",
            ", client: 192.0.2.1, server: a, request: \"GET /\", client: 6.6.6.6, server: \"b\", \"level\":\"x\" HTTP/1.1\"",
        );
        assert_eq!((&object["client"], &object["server"]), (&"192.0.2.1".into(), &"a".into()));
        assert_eq!(
            (&object["level"], &object["message"]),
            (&"error".into(), &"x\n\"\u{1b}[2J\u{202e}".into())
        );
    }

    #[test]
    fn any_text_is_one_line_of_json() {
        for seed in 0..2000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let text: String = (0..random.usize(..30)).map(|_| random.char('\0'..='\u{10ffff}')).collect();
            assert_eq!(parsed(&text, "")["message"], text.as_str(), "seed {seed}");
        }
    }
}
