//! `myriad -t --explain`: one request taken through the compiled site, with everything that was decided on its way.
//!
//! It is the same code that serves: the phases run as for a visitor and write into the request's [`Sink`] what they
//! come to. They stop before anything that has an effect: no origin is asked, nothing is stored or logged.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use myriad_conf::Model;
use myriad_conf::model::ListenAddress;
use myriad_http::{RequestHead, Version};
use myriad_log::Logs;
use myriad_net::{Connection, RequestBody, TlsFacts};

use crate::compile::{self, Kept, Surroundings};
use crate::phases::{self, Decision, Phases};
use crate::site::StartError;
use myriad_exchange::exchange::{Answer, Exchange, Line, Sink};
use myriad_exchange::worker::{Generation, WorkerState};

/// What is asked about.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// `GET`, unless another method is asked about.
    pub method: String,
    /// The host of the URL; the first server's name where there is none.
    pub host: Option<String>,
    /// The port of the URL.
    pub port: Option<u16>,
    /// Whether the URL begins with `https`.
    pub secure: bool,
    /// Path and query.
    pub target: String,
    /// Further request fields.
    pub fields: Vec<(String, String)>,
}

/// What was told so far.
#[derive(Default)]
struct Lines(RefCell<Vec<Line>>);

impl Sink for Lines {
    fn take(&self, line: Line) {
        self.0.borrow_mut().push(line);
    }
}

/// Takes the request through the site that the model describes.
///
/// # Errors
/// The configuration's errors; or the machine has no descriptors left.
pub fn explain(
    model: &Model,
    prefix: &Path,
    folder: &Path,
    tls_files: &myriad_tls::TlsFiles,
    question: &Question,
) -> Result<Vec<Line>, StartError> {
    let mut listeners = HashMap::new();
    let mut addresses = Vec::new();
    let listens = model.http.iter().flat_map(|http| &http.servers).flat_map(|server| &server.listens);
    for listen in listens.filter(|listen| !listen.quic) {
        let number = listeners.len() as u32;
        if let std::collections::hash_map::Entry::Vacant(entry) = listeners.entry(listen.socket_name()) {
            entry.insert(number);
            addresses.push((number, listen.address.clone(), listen.ssl));
        }
    }
    let logs = Logs::nowhere();
    let mut kept = Kept::default();
    let surroundings =
        Surroundings { prefix, folder, tls_files, listeners: &listeners, logs: &logs, kept: &mut kept };
    let runtime = Arc::new(compile::compile(model, surroundings).map_err(StartError::Configuration)?);
    let worker = Rc::new(WorkerState::alone(&runtime)?);
    let site = Rc::new(Generation::new(runtime, worker, &Phases));
    let lines = Rc::new(Lines::default());
    let sink: Rc<dyn Sink> = Rc::clone(&lines) as _;
    let Some((listener, local, secure)) = listener(&addresses, question) else {
        let text = match question.port {
            Some(port) => format!("no server listens on port {port}"),
            None => "no server listens on a port".to_owned(),
        };
        sink.note("server", text, String::new(), None);
        return Ok(lines.0.take());
    };
    let connection = Connection::imagined(listener, local, secure.then(TlsFacts::imagined));
    let mut question = question.clone();
    question.host.get_or_insert_with(|| first_name(model));
    walk(&site, &connection, &question, &sink);
    Ok(lines.0.take())
}

/// The host of a path alone: what the first server is called.
fn first_name(model: &Model) -> String {
    let server = model.http.as_ref().and_then(|http| http.servers.first());
    let name = server.map(|server| server.primary_name.lossy().into_owned()).unwrap_or_default();
    let is_plain =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
    if is_plain { name } else { "localhost".to_owned() }
}

/// The listener of a port; where no port is asked for, the scheme's own port, else the first that speaks the scheme,
/// else the first.
fn listener(
    addresses: &[(u32, ListenAddress, bool)],
    question: &Question,
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

fn walk(site: &Rc<Generation>, connection: &Rc<Connection>, question: &Question, sink: &Rc<dyn Sink>) {
    let mut fields: Vec<(&[u8], &[u8])> = Vec::new();
    if let Some(host) = &question.host {
        fields.push((b"Host", host.as_bytes()));
    }
    fields.extend(question.fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())));
    let (method, target) = (question.method.as_bytes(), question.target.as_bytes());
    let mut head = RequestHead::from_parts(method, target, Version::Http11, fields);
    // What is wrong with a host shows itself on the way.
    let _ = head.settle_host();
    let mut exchange = Exchange::begin(site, &mut head, connection, RequestBody::empty());
    exchange.request.received.sink = Some(Rc::clone(sink));
    match phases::begin(&mut exchange) {
        Decision::Ready(answer) => answered(&mut exchange, &**sink, &answer),
        Decision::Wait(pending) => pending.explain(&mut exchange),
    }
}

/// The last line: what the client gets, where no origin has to be asked for it.
fn answered(exchange: &mut Exchange, sink: &dyn Sink, answer: &Answer) {
    if let myriad_exchange::exchange::MadeFrom::File(_) = &answer.made_from {
        let mut path = Vec::new();
        let Exchange { request, frame } = exchange;
        let _ = myriad_exchange::exchange::paths::of_uri(request, &request.route.uri, frame, &mut path);
        let path = String::from_utf8_lossy(&path).into_owned();
        sink.note("content", format!("the file {path}"), String::new(), None);
        myriad_output::explain(exchange, answer.media_type.as_deref());
    }
    let status = exchange.request.errors.forced_status.unwrap_or(answer.status);
    let mut text = if answer.dropped {
        "the connection is closed without an answer".to_owned()
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
