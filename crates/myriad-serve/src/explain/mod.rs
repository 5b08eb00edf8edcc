//! `myriad -t --explain`: processes one request with the compiled configuration and reports every decision.
//!
//! The phases that serve clients are run and report their decisions to the request's [`DecisionSink`]. They stop before
//! any step with an effect: no origin is contacted, nothing is stored, and no access log line is written.

mod run;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use myriad_conf::Model;
use myriad_log::Logs;
use myriad_net::{Connection, TlsFacts};

use crate::compile::{self, CompileEnvironment, RetainedState};
use crate::phases::Phases;
use crate::site::StartError;
use myriad_exchange::exchange::{DecisionSink, ExplainedDecision, ExplainedRequest};
use myriad_exchange::runtime::Generation;
use myriad_exchange::worker::WorkerState;
use run::{ExplainedLines, listener_for, plain_name, run_phases};
pub(crate) use run::{explain_running, running_listener_for};

/// Processes the request with the configuration that the model describes, without a running server. Returns the routing
/// and cache decisions in order.
///
/// # Errors
///
/// The configuration has errors, or a system resource such as a file descriptor is not available.
pub fn explain(
    model: &Model,
    prefix: &Path,
    folder: &Path,
    tls_files: &myriad_tls::TlsFiles,
    question: &ExplainedRequest,
) -> Result<Vec<ExplainedDecision>, StartError> {
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
    let logs = Logs::without_outputs();
    let mut retained = RetainedState::default();
    let surroundings = CompileEnvironment {
        prefix,
        folder,
        tls_files,
        listeners: &listeners,
        logs: &logs,
        retained: &mut retained,
    };
    let runtime = Arc::new(compile::compile(model, surroundings).map_err(StartError::Configuration)?);
    let worker = Rc::new(WorkerState::single(Arc::clone(&runtime.traffic.workers))?);
    let site = Rc::new(Generation::new(runtime, worker, &Phases));
    let lines = Rc::new(ExplainedLines::default());
    let sink: Rc<dyn DecisionSink> = Rc::clone(&lines) as _;
    let Some((listener, local, secure)) = listener_for(&addresses, question) else {
        let text = match question.port {
            Some(port) => format!("no server listens on port {port}"),
            None => "no server has a TCP listener".to_owned(),
        };
        sink.note("server", text, String::new(), None);
        return Ok(lines.0.take());
    };
    let connection = Connection::for_internal_request(listener, local, secure.then(TlsFacts::typical));
    let mut question = question.clone();
    question.host.get_or_insert_with(|| first_server_name(model));
    run_phases(&site, &connection, &question, &sink);
    Ok(lines.0.take())
}

/// Returns the host for a request URL without a host: the name of the first server, or `localhost` if that is not a
/// plain host name.
fn first_server_name(model: &Model) -> String {
    let server = model.http.as_ref().and_then(|http| http.servers.first());
    let name = server.map(|server| server.primary_name.lossy().into_owned()).unwrap_or_default();
    plain_name(name)
}
