//! What a request's phases write down while they are explained.

use std::cell::{Cell, RefCell};

use myriad_conf::Span;
use myriad_script::{RuleOutcome, Trace as ScriptTrace};

use super::Line;
use crate::content::Step;
use crate::exchange::Request;

/// The lines so far.
#[derive(Default)]
pub(crate) struct Trace {
    lines: RefCell<Vec<Line>>,
    /// Whether an origin makes the answer, so that there is none here.
    left_to_an_origin: Cell<bool>,
}

impl Trace {
    /// Writes a line down.
    pub(crate) fn note(
        &self,
        topic: &'static str,
        text: impl Into<String>,
        outcome: String,
        span: Option<Span>,
    ) {
        let line = Line { topic, text: text.into(), outcome, span };
        self.lines.borrow_mut().push(line);
    }

    /// Says that the answer is an origin's to make.
    pub(super) fn leave_to_an_origin(&self) {
        self.left_to_an_origin.set(true);
    }

    pub(super) fn is_left_to_an_origin(&self) -> bool {
        self.left_to_an_origin.get()
    }

    /// The lines.
    pub(super) fn take(&self) -> Vec<Line> {
        self.lines.take()
    }

    /// Which server was chosen.
    pub(crate) fn server(&self, request: &Request) {
        let server = request.server();
        let name = String::from_utf8_lossy(&server.name).into_owned();
        let name = if name.is_empty() { "without a name".to_owned() } else { name };
        let host = String::from_utf8_lossy(&request.host).into_owned();
        let span = request.runtime().atlas.servers.get(request.server as usize).copied();
        self.note("server", name, format!("for the host \"{host}\""), span);
    }

    /// Which location was found.
    pub(crate) fn location(&self, request: &Request, found: bool) {
        let uri = String::from_utf8_lossy(&request.uri).into_owned();
        let label = request.runtime().atlas.places.get(request.place as usize);
        match label.filter(|label| found && !label.name.is_empty()) {
            Some(label) => self.note("location", &label.name, format!("for {uri}"), Some(label.span)),
            None => self.note("location", "none", format!("for {uri}: the server itself"), None),
        }
    }

    /// One name of `try_files`.
    pub(crate) fn tried(&self, uri: &[u8], directory: bool, found: bool) {
        // The slash at the end only says that a folder is meant.
        let uri = if directory && uri.len() > 1 { uri.strip_suffix(b"/").unwrap_or(uri) } else { uri };
        let kind = if directory { "folder" } else { "file" };
        let outcome = if found { "is there" } else { "is not there" };
        self.note("try", format!("the {kind} {}", String::from_utf8_lossy(uri)), outcome.to_owned(), None);
    }

    /// Where the phases go on.
    pub(crate) fn step(&self, request: &Request, step: &Step) {
        match step {
            Step::Redirect => {
                let (uri, args) =
                    (String::from_utf8_lossy(&request.uri), String::from_utf8_lossy(&request.args));
                let mark = if args.is_empty() { "" } else { "?" };
                self.note("goes to", format!("{uri}{mark}{args}"), "internal redirect".to_owned(), None);
            }
            Step::Named(name) => {
                self.note("goes to", String::from_utf8_lossy(name), String::new(), None);
            }
            Step::Error(status) => self.note("error", status.to_string(), String::new(), None),
            Step::Answer(_) | Step::Wait(_) => {}
        }
    }

    /// What a script came to.
    pub(crate) fn script(&self, request: &Request, what: ScriptTrace<'_>) {
        match what {
            ScriptTrace::Rule { tag, outcome } => {
                let outcome = match outcome {
                    RuleOutcome::Set(value) => format!("\"{}\"", String::from_utf8_lossy(value)),
                    RuleOutcome::If(true) => "yes".to_owned(),
                    RuleOutcome::If(false) => "no".to_owned(),
                    RuleOutcome::NoMatch => "does not match".to_owned(),
                    RuleOutcome::Rewritten(target) => {
                        format!("matches: {}", String::from_utf8_lossy(target))
                    }
                    RuleOutcome::Ends => "reached".to_owned(),
                };
                let span = request.runtime().atlas.rules.get(tag).copied();
                self.note("rule", "", outcome, span);
            }
            ScriptTrace::Map { variable, subject, line } => {
                let subject = String::from_utf8_lossy(subject);
                let line = line.map_or_else(
                    || "its default".to_owned(),
                    |line| format!("the line {}", if line.is_empty() { "\"\"" } else { line }),
                );
                self.note("map", format!("${variable} of \"{subject}\""), line, None);
            }
        }
    }
}
