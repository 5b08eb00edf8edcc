//! Parser of the `otel_exporter` block and of the lines in it.

use myriad_base::digits::decimal;
use myriad_conf::number::{parse_millis, parse_number};
use myriad_conf::{Diagnostic, Node, Text, Word};

use crate::telemetry::settings::{Endpoint, ExporterConf};

const LINES: &str =
    "valid directives: endpoint, trusted_certificate, header, interval, batch_size, batch_count";
const ENDPOINT: &str = "write `endpoint localhost:4317;` for OTLP over gRPC, `endpoint http://localhost:4318/v1/traces;` for OTLP over HTTP";
/// Maximum of `batch_size` multiplied by `batch_count`: the number of spans in the queue. The total size of the queued
/// spans is limited separately.
const MOST_WAITING: usize = 1 << 20;
/// Header names that `header` must not set, besides those that start with `grpc-`: the exporter sets them itself, or
/// they would change the framing of the message.
const OWN_FIELDS: [&str; 8] =
    ["connection", "content-length", "content-type", "host", "te", "trailer", "transfer-encoding", "upgrade"];

/// Parses an `otel_exporter` block into its settings, with defaults for missing lines. Fails if a line is unknown or
/// invalid, `endpoint` is missing, or the queue would be larger than [`MOST_WAITING`].
pub(crate) fn exporter(node: &Node) -> Result<ExporterConf, Diagnostic> {
    let (mut endpoint, mut trusted, mut headers) = (None, None, Vec::new());
    let (mut interval_ms, mut batch_size, mut batch_count) = (5000, 512, 4);
    for line in node.block.iter().flatten() {
        match &*line.name.text {
            b"endpoint" => endpoint = Some(read_endpoint(single_value(line)?)?),
            b"trusted_certificate" => {
                trusted = Some(single_value(line).map(|word| Text::new(&*word.text, word.span))?);
            }
            b"header" => headers.push(header(line)?),
            b"interval" => interval_ms = interval(single_value(line)?)?,
            b"batch_size" => batch_size = count(single_value(line)?)?,
            b"batch_count" => batch_count = count(single_value(line)?)?,
            name => {
                let name = String::from_utf8_lossy(name);
                let message = format!("unknown directive \"{name}\" in \"otel_exporter\"");
                return Err(Diagnostic::error(line.name.span, message).help(LINES));
            }
        }
    }
    let Some(endpoint) = endpoint else {
        return Err(Diagnostic::error(node.span, "\"otel_exporter\" requires \"endpoint\"").help(ENDPOINT));
    };
    if batch_size.saturating_mul(batch_count) > MOST_WAITING {
        return Err(Diagnostic::error(node.span, "the queue of spans would be too large")
            .help("batch_size multiplied by batch_count must be at most 1048576"));
    }
    Ok(ExporterConf { span: node.span, endpoint, trusted, headers, interval_ms, batch_size, batch_count })
}

/// Returns the argument of a line; an error unless the line has exactly one argument and no block.
fn single_value(line: &Node) -> Result<&Word, Diagnostic> {
    match line.args.as_slice() {
        [word] if line.block.is_none() => Ok(word),
        _ => Err(arguments(line, "it requires one argument")),
    }
}

fn arguments(line: &Node, help: &str) -> Diagnostic {
    let name = String::from_utf8_lossy(&line.name.text);
    let message = format!("invalid number of arguments in \"{name}\" directive of \"otel_exporter\"");
    Diagnostic::error(line.span, message).help(help)
}

fn interval(word: &Word) -> Result<u64, Diagnostic> {
    match parse_millis(&word.text) {
        Ok(ms) if ms > 0 => Ok(ms),
        _ => Err(invalid(word, "interval").help("it must be a time above 0, such as 5s")),
    }
}

fn count(word: &Word) -> Result<usize, Diagnostic> {
    let number = parse_number(&word.text).ok().and_then(|number| usize::try_from(number).ok());
    number.filter(|number| *number > 0).ok_or_else(|| invalid(word, "number").help("it must be 1 or more"))
}

fn invalid(word: &Word, what: &str) -> Diagnostic {
    Diagnostic::error(word.span, format!("invalid {what} \"{}\"", String::from_utf8_lossy(&word.text)))
}

/// Parses `header NAME VALUE`, a header field of each request to the collector. The name consists of letters, digits,
/// `-`, `_` and `.`; it is converted to lower case and must not be one of [`OWN_FIELDS`] or start with `grpc-`. The
/// value must be printable ASCII, so that it cannot contain a line break. Returns an error for any other line.
fn header(line: &Node) -> Result<(String, String), Diagnostic> {
    let [name, value] = line.args.as_slice() else {
        return Err(arguments(line, "write `header X-API-Token \"value\";`"));
    };
    let lower = String::from_utf8_lossy(&name.text).to_ascii_lowercase();
    let is_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.');
    if lower.is_empty() || !lower.bytes().all(is_name) {
        return Err(invalid(name, "header name").help("a name consists of letters, digits, `-`, `_` and `.`"));
    }
    if OWN_FIELDS.contains(&&*lower) || lower.starts_with("grpc-") {
        return Err(invalid(name, "header name").help("this header is reserved for the exporter"));
    }
    if !value.text.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return Err(invalid(value, "header value").help("a value consists of printable ASCII characters"));
    }
    Ok((lower, String::from_utf8_lossy(&value.text).into_owned()))
}

/// Parses the argument of `endpoint`: `[(http|https)://]host:port[/path]`. A path of a single slash counts as no path.
/// Returns an error for any other text.
fn read_endpoint(word: &Word) -> Result<Endpoint, Diagnostic> {
    parse_endpoint(&word.text).ok_or_else(|| invalid(word, "endpoint").help(ENDPOINT))
}

fn parse_endpoint(text: &[u8]) -> Option<Endpoint> {
    let text =
        std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_graphic()))?;
    let scheme = |scheme: &str| {
        let (found, rest) = text.split_at_checked(scheme.len())?;
        found.eq_ignore_ascii_case(scheme).then_some(rest)
    };
    let (secure, rest) = match (scheme("https://"), scheme("http://")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => (false, text),
    };
    let (authority, path) = match rest.find('/') {
        // A single trailing slash is not a path.
        Some(at) => (&rest[..at], Some(&rest[at..]).filter(|path| *path != "/")),
        None => (rest, None),
    };
    let (host, port) = authority.rsplit_once(':')?;
    let port: u16 = decimal(port).filter(|port| *port > 0)?;
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').filter(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok())?,
        None => Some(host).filter(|host| !host.contains([':', '@', '?', '#', '[', ']', '%']))?,
    };
    (!host.is_empty()).then(|| Endpoint {
        secure,
        host: host.to_owned(),
        port,
        path: path.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_is_read_in_each_form() {
        let shown = |text: &str| {
            parse_endpoint(text.as_bytes()).map(|endpoint| {
                let Endpoint { secure, host, port, path } = endpoint;
                format!("{secure} {host} {port} {}", path.unwrap_or_default())
            })
        };
        for (text, meant) in [
            ("localhost:4317", "false localhost 4317 "),
            ("HTTP://localhost:4317/", "false localhost 4317 "),
            ("https://otel.test:4317", "true otel.test 4317 "),
            ("http://[::1]:4318/v1/traces", "false ::1 4318 /v1/traces"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(meant), "{text}");
        }
        for text in [
            "",
            "localhost",
            "localhost:0",
            "localhost:x",
            "localhost:+80",
            ":4317",
            "ftp://a:1",
            "a@b:1",
            "[::1:4317",
            "a b:1",
            "unix:/x",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }
}
