//! `-t --explain URL`: the way of a request through the configuration, for people to read.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use myriad_conf::{Parsed, Span, line_and_column};
use myriad_serve::{ExplainedLine, Question};

use crate::cli::Asked;
use crate::configuration::{Configuration, Origin};

/// Width of the first column, characters.
const TOPIC: usize = 10;

impl Asked {
    /// Reads the URL and the fields.
    fn question(&self) -> Result<Question, String> {
        let rest = self.url.strip_prefix("http://").or_else(|| self.url.strip_prefix("https://"));
        let (authority, target) = match rest {
            Some(rest) => rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len())),
            None if self.url.starts_with('/') => ("", self.url.as_str()),
            None => return Err(format!("--explain: \"{}\" is neither a URL nor a path", self.url)),
        };
        let port_at = authority.rfind(':').filter(|at| !authority[*at..].contains(']'));
        let port = port_at.map(|at| authority[at + 1..].parse::<u16>());
        let port = port.transpose().map_err(|_| format!("--explain: no port in \"{authority}\""))?;
        let target = target.split('#').next().unwrap_or_default();
        let slash = if target.starts_with('/') { "" } else { "/" };
        let mut question = Question {
            method: self.method.clone().unwrap_or_else(|| "GET".to_owned()),
            host: (!authority.is_empty()).then(|| authority.to_owned()),
            port,
            secure: self.url.starts_with("https://"),
            target: format!("{slash}{target}"),
            fields: Vec::new(),
        };
        for field in &self.fields {
            let (name, value) =
                field.split_once(':').ok_or_else(|| format!("-H: \"{field}\" has no colon"))?;
            if name.eq_ignore_ascii_case("host") {
                question.host = Some(value.trim().to_owned());
            } else {
                question.fields.push((name.trim().to_owned(), value.trim().to_owned()));
            }
        }
        Ok(question)
    }
}

/// Explains a request to the standard output.
pub(crate) fn run(origin: &Origin, configuration: &Configuration, asked: &Asked) -> Result<(), String> {
    let question = asked.question()?;
    let prefix = &origin.paths.prefix;
    let folder = origin.paths.configuration.parent().unwrap_or(prefix);
    let lines =
        myriad_serve::explain(&configuration.model, prefix, folder, &configuration.tls_files, &question)
            .map_err(|error| format!("--explain: {error}"))?;
    let text = render(&configuration.parsed, &question, &lines);
    io::stdout().write_all(text.as_bytes()).map_err(|error| format!("--explain: {error}"))
}

fn render(parsed: &Parsed, question: &Question, lines: &[ExplainedLine]) -> String {
    let host = question.host.as_deref().unwrap_or_default();
    let scheme = if question.secure { "https://" } else { "" };
    let mut out = format!("{} {scheme}{host}{} from 127.0.0.1\n\n", question.method, question.target);
    let mut topic = "";
    for line in lines {
        let text = match line.span {
            Some(span) if line.text.is_empty() => directive(parsed, span),
            _ => line.text.clone(),
        };
        let shown = if line.topic == topic { "" } else { line.topic };
        topic = line.topic;
        let _ = write!(out, "{shown:<TOPIC$}{}", printable(&text));
        if !line.outcome.is_empty() {
            let _ = write!(out, "  ->  {}", printable(&line.outcome));
        }
        if let Some(place) = line.span.and_then(|span| place(parsed, span)) {
            let _ = write!(out, "   ({place})");
        }
        out.push('\n');
    }
    out
}

/// Text for the terminal: control characters, which a request may hold, become U+FFFD.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

/// `nginx.conf:12`.
fn place(parsed: &Parsed, span: Span) -> Option<String> {
    let source = parsed.source(span.file)?;
    let name = source.path.file_name().unwrap_or(source.path.as_os_str()).to_string_lossy().into_owned();
    Some(format!("{name}:{}", line_and_column(source, span.start).0))
}

/// The directive around a span, on one line: from the end of the one before to its `;` or `{`.
fn directive(parsed: &Parsed, span: Span) -> String {
    let Some(source) = parsed.source(span.file) else { return String::new() };
    let at = (span.start as usize).min(source.bytes.len());
    let ends = |byte: &u8| matches!(byte, b';' | b'{' | b'}' | b'\n');
    let from = source.bytes[..at].iter().rposition(ends).map_or(0, |end| end + 1);
    let mut quote = None;
    let mut to = source.bytes.len();
    for (index, &byte) in source.bytes.iter().enumerate().skip(from) {
        if let Some(open) = quote {
            if byte == open {
                quote = None;
            }
            continue;
        }
        match byte {
            b'"' | b'\'' => quote = Some(byte),
            b';' | b'{' if index >= at => {
                to = index;
                break;
            }
            _ => {}
        }
    }
    let text = String::from_utf8_lossy(&source.bytes[from..to]).into_owned();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(url: &str, fields: &[&str]) -> Result<Question, String> {
        let fields = fields.iter().map(|field| (*field).to_owned()).collect();
        Asked { url: url.to_owned(), method: None, fields }.question()
    }

    #[test]
    fn a_url_is_taken_apart() {
        let asked = question("http://a.example:8080/x?y#z", &[]).expect("a question");
        assert_eq!((asked.host.as_deref(), asked.port), (Some("a.example:8080"), Some(8080)));
        assert_eq!(asked.target, "/x?y");
        let asked = question("https://[::1]", &["Host: b", "Cookie: a=b: c"]).expect("a question");
        assert_eq!((asked.host.as_deref(), asked.port, asked.target.as_str()), (Some("b"), None, "/"));
        assert_eq!(asked.fields, [("Cookie".to_owned(), "a=b: c".to_owned())]);
        assert_eq!(question("http://a?b", &[]).expect("a question").target, "/?b");
        assert!(question("a/b", &[]).is_err() && question("/", &["x"]).is_err());
    }
}
