//! Runs the phases for an explained request, with a compiled or a running site.

use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use myriad_conf::model::ListenAddress;
use myriad_http::{HttpVersion, RequestHead};
use myriad_net::{Connection, RequestBody, TlsFacts};

use crate::phases::{self, PhaseDecision};
use myriad_exchange::exchange::{
    ContentResponse, DecisionSink, Engine, Exchange, ExplainedDecision, ExplainedRequest,
};
use myriad_exchange::runtime::Generation;
use myriad_exchange::runtime::Runtime;
use myriad_exchange::worker::WorkerState;

/// [`DecisionSink`] that collects the reported decisions.
#[derive(Default)]
pub(super) struct ExplainedLines(pub(super) RefCell<Vec<ExplainedDecision>>);

impl DecisionSink for ExplainedLines {
    fn take(&self, line: ExplainedDecision) {
        self.0.borrow_mut().push(line);
    }
}

/// Processes the request with a running site, using its live cache zones. Returns an error text if no listener matches,
/// or if a system resource is not available.
pub(crate) fn explain_running(
    engine: &'static dyn Engine,
    runtime: &Arc<Runtime>,
    question: &ExplainedRequest,
) -> Result<Vec<ExplainedDecision>, String> {
    let Some((listener, local, secure)) = running_listener_for(runtime, question) else {
        return Err("no server has a TCP listener for this URL".to_owned());
    };
    let connection = Connection::for_internal_request(listener, local, secure.then(TlsFacts::typical));
    let worker = WorkerState::detached().map_err(|error| error.to_string())?;
    let site = Rc::new(Generation::new(Arc::clone(runtime), Rc::new(worker), engine));
    let lines = Rc::new(ExplainedLines::default());
    let sink: Rc<dyn DecisionSink> = Rc::clone(&lines) as _;
    let mut question = question.clone();
    question.host.get_or_insert_with(|| {
        let name = runtime.servers.first().map(|server| String::from_utf8_lossy(&server.name).into_owned());
        plain_name(name.unwrap_or_default())
    });
    run_phases(&site, &connection, &question, &sink);
    Ok(lines.0.take())
}

/// Returns the number, address and TLS flag of the TCP listener of a running site that a request for this URL would
/// reach ([`listener_for`]); `None` if there is none. Unix sockets are not considered.
pub(crate) fn running_listener_for(
    runtime: &Runtime,
    question: &ExplainedRequest,
) -> Option<(u32, SocketAddr, bool)> {
    let listeners = runtime.listeners.iter().enumerate();
    let addresses: Vec<_> = listeners
        .filter_map(|(number, listener)| {
            let listener = listener.as_ref().filter(|listener| !listener.quic)?;
            let address = listener.name.parse().ok()?;
            Some((number as u32, ListenAddress::Ip(address), listener.secure))
        })
        .collect();
    listener_for(&addresses, question)
}

/// Returns the name if it is a plain host name; otherwise (a wildcard, a regex, or empty) `localhost`.
pub(super) fn plain_name(name: String) -> String {
    let is_plain =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    if is_plain { name } else { "localhost".to_owned() }
}

/// Returns the number, address and TLS flag of the listener that the request would reach. With a port in the URL, this
/// is the first listener of that port, or `None`. Otherwise it is the first of the scheme's default port (80 or 443),
/// or else of the scheme, or else of all. Unix sockets are not considered; a listener with a host name counts as
/// 127.0.0.1. `None` if there are no other listeners.
pub(super) fn listener_for(
    addresses: &[(u32, ListenAddress, bool)],
    question: &ExplainedRequest,
) -> Option<(u32, SocketAddr, bool)> {
    let address_of = |address: &ListenAddress| match address {
        ListenAddress::Ip(address) => Some(*address),
        ListenAddress::Host(_, port) => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, *port))),
        ListenAddress::Unix(_) => None,
    };
    let inet: Vec<_> = addresses
        .iter()
        .filter_map(|(number, address, ssl)| Some((*number, address_of(address)?, *ssl)))
        .collect();
    let usual = if question.secure { 443 } else { 80 };
    let wanted = question.port.unwrap_or(usual);
    let of_port = inet.iter().find(|(_, address, _)| address.port() == wanted).copied();
    if question.port.is_some() {
        return of_port;
    }
    let of_scheme = || inet.iter().find(|(_, _, ssl)| *ssl == question.secure).copied();
    of_port.or_else(of_scheme).or_else(|| inet.first().copied())
}

/// Runs the processing phases (rewrite, access, content, ...) for the request and reports their decisions to `sink`.
pub(super) fn run_phases(
    site: &Rc<Generation>,
    connection: &Rc<Connection>,
    question: &ExplainedRequest,
    sink: &Rc<dyn DecisionSink>,
) {
    let mut fields: Vec<(&[u8], &[u8])> = Vec::new();
    if let Some(host) = &question.host {
        fields.push((b"Host", host.as_bytes()));
    }
    fields.extend(question.fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())));
    let (method, target) = (question.method.as_bytes(), question.target.as_bytes());
    let mut head = RequestHead::from_parts(method, target, HttpVersion::Http11, fields);
    // An invalid host is reported by the phases.
    let _ = head.normalize_host();
    let mut exchange = Exchange::begin(site, &mut head, connection, RequestBody::empty());
    exchange.request.received.sink = Some(Rc::clone(sink));
    match phases::begin(&mut exchange) {
        PhaseDecision::Ready(answer) => note_answer(&mut exchange, &**sink, &answer),
        PhaseDecision::Wait(pending) => pending.explain(&mut exchange),
    }
}

/// Reports to `sink` a response that the phases produced without contacting an origin.
fn note_answer(exchange: &mut Exchange, sink: &dyn DecisionSink, answer: &ContentResponse) {
    if let myriad_exchange::exchange::ResponseSource::File(_) = &answer.source {
        let mut path = Vec::new();
        let Exchange { request, frame } = exchange;
        let _ = myriad_exchange::exchange::paths::of_uri(request, &request.route.uri, frame, &mut path);
        let path = String::from_utf8_lossy(&path).into_owned();
        sink.note("content", format!("the file {path}"), String::new(), None);
        myriad_output::explain(exchange, answer.media_type.as_deref());
    }
    let status = exchange.request.errors.forced_status.unwrap_or(answer.status);
    let mut text = if answer.dropped {
        "the connection is closed without a response".to_owned()
    } else {
        format!("{status} {}", myriad_http::head::reason_phrase(status))
    };
    let lines = String::from_utf8_lossy(&answer.lines).into_owned();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        text.push_str(", ");
        text.push_str(line.trim());
    }
    sink.note("answer", text, String::new(), None);
}
