//! Parser of golden files.

use std::time::Duration;

use super::expect::Expectation;
use super::origin::OriginScript;

/// Contents of a golden file.
#[derive(Debug, Default)]
pub struct Case {
    /// Description of the test, in a sentence.
    pub about: String,
    /// Directives and `$variables` that the test covers.
    pub covers: Vec<String>,
    /// Reason why the case applies to Myriad and not to nginx.
    pub myriad_only: Option<String>,
    /// First nginx version with this behavior, for example `1.23.0`.
    pub since: Option<String>,
    pub(super) config: Config,
    /// Directives of the main context.
    pub(super) main: String,
    pub(super) origins: Vec<OriginScript>,
    pub(super) before: Vec<SiteFile>,
    pub(super) steps: Vec<Step>,
}

/// Part of the configuration in the file; the harness adds the rest.
#[derive(Debug, Default)]
pub(super) enum Config {
    /// Not set.
    #[default]
    Missing,
    /// Body of the only server.
    Server(String),
    /// Body of `http {}`.
    Http(String),
    /// Complete configuration.
    Whole(String),
}

/// File in the folder of the test.
#[derive(Debug)]
pub(super) struct SiteFile {
    pub(super) path: String,
    pub(super) kind: Kind,
    pub(super) mode: Option<u32>,
    /// Modification time in seconds since the Unix epoch; `None` for the current time.
    pub(super) modified: Option<u64>,
}

#[derive(Debug)]
pub(super) enum Kind {
    File { text: String, packed: Option<Packing> },
    Folder,
    Link(String),
}

/// Compression of a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Packing {
    Gzip,
    Brotli,
    Zstd,
}

/// Action or expectation, with its line number.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) line: usize,
    pub(super) action: Action,
}

#[derive(Debug)]
pub(super) enum Action {
    Write(SiteFile),
    Remove(String),
    Wait(Duration),
    Request {
        text: String,
        on: Connection,
    },
    Answer(Expectation),
    /// Expected final response of the last request, which is repeated until it matches.
    AnswerAtLast(Expectation),
    /// Lines that a file of the folder must eventually contain.
    Log(String, Vec<String>),
    /// Lines in the output of `-t`, which must reject the configuration.
    Refused(Vec<String>),
    /// Lines in the output of `-t`, which must accept the configuration.
    Warned(Vec<String>),
    /// Lines in the output of `-t --explain` with these arguments.
    Explain(String, Vec<String>),
}

/// Connection on which a request is sent.
#[derive(Debug)]
pub(super) enum Connection {
    /// New connection to `@PORT@`.
    New,
    /// Connection of the previous request.
    Last,
    /// New connection to another port.
    To(String),
    /// New connection that uses HTTP/2 with prior knowledge.
    Http2,
}

struct Section<'a> {
    line: usize,
    title: &'a str,
    text: String,
}

impl Case {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// Returns the line and the reason of an invalid line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut case = Self::default();
        for section in sections(text)? {
            let line = section.line;
            case.take(section).map_err(|error| format!("line {line}: {error}"))?;
        }
        if case.about.is_empty() {
            return Err("line 1: the section `about` is missing".into());
        }
        if matches!(case.config, Config::Missing) {
            return Err("line 1: one of the sections `server`, `http` and `whole` is needed".into());
        }
        let proves = |action: &Action| {
            !matches!(action, Action::Write(_) | Action::Remove(_) | Action::Wait(_) | Action::Request { .. })
        };
        if !case.steps.iter().any(|step| proves(&step.action)) {
            return Err("line 1: nothing is expected, so nothing is proved".into());
        }
        Ok(case)
    }

    fn take(&mut self, section: Section<'_>) -> Result<(), String> {
        let Section { line, title, text } = section;
        let (word, rest) = title.split_once(' ').unwrap_or((title, ""));
        let rest = rest.trim();
        let lines = || text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        let action = match word {
            "about" => {
                self.about = text.replace('\n', " ");
                return Ok(());
            }
            "covers" => {
                self.covers.extend(text.split_whitespace().map(str::to_owned));
                return Ok(());
            }
            "myriad" if rest == "only" => {
                if text.is_empty() {
                    return Err("say why".into());
                }
                self.myriad_only = Some(text);
                return Ok(());
            }
            "nginx" => {
                self.since = Some(rest.to_owned());
                return Ok(());
            }
            "main" => {
                self.main = text;
                return Ok(());
            }
            "server" => return self.configure(Config::Server(text)),
            "http" => return self.configure(Config::Http(text)),
            "whole" => return self.configure(Config::Whole(text)),
            "origin" => {
                self.origins.push(OriginScript::parse(rest, &text)?);
                return Ok(());
            }
            "file" | "folder" | "link" => Action::Write(SiteFile::parse(word, rest, text)?),
            "remove" => Action::Remove(rest.to_owned()),
            "wait" => Action::Wait(milliseconds(rest)?),
            "request" => Action::Request { text, on: connection(rest)? },
            "answer" if rest == "at last" => Action::AnswerAtLast(Expectation::parse(&text)?),
            "answer" if rest.is_empty() => Action::Answer(Expectation::parse(&text)?),
            "log" => Action::Log(rest.to_owned(), lines()),
            "refused" => Action::Refused(lines()),
            "warned" => Action::Warned(lines()),
            "explain" => Action::Explain(rest.to_owned(), lines()),
            _ => return Err(format!("there is no section `{title}`; see README.md")),
        };
        match action {
            Action::Write(file) if !self.has_begun() => self.before.push(file),
            action => self.steps.push(Step { line, action }),
        }
        Ok(())
    }

    /// Returns whether the sections so far contain a request: a file in a later section is written while the server
    /// runs.
    fn has_begun(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.action, Action::Request { .. }))
    }

    fn configure(&mut self, config: Config) -> Result<(), String> {
        if !matches!(self.config, Config::Missing) {
            return Err("the configuration is given twice".into());
        }
        self.config = config;
        Ok(())
    }

    /// Returns whether the case needs a running server.
    pub(super) fn needs_server(&self) -> bool {
        self.has_begun()
    }
}

impl SiteFile {
    fn parse(word: &str, rest: &str, text: String) -> Result<Self, String> {
        let mut words = rest.split_whitespace();
        let path = words.next().ok_or("a path is missing")?.to_owned();
        let (mut mode, mut modified, mut packed, mut times) = (None, None, None, 1);
        for word in words {
            match word.split_once('=') {
                None if word == "gzip" => packed = Some(Packing::Gzip),
                None if word == "br" => packed = Some(Packing::Brotli),
                None if word == "zstd" => packed = Some(Packing::Zstd),
                Some(("mode", value)) => {
                    mode = Some(u32::from_str_radix(value, 8).map_err(|_| "the mode is octal")?);
                }
                Some(("mtime", value)) => {
                    modified = Some(value.parse().map_err(|_| "the time is in seconds")?);
                }
                Some(("times", value)) => times = value.parse().map_err(|_| "`times` is a number")?,
                _ => return Err(format!("`{word}` is no property of a file")),
            }
        }
        let kind = match word {
            "file" => Kind::File { text: text.repeat(times), packed },
            "folder" => Kind::Folder,
            _ => Kind::Link(text),
        };
        Ok(Self { path, kind, mode, modified })
    }
}

/// Splits a file at its `--- title` lines. Trailing line breaks of a section are not part of its text.
fn sections(text: &str) -> Result<Vec<Section<'_>>, String> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(title) = line.strip_prefix("--- ") {
            sections.push(Section { line: index + 1, title: title.trim(), text: String::new() });
        } else if let Some(section) = sections.last_mut() {
            section.text.push_str(line);
            section.text.push('\n');
        } else if !line.is_empty() {
            return Err("line 1: a golden file begins with a section".into());
        }
    }
    for section in &mut sections {
        section.text.truncate(section.text.trim_end_matches('\n').len());
    }
    Ok(sections)
}

fn connection(rest: &str) -> Result<Connection, String> {
    match (rest, rest.strip_prefix("to ")) {
        ("", _) => Ok(Connection::New),
        ("by http2", _) => Ok(Connection::Http2),
        ("on the same connection", _) => Ok(Connection::Last),
        (_, Some(port)) => Ok(Connection::To(port.to_owned())),
        (other, None) => Err(format!("a request is not `{other}`")),
    }
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    let number = |digits: &str| digits.parse().map_err(|_| format!("`{text}` is no time"));
    match text.strip_suffix("ms") {
        Some(digits) => Ok(Duration::from_millis(number(digits)?)),
        None => Ok(Duration::from_secs(number(text.strip_suffix('s').unwrap_or(text))?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Case::parse(text).expect_err("an error")
    }

    #[test]
    fn invalid_golden_file_is_rejected_with_line_number() {
        assert!(error("hello").starts_with("line 1"));
        assert!(
            error("--- about\nx\n--- server\n--- reqest\n").contains("line 4: there is no section `reqest`")
        );
        assert!(error("--- server\n--- request\nGET /\n--- answer\n200").contains("`about`"));
        assert!(error("--- about\nx\n--- request\nGET /\n--- answer\n200").contains("`server`"));
        assert!(error("--- about\nx\n--- server\n--- request\nGET /\n").contains("nothing is proved"));
        assert!(error("--- about\nx\n--- server\n--- http\n").contains("twice"));
        assert!(error("--- about\nx\n--- myriad only\n").contains("say why"));
    }

    #[test]
    fn a_file_above_the_first_request_is_there_before_the_server() {
        let case = Case::parse(
            "--- about\nx\n--- server\n--- file html/a gzip mode=0600 mtime=5 times=3\nab\n\n--- request\nGET /\n\
             --- file html/b\nb\n--- answer\n200\n",
        );
        let case = case.expect("a case");
        assert_eq!((case.before.len(), case.steps.len()), (1, 3));
        let file = &case.before[0];
        assert_eq!((file.mode, file.modified), (Some(0o600), Some(5)));
        assert!(matches!(&file.kind, Kind::File { text, packed: Some(Packing::Gzip) } if text == "ababab"));
    }
}
