//! Reports of the phases to the [`DecisionSink`] of an explained request.

use myriad_exchange::exchange::{DecisionSink, PhaseStep, Request};

/// Reports the selected server.
pub(super) fn report_server(sink: &dyn DecisionSink, request: &Request) {
    let server = request.server();
    let name = String::from_utf8_lossy(&server.name).into_owned();
    let name = if name.is_empty() { "without a name".to_owned() } else { name };
    let host = String::from_utf8_lossy(&request.route.host).into_owned();
    let span = request.runtime().positions.servers.get(request.route.server as usize).copied();
    sink.note("server", name, format!("for the host \"{host}\""), span);
}

/// Reports the location that was selected; `found` is false if no location matches.
pub(super) fn report_location(sink: &dyn DecisionSink, request: &Request, found: bool) {
    let uri = String::from_utf8_lossy(&request.route.uri).into_owned();
    let label = request.runtime().positions.places.get(request.route.place as usize);
    match label.filter(|label| found && !label.name.is_empty()) {
        Some(label) => sink.note("location", &*label.name, format!("for {uri}"), Some(label.span)),
        None => sink.note("location", "none", format!("for {uri}: the server block"), None),
    }
}

/// Reports the test of one name of `try_files`; `found` is its result.
pub(super) fn report_try(sink: &dyn DecisionSink, uri: &[u8], directory: bool, found: bool) {
    // The root folder has an empty name.
    let uri = if uri.is_empty() { b"/" } else { uri };
    let kind = if directory { "folder" } else { "file" };
    let outcome = if found { "exists" } else { "does not exist" };
    sink.note("try", format!("the {kind} {}", String::from_utf8_lossy(uri)), outcome.to_owned(), None);
}

/// Reports the step that the phases perform next if it is an internal redirect, a named location or an error; other
/// steps are not reported here.
pub(super) fn report_step(sink: &dyn DecisionSink, request: &Request, step: &PhaseStep) {
    match step {
        PhaseStep::Redirect => {
            let (uri, args) =
                (String::from_utf8_lossy(&request.route.uri), String::from_utf8_lossy(&request.route.args));
            let mark = if args.is_empty() { "" } else { "?" };
            sink.note("next step", format!("{uri}{mark}{args}"), "internal redirect".to_owned(), None);
        }
        PhaseStep::Named(name) => {
            sink.note("next step", String::from_utf8_lossy(name), String::new(), None);
        }
        PhaseStep::Error(status) => sink.note("error", status.to_string(), String::new(), None),
        PhaseStep::Answer(_) | PhaseStep::Wait(_) | PhaseStep::Enter => {}
    }
}
