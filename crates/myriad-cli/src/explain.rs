//! `-t --explain URL`: prints how the configuration processes a request.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use myriad_conf::{ParsedConfiguration, directive_at, position_text};
use myriad_serve::{ExplainedLine, ExplainedRequest};

use crate::cli::ExplainRequest;
use crate::configuration::{Configuration, ConfigurationSource};

/// Width of the first column (the topic) of the explanation, in characters.
const TOPIC: usize = 10;

impl ExplainRequest {
    /// Parses the URL and the headers of the request. Returns an error text if they are invalid.
    fn question(&self) -> Result<ExplainedRequest, String> {
        let mut question = ExplainedRequest::of_url(&self.url).map_err(|why| format!("--explain: {why}"))?;
        question.method = self.method.clone().unwrap_or(question.method);
        for field in &self.fields {
            let (name, value) =
                field.split_once(':').ok_or_else(|| format!("-H: \"{field}\" contains no colon"))?;
            if name.eq_ignore_ascii_case("host") {
                question.host = Some(value.trim().to_owned());
            } else {
                question.fields.push((name.trim().to_owned(), value.trim().to_owned()));
            }
        }
        Ok(question)
    }
}

/// Prints the explanation of a request to standard output. Returns an error text if the request is invalid or cannot be
/// explained, or if standard output fails.
pub fn run(
    origin: &ConfigurationSource,
    configuration: &Configuration,
    asked: &ExplainRequest,
) -> Result<(), String> {
    let question = asked.question()?;
    let prefix = &origin.paths.prefix;
    let folder = origin.paths.configuration.parent().unwrap_or(prefix);
    let lines =
        myriad_serve::explain(&configuration.model, prefix, folder, &configuration.tls_files, &question)
            .map_err(|error| format!("--explain: {error}"))?;
    let text = render(&configuration.parsed, &question, &lines);
    io::stdout().write_all(text.as_bytes()).map_err(|error| format!("--explain: {error}"))
}

fn render(parsed: &ParsedConfiguration, question: &ExplainedRequest, lines: &[ExplainedLine]) -> String {
    let host = question.host.as_deref().unwrap_or_default();
    let scheme = if question.secure { "https://" } else { "" };
    let mut out = format!("{} {scheme}{host}{} from 127.0.0.1\n\n", question.method, question.target);
    let mut topic = "";
    for line in lines {
        let text = match line.span {
            Some(span) if line.text.is_empty() => directive_at(&parsed.sources, span),
            _ => line.text.clone(),
        };
        let shown = if line.topic == topic { "" } else { line.topic };
        topic = line.topic;
        let _ = write!(out, "{shown:<TOPIC$}{}", printable(&text));
        if !line.outcome.is_empty() {
            let _ = write!(out, "  ->  {}", printable(&line.outcome));
        }
        if let Some(place) = line.span.and_then(|span| position_text(&parsed.sources, span)) {
            let _ = write!(out, "   ({place})");
        }
        out.push('\n');
    }
    out
}

/// Replaces control characters, which a request may contain, by U+FFFD, for output to a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(url: &str, fields: &[&str]) -> Result<ExplainedRequest, String> {
        let fields = fields.iter().map(|field| (*field).to_owned()).collect();
        ExplainRequest { url: url.to_owned(), method: None, fields }.question()
    }

    #[test]
    fn url_is_split_into_host_port_and_target() {
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
