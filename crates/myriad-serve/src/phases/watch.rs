//! Decisions of the phases about a request that is explained.

use myriad_exchange::exchange::{Request, Sink, Step};

/// Reports the selected server.
pub(super) fn server(sink: &dyn Sink, request: &Request) {
    let server = request.server();
    let name = String::from_utf8_lossy(&server.name).into_owned();
    let name = if name.is_empty() { "without a name".to_owned() } else { name };
    let host = String::from_utf8_lossy(&request.route.host).into_owned();
    let span = request.runtime().atlas.servers.get(request.route.server as usize).copied();
    sink.note("server", name, format!("for the host \"{host}\""), span);
}

/// Reports the location that was found.
pub(super) fn location(sink: &dyn Sink, request: &Request, found: bool) {
    let uri = String::from_utf8_lossy(&request.route.uri).into_owned();
    let label = request.runtime().atlas.places.get(request.route.place as usize);
    match label.filter(|label| found && !label.name.is_empty()) {
        Some(label) => sink.note("location", &*label.name, format!("for {uri}"), Some(label.span)),
        None => sink.note("location", "none", format!("for {uri}: the server block"), None),
    }
}

/// Reports the test of one name of `try_files`.
pub(super) fn tried(sink: &dyn Sink, uri: &[u8], directory: bool, found: bool) {
    // The root has an empty name.
    let uri = if uri.is_empty() { b"/" } else { uri };
    let kind = if directory { "folder" } else { "file" };
    let outcome = if found { "exists" } else { "does not exist" };
    sink.note("try", format!("the {kind} {}", String::from_utf8_lossy(uri)), outcome.to_owned(), None);
}

/// Reports the step with which the phases continue.
pub(super) fn step(sink: &dyn Sink, request: &Request, step: &Step) {
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
