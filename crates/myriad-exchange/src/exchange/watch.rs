//! What the phases tell of a request that is explained.

use myriad_script::{RuleOutcome, Trace};

use super::{Request, Sink, Step};

/// Which server was chosen.
pub fn server(sink: &dyn Sink, request: &Request) {
    let server = request.server();
    let name = String::from_utf8_lossy(&server.name).into_owned();
    let name = if name.is_empty() { "without a name".to_owned() } else { name };
    let host = String::from_utf8_lossy(&request.route.host).into_owned();
    let span = request.runtime().atlas.servers.get(request.route.server as usize).copied();
    sink.note("server", name, format!("for the host \"{host}\""), span);
}

/// Which location was found.
pub fn location(sink: &dyn Sink, request: &Request, found: bool) {
    let uri = String::from_utf8_lossy(&request.route.uri).into_owned();
    let label = request.runtime().atlas.places.get(request.route.place as usize);
    match label.filter(|label| found && !label.name.is_empty()) {
        Some(label) => sink.note("location", &label.name, format!("for {uri}"), Some(label.span)),
        None => sink.note("location", "none", format!("for {uri}: the server itself"), None),
    }
}

/// One name of `try_files`.
pub fn tried(sink: &dyn Sink, uri: &[u8], directory: bool, found: bool) {
    // The slash at the end only says that a folder is meant.
    let uri = if directory && uri.len() > 1 { uri.strip_suffix(b"/").unwrap_or(uri) } else { uri };
    let kind = if directory { "folder" } else { "file" };
    let outcome = if found { "is there" } else { "is not there" };
    sink.note("try", format!("the {kind} {}", String::from_utf8_lossy(uri)), outcome.to_owned(), None);
}

/// Where the phases go on.
pub fn step(sink: &dyn Sink, request: &Request, step: &Step) {
    match step {
        Step::Redirect => {
            let (uri, args) =
                (String::from_utf8_lossy(&request.route.uri), String::from_utf8_lossy(&request.route.args));
            let mark = if args.is_empty() { "" } else { "?" };
            sink.note("goes to", format!("{uri}{mark}{args}"), "internal redirect".to_owned(), None);
        }
        Step::Named(name) => {
            sink.note("goes to", String::from_utf8_lossy(name), String::new(), None);
        }
        Step::Error(status) => sink.note("error", status.to_string(), String::new(), None),
        Step::Answer(_) | Step::Wait(_) | Step::Enter => {}
    }
}

/// What a script came to.
pub fn script(sink: &dyn Sink, request: &Request, what: Trace<'_>) {
    match what {
        Trace::Rule { tag, outcome } => {
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
            sink.note("rule", "", outcome, span);
        }
        Trace::Map { variable, subject, line } => {
            let subject = String::from_utf8_lossy(subject);
            let line = line.map_or_else(
                || "its default".to_owned(),
                |line| format!("the line {}", if line.is_empty() { "\"\"" } else { line }),
            );
            sink.note("map", format!("${variable} of \"{subject}\""), line, None);
        }
    }
}
