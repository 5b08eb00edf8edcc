//! Request, by the fields in its line.

use std::borrow::Cow;

use crate::log_stats::time;

/// Request; fields that are missing in the line are empty or `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedRequest<'a> {
    /// Time of its completion, in seconds since the epoch.
    pub time_s: Option<u64>,
    /// Address of the client.
    pub address: Cow<'a, [u8]>,
    /// Requested host.
    pub host: Cow<'a, [u8]>,
    /// Path and query, or the whole text of an invalid request line.
    pub uri: Cow<'a, [u8]>,
    /// Status of the response.
    pub status: Option<u16>,
    /// Number of sent bytes.
    pub bytes: u64,
    /// Value of `User-Agent`.
    pub agent: Cow<'a, [u8]>,
    /// Duration in microseconds.
    pub took_us: Option<u64>,
    /// Value of `$upstream_cache_status`; `Some` with an empty text if the format contains it and no cache was used.
    pub cache: Option<Cow<'a, [u8]>>,
}

/// Meaning of a field of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogField {
    Address,
    TimeLocal,
    TimeIso,
    TimeEpoch,
    /// Time in any of these forms.
    Time,
    Request,
    Uri,
    Path,
    Status,
    Bytes,
    Agent,
    Host,
    Took,
    Cache,
    Other,
}

/// Equivalent names of variables of `log_format` and of members of JSON lines.
const NAMES: &[(LogField, &[&str])] = &[
    (LogField::Address, &["remote_addr", "client", "client_ip", "remote_ip", "ip", "clientip", "addr"]),
    (LogField::TimeLocal, &["time_local"]),
    (LogField::TimeIso, &["time_iso8601"]),
    (LogField::TimeEpoch, &["msec"]),
    (LogField::Time, &["time", "timestamp", "@timestamp", "ts", "date", "datetime"]),
    (LogField::Request, &["request", "request_line"]),
    (LogField::Uri, &["request_uri"]),
    (LogField::Path, &["uri", "url", "path"]),
    (LogField::Status, &["status", "status_code", "response_code"]),
    (LogField::Bytes, &["body_bytes_sent", "bytes_sent", "bytes", "size"]),
    (LogField::Agent, &["http_user_agent", "user_agent", "agent", "useragent"]),
    (LogField::Host, &["http_host", "host", "vhost", "server_name"]),
    (LogField::Took, &["request_time", "duration", "took"]),
    (LogField::Cache, &["upstream_cache_status", "cache_status", "cache"]),
];

impl LogField {
    pub(crate) fn from_name(name: &str) -> Self {
        NAMES.iter().find(|(_, names)| names.contains(&name)).map_or(Self::Other, |(field, _)| *field)
    }
}

impl<'a> LoggedRequest<'a> {
    pub(crate) fn set(&mut self, field: LogField, value: Cow<'a, [u8]>) {
        let exists = &*value != b"-";
        match field {
            LogField::Address => self.address = value,
            LogField::TimeLocal => self.time_s = time::local(&value),
            LogField::TimeIso => self.time_s = time::iso8601(&value),
            LogField::TimeEpoch => self.time_s = time::epoch(&value),
            LogField::Time if self.time_s.is_none() => {
                self.time_s =
                    time::iso8601(&value).or_else(|| time::local(&value)).or_else(|| time::epoch(&value));
            }
            LogField::Request => self.uri = target(value),
            LogField::Uri => self.uri = value,
            // The path after rewriting is less useful than the requested path.
            LogField::Path if self.uri.is_empty() => self.uri = value,
            LogField::Status => self.status = number(&value).and_then(|status| u16::try_from(status).ok()),
            LogField::Bytes => self.bytes = number(&value).unwrap_or(0),
            LogField::Agent => self.agent = value,
            LogField::Host if exists && (self.host.is_empty() || self.host.len() > 255) => self.host = value,
            LogField::Took => self.took_us = micros(&value),
            LogField::Cache => self.cache = Some(if exists { value } else { Cow::default() }),
            LogField::Host | LogField::Path | LogField::Time | LogField::Other => {}
        }
    }
}

/// Returns the target of a request line `GET /x HTTP/1.1`; the whole text if it has another form.
fn target(line: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let Some(start) = memchr::memchr(b' ', &line).map(|at| at + 1) else { return line };
    let end = memchr::memrchr(b' ', &line).filter(|end| *end > start).unwrap_or(line.len());
    match line {
        Cow::Borrowed(line) => Cow::Borrowed(&line[start..end]),
        Cow::Owned(line) => Cow::Owned(line[start..end].to_vec()),
    }
}

fn number(text: &[u8]) -> Option<u64> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// Parses seconds such as `1.234`, at most a year.
fn micros(text: &[u8]) -> Option<u64> {
    let seconds: f64 = str::from_utf8(text).ok()?.parse().ok()?;
    (0.0..=31_536_000.0).contains(&seconds).then_some((seconds * 1e6).round() as u64)
}
