//! Parsing of access log lines by the text of their `log_format`.

use std::borrow::Cow;

use memchr::memmem::Finder;

use crate::log_stats::logged_request::{LogField, LoggedRequest};

/// Default access log format of nginx, `combined`.
const COMBINED: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;

/// Text of an nginx `log_format`, compiled for parsing lines.
#[derive(Clone, Debug)]
pub struct LogLayout {
    /// Text of the format before the first variable.
    begin: Vec<u8>,
    parts: Vec<LayoutPart>,
    /// True if values are escaped as in JSON strings (`escape=json`).
    is_json: bool,
    has: Vec<LogField>,
}

#[derive(Clone, Debug)]
struct LayoutPart {
    field: LogField,
    /// True if the value may be a list with separators, for several upstream servers: `a, b : c`.
    is_list: bool,
    /// Text of the format after this variable, up to the next variable; empty if this variable is the last text of the
    /// format.
    text_after: Finder<'static>,
}

impl LogLayout {
    /// Compiles the text of a `log_format`; `is_json` is true for `escape=json`. Returns `None` if the text has no
    /// variables, or two adjacent ones: then lines cannot be parsed.
    pub fn of(text: &str, is_json: bool) -> Option<Self> {
        let mut layout = Self { begin: Vec::new(), parts: Vec::new(), is_json, has: Vec::new() };
        let mut pieces = text.split('$');
        layout.begin = pieces.next()?.as_bytes().to_vec();
        let mut touch = false;
        for piece in pieces {
            let braced = piece.strip_prefix('{').and_then(|rest| rest.split_once('}'));
            let (name, behind) = braced.unwrap_or_else(|| {
                let end = piece.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                piece.split_at(end.unwrap_or(piece.len()))
            });
            if touch {
                return None;
            }
            touch = behind.is_empty();
            let (field, is_list) = (LogField::from_name(name), name.starts_with("upstream_"));
            layout.has.push(field);
            layout.parts.push(LayoutPart {
                field,
                is_list,
                text_after: Finder::new(behind.as_bytes()).into_owned(),
            });
        }
        (!layout.parts.is_empty()).then_some(layout)
    }

    /// Returns nginx's `combined` format. It also parses lines of formats that append further values to it.
    pub fn combined() -> Self {
        // The text is known to be valid, so the fallback is never used.
        Self::of(COMBINED, false).unwrap_or(Self {
            begin: Vec::new(),
            parts: Vec::new(),
            is_json: false,
            has: Vec::new(),
        })
    }

    /// Returns whether the format contains the duration of requests.
    pub fn has_times(&self) -> bool {
        self.has.contains(&LogField::Took)
    }

    /// Returns whether the format contains the cache status (`$upstream_cache_status`).
    pub fn has_cache_status(&self) -> bool {
        self.has.contains(&LogField::Cache)
    }

    /// Parses a line without its line break; `None` if it does not match the format.
    pub fn read<'a>(&self, line: &'a [u8]) -> Option<LoggedRequest<'a>> {
        let mut rest = line.strip_prefix(self.begin.as_slice())?;
        let mut visit = LoggedRequest::default();
        for part in &self.parts {
            let text_after = part.text_after.needle();
            let end = if text_after.is_empty() { rest.len() } else { part.end(rest)? };
            let value = &rest[..end];
            rest = &rest[(end + text_after.len()).min(rest.len())..];
            if part.field != LogField::Other {
                visit.set(part.field, self.unescaped(value));
            }
        }
        Some(visit)
    }

    fn unescaped<'a>(&self, value: &'a [u8]) -> Cow<'a, [u8]> {
        if !self.is_json || memchr::memchr(b'\\', value).is_none() {
            return Cow::Borrowed(value);
        }
        let quoted = [b"\"", value, b"\""].concat();
        match serde_json::from_slice::<String>(&quoted) {
            Ok(text) => Cow::Owned(text.into_bytes()),
            Err(_) => Cow::Borrowed(value),
        }
    }
}

impl LayoutPart {
    fn end(&self, text: &[u8]) -> Option<usize> {
        let mut from = 0;
        loop {
            let end = from + self.text_after.find(&text[from..])?;
            // The separator is part of a list of peers, which contains `, ` and ` : `.
            let goes_on = self.is_list
                && self.text_after.needle().first() == Some(&b' ')
                && (text[..end].ends_with(b",")
                    || text[..end].ends_with(b" :")
                    || text[end..].starts_with(b" : "));
            if !goes_on {
                return Some(end);
            }
            from = end + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] = br#"192.0.2.7 - - [24/Nov/2026:17:07:09 +0000] "GET /a?b=1 HTTP/1.1" 200 512 "-" "curl/8 (\x22x\x22)""#;

    #[test]
    fn a_line_of_the_combined_format_is_read() {
        let visit = LogLayout::combined().read(LINE).expect("a line");
        assert_eq!(visit.time_s, Some(1_795_540_029));
        assert_eq!((&*visit.address, &*visit.uri), (&b"192.0.2.7"[..], &b"/a?b=1"[..]));
        assert_eq!((visit.status, visit.bytes), (Some(200), 512));
        assert_eq!(&*visit.agent, br"curl/8 (\x22x\x22)");
        assert_eq!((visit.took_us, visit.cache), (None, None));
    }

    #[test]
    fn what_follows_a_known_format_does_no_harm_and_other_lines_are_none() {
        let longer = [LINE, b" 0.003 HIT"].concat();
        assert!(LogLayout::combined().read(&longer).is_some());
        for wrong in [&b""[..], b"x", b"192.0.2.7 - - [24/Nov", b"\xff\xfe"] {
            assert!(LogLayout::combined().read(wrong).is_none());
        }
    }

    #[test]
    fn any_format_is_read_and_lists_of_peers_are_one_value() {
        let text = r#"${remote_addr} [$time_iso8601] $host "$request" $status $upstream_addr $upstream_response_time $request_time $upstream_cache_status;"#;
        let layout = LogLayout::of(text, false).expect("a layout");
        let line = br#"::1 [2026-11-24T17:07:09+00:00] a.test "POST /x HTTP/2.0" 502 10.0.0.1:80, 10.0.0.2:80 : unix:/s 0.1, 0.2 : - 1.250 MISS;"#;
        let visit = layout.read(line).expect("a line");
        assert_eq!((&*visit.host, visit.status, visit.took_us), (&b"a.test"[..], Some(502), Some(1_250_000)));
        assert_eq!(visit.cache.as_deref(), Some(&b"MISS"[..]));
        assert!(layout.has_cache_status() && layout.has_times() && !LogLayout::combined().has_cache_status());
    }

    #[test]
    fn escapes_of_json_are_taken_out() {
        let layout = LogLayout::of(r#"{"u":"$request_uri","a":"$http_user_agent"}"#, true).expect("a layout");
        let visit = layout.read(br#"{"u":"/\"a\",\"b","a":"x\u00e9"}"#).expect("a line");
        assert_eq!((&*visit.uri, &*visit.agent), (&b"/\"a\",\"b"[..], "xé".as_bytes()));
    }

    #[test]
    fn formats_that_cannot_be_read_back_are_none() {
        assert!(LogLayout::of("$a$b", false).is_none());
        assert!(LogLayout::of("no variable", false).is_none());
    }

    #[test]
    fn no_line_makes_it_panic() {
        for seed in 0..5000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut line = LINE.to_vec();
            for _ in 0..random.usize(..6) {
                let at = random.usize(..line.len());
                match random.u8(..3) {
                    0 => line[at] = random.u8(..),
                    1 => line.truncate(at.max(1)),
                    _ => line.insert(at, random.u8(..)),
                }
            }
            let _ = LogLayout::combined().read(&line);
        }
    }
}
