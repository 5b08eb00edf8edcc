//! Request of an access log line.

use std::borrow::Cow;

use myriad_base::digits::{decimal, decimal_fraction};

use crate::log_stats::time;

/// Request of an access log line. Values that the line does not contain are empty, 0 or `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedRequest<'a> {
    /// Time at which the request was finished, in seconds since the epoch.
    pub time_s: Option<u64>,
    /// Address of the client, as text; empty if the line does not contain it.
    pub address: Cow<'a, [u8]>,
    /// Requested host; empty if the line does not contain it.
    pub host: Cow<'a, [u8]>,
    /// Path and query; only the rewritten path if the format has `$uri` but neither `$request_uri` nor `$request`. The
    /// whole request line if it contains no space.
    pub uri: Cow<'a, [u8]>,
    /// HTTP status of the response.
    pub status: Option<u16>,
    /// Number of bytes sent to the client.
    pub bytes: u64,
    /// Value of the request header `User-Agent`; empty if the line does not contain it.
    pub agent: Cow<'a, [u8]>,
    /// Duration of the request, in microseconds.
    pub took_us: Option<u64>,
    /// Value of `$upstream_cache_status`: `None` if the format does not contain it, empty if the request used no cache.
    pub cache: Option<Cow<'a, [u8]>>,
}

/// Meaning of a value in an access log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogField {
    Address,
    TimeLocal,
    TimeIso,
    TimeEpoch,
    /// Time in the format of `$time_iso8601`, `$time_local` or `$msec`; ignored if the line has already set a time.
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

/// Names of variables of `log_format` and of members of JSON lines, by meaning.
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
            // `$uri` is used only without `$request_uri` or `$request`: it is the path after rewriting.
            LogField::Path if self.uri.is_empty() => self.uri = value,
            LogField::Status => self.status = decimal(&value),
            LogField::Bytes => self.bytes = decimal(&value).unwrap_or(0),
            LogField::Agent => self.agent = value,
            LogField::Host if exists && (self.host.is_empty() || self.host.len() > 255) => self.host = value,
            LogField::Took => self.took_us = micros(&value),
            LogField::Cache => self.cache = Some(if exists { value } else { Cow::default() }),
            LogField::Host | LogField::Path | LogField::Time | LogField::Other => {}
        }
    }
}

/// Returns the target in a request line such as `GET /x HTTP/1.1`: the text between the first and the last space.
/// Returns the text after the space if there is only one, and the whole text if there is none.
fn target(line: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let Some(start) = memchr::memchr(b' ', &line).map(|at| at + 1) else { return line };
    let end = memchr::memrchr(b' ', &line).filter(|end| *end > start).unwrap_or(line.len());
    match line {
        Cow::Borrowed(line) => Cow::Borrowed(&line[start..end]),
        Cow::Owned(line) => Cow::Owned(line[start..end].to_vec()),
    }
}

/// Parses a duration in seconds such as `1.234`. Returns microseconds; `None` if it is invalid, negative or above 365
/// days.
fn micros(text: &[u8]) -> Option<u64> {
    let seconds: f64 = decimal_fraction(text)?;
    (0.0..=31_536_000.0).contains(&seconds).then_some((seconds * 1e6).round() as u64)
}
