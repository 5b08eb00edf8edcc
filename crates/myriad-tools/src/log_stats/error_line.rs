//! Parsing of error log lines, in the format of nginx and as JSON, and grouping of messages.

use std::borrow::Cow;

use myriad_base::digits::decimal;

use crate::log_stats::time;

/// Parsed line of an error log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorLogLine<'a> {
    /// Time of the line, in seconds since the Unix epoch; `None` if a JSON line has an invalid time.
    pub time_s: Option<u64>,
    /// Level such as `error` or `crit`.
    pub level: Cow<'a, str>,
    /// Message, without the description of the request that follows it.
    pub message: Cow<'a, str>,
    /// Address of the client; empty if unknown.
    pub client: Cow<'a, str>,
    /// Number of occurrences: 1, or more if the log contains `message repeated 12 times`.
    pub count: u64,
}

/// Parses a line of the error log in the format of nginx or in JSON; `None` for other lines. Times in the format of
/// nginx are local; `offset_minutes` returns the offset from UTC in minutes, positive to the east.
pub fn read_fault(line: &str, offset_minutes: impl Fn(u64) -> i32) -> Option<ErrorLogLine<'_>> {
    if line.starts_with('{') {
        return read_json(line);
    }
    // `2026/11/24 17:07:09 [error] 12#12: *7 message, client: …`
    let time_s = Some(time::error_log(line.as_bytes().get(..19)?, offset_minutes)?);
    let (level, rest) = line.get(19..)?.strip_prefix(" [")?.split_once("] ")?;
    let (process, rest) = rest.split_once(": ")?;
    if !process.bytes().all(|byte| byte.is_ascii_digit() || byte == b'#') || level.len() > 6 {
        return None;
    }
    let numbered = rest.strip_prefix('*').and_then(|rest| rest.split_once(' '));
    let message =
        numbered.filter(|(number, _)| decimal::<u64>(number).is_some()).map_or(rest, |(_, rest)| rest);
    let (count, message) = repeated(message).unwrap_or((1, message));
    let (message, context) = split_context(message);
    let client =
        context.strip_prefix(", client: ").map_or("", |rest| rest.split([',', ' ']).next().unwrap_or(""));
    let level = Cow::Borrowed(level);
    Some(ErrorLogLine {
        time_s,
        level,
        message: Cow::Borrowed(message),
        client: Cow::Borrowed(client),
        count,
    })
}

fn repeated(message: &str) -> Option<(u64, &str)> {
    let (count, text) = message.strip_prefix("message repeated ")?.split_once(" times: [")?;
    Some((decimal(count)?, text.strip_suffix(']')?))
}

/// Splits a text into the message and the description of the request that follows it.
fn split_context(message: &str) -> (&str, &str) {
    let at =
        [", client: ", ", server: ", ", upstream: "].iter().filter_map(|begin| message.find(begin)).min();
    message.split_at(at.unwrap_or(message.len()))
}

#[derive(serde::Deserialize)]
struct JsonErrorLine<'a> {
    #[serde(borrow)]
    time: Cow<'a, str>,
    #[serde(borrow)]
    level: Cow<'a, str>,
    #[serde(borrow)]
    message: Cow<'a, str>,
    #[serde(borrow, default)]
    client: Cow<'a, str>,
    #[serde(default)]
    repeated: Option<u64>,
}

fn read_json(line: &str) -> Option<ErrorLogLine<'_>> {
    let JsonErrorLine { time, level, message, client, repeated } = serde_json::from_str(line).ok()?;
    let time_s = time::iso8601(time.as_bytes());
    Some(ErrorLogLine { time_s, level, message, client, count: repeated.unwrap_or(1) })
}

/// Appends the group of a message to `out`: the message with each quoted text replaced by `"…"`, and each number by
/// `N`. Error numbers of the system, as in `(111: Connection refused)`, and numbers that follow a letter, as in
/// `HTTP2`, remain.
pub(crate) fn group(message: &str, out: &mut String) {
    let mut is_quoted = false;
    for part in message.split('"') {
        if is_quoted {
            out.push_str("\"…\"");
        } else {
            without_numbers(part, out);
        }
        is_quoted = !is_quoted;
    }
}

fn without_numbers(text: &str, out: &mut String) {
    let mut rest = text;
    let mut before = ' ';
    while let Some(at) = rest.find(|letter: char| letter.is_ascii_digit()) {
        out.push_str(&rest[..at]);
        before = rest[..at].chars().next_back().unwrap_or(before);
        let end =
            rest[at..].find(|c: char| !c.is_ascii_digit() && c != '.').map_or(rest.len(), |end| at + end);
        let number = rest[at..end].trim_end_matches('.');
        rest = &rest[at + number.len()..];
        // The number is part of a word such as `HTTP2`, or an error number of the system: `(111: Connection refused)`.
        let is_errno = before == '(' && rest.starts_with(": ");
        out.push_str(if before.is_alphabetic() || is_errno { number } else { "N" });
        before = '0';
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(message: &str) -> String {
        let mut out = String::new();
        group(message, &mut out);
        out
    }

    #[test]
    fn nginx_error_log_line_is_parsed_into_its_parts() {
        let line = "2026/11/24 17:07:09 [error] 12#14: *7 connect() failed (111: Connection refused) while connecting to \
                    upstream, client: 192.0.2.1, server: a, request: \"GET / HTTP/1.1\", host: \"a\"";
        let fault = read_fault(line, |_| 0).expect("a line");
        assert_eq!(
            (fault.time_s, &*fault.level, &*fault.client),
            (Some(1_795_540_029), "error", "192.0.2.1")
        );
        assert_eq!(fault.message, "connect() failed (111: Connection refused) while connecting to upstream");
        let plain = read_fault("2026/11/24 17:07:09 [notice] 1#1: using epoll", |_| 60).expect("a line");
        assert_eq!((&*plain.message, plain.count, plain.time_s), ("using epoll", 1, Some(1_795_536_429)));
    }

    #[test]
    fn a_repetition_counts_for_all_its_lines() {
        let line =
            "2026/11/24 17:07:09 [warn] 1#1: message repeated 1234 times: [a [b], client: ::1, server: x]";
        let fault = read_fault(line, |_| 0).expect("a line");
        assert_eq!((fault.count, &*fault.message, &*fault.client), (1234, "a [b]", "::1"));
        let json = r#"{"time":"2026-11-24T17:07:09+00:00","level":"warn","pid":1,"tid":1,"repeated":5,"message":"a","client":"::1"}"#;
        let fault = read_fault(json, |_| 0).expect("a line");
        assert_eq!((fault.count, &*fault.message, &*fault.client), (5, "a", "::1"));
    }

    #[test]
    fn messages_that_differ_in_figures_and_names_are_one_group() {
        assert_eq!(
            grouped("open() \"/a/1\" failed (2: No such file or directory)"),
            "open() \"…\" failed (2: No such file or directory)"
        );
        assert_eq!(
            grouped("limiting requests, excess: 20.130 by zone \"one\""),
            "limiting requests, excess: N by zone \"…\""
        );
        assert_eq!(grouped("HTTP2 12 of 13, é 1.5. (7: x) \"open"), "HTTP2 N of N, é N. (7: x) \"…\"");
    }

    #[test]
    fn what_is_no_line_is_none_and_nothing_panics() {
        for wrong in [
            "",
            "x",
            "2026/11/24 17:07:09",
            "2026/11/24 17:07:09 [error",
            "é2026/11/24 17:07:09 [a] 1#1: x",
            "{}",
        ] {
            assert!(read_fault(wrong, |_| 0).is_none(), "{wrong}");
        }
        for seed in 0..3000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let text: String = (0..random.usize(..40))
                .map(|_| {
                    random
                        .choice(['0', '1', '9', '.', 'é', '"', '(', ':', ' ', '[', ']', ',', '*', '#'])
                        .unwrap_or('x')
                })
                .collect();
            grouped(&text);
            let _ = read_fault(&format!("2026/11/24 17:07:09 [error] 1#1: {text}"), |_| 0);
        }
    }
}
