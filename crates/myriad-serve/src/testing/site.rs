//! Site without sockets, compiled from a configuration, for requests that no client sent.

use std::collections::HashMap;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use myriad_conf::{MemoryLoader, survey};
use myriad_http::{HttpVersion, RequestHead};
use myriad_log::Logs;
use myriad_net::{Connection, RequestBody};
use myriad_script::Frame;

use crate::compile::{CompileEnvironment, RetainedState, compile};
use crate::phases::Phases;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::Generation;
use myriad_exchange::runtime::Runtime;
use myriad_exchange::worker::WorkerState;
use myriad_script::locations::LocationMatch;

/// Site with one server, as run by one worker.
pub struct TestSite {
    generation: Rc<Generation>,
    connection: Rc<Connection>,
}

impl TestSite {
    /// Creates a site with these directives in `http` and in its `server`.
    pub fn new(http: &str, server: &str) -> Self {
        Self::in_folder(Path::new("/nowhere"), http, server)
    }

    /// Creates a site like [`TestSite::new`], with its configuration file in `folder`.
    pub fn in_folder(folder: &Path, http: &str, server: &str) -> Self {
        let text = format!(
            "events {{}} http {{ error_log off; {http} server {{ listen 127.0.0.1:8080; {server} }} }}"
        );
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080));
        Self {
            generation: new_generation(compiled(folder, &text)),
            connection: Connection::for_internal_request(0, local, None),
        }
    }

    /// Returns a request from 127.0.0.1 whose head has been received and for which no phase has run.
    pub fn received_request(
        &self,
        version: HttpVersion,
        (method, target): (&str, &str),
        fields: &[(&str, &str)],
    ) -> Box<Exchange> {
        let fields = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let mut head = RequestHead::from_parts(method.as_bytes(), target.as_bytes(), version, fields);
        // Fails without a `Host`: most tests send none.
        let _ = head.normalize_host();
        Exchange::begin(&self.generation, &mut head, &self.connection, RequestBody::empty())
    }

    /// Returns a GET request from 127.0.0.1 with these fields that has reached the location of its target.
    pub fn exchange(&self, target: &str, fields: &[(&str, &str)]) -> Box<Exchange> {
        let mut exchange = self.received_request(HttpVersion::Http11, ("GET", target), fields);
        let (uri, args) = target.split_once('?').unwrap_or((target, ""));
        let runtime = &self.generation.runtime;
        let server = runtime.server(0);
        let found = server.locations.find(uri.as_bytes(), &mut Frame::default()).expect("no script fails");
        let route = &mut exchange.request.route;
        route.place = if let LocationMatch::Place(place) = found { place } else { server.place };
        (route.uri, route.args, route.host) = (uri.into(), args.into(), b"localhost".to_vec());
        exchange
    }
}

/// Compiles a configuration whose file is in `folder`. Its logs are discarded, and all its listeners have number 0.
///
/// # Panics
/// Panics if the configuration has an error.
pub fn compiled(folder: &Path, text: &str) -> Runtime {
    let file = folder.join("nginx.conf");
    let loader = MemoryLoader::with(&file, text);
    let survey = survey(&crate::registry().parse(&loader, &file, b""), crate::registry());
    let listens = survey.model.http.iter().flat_map(|http| &http.servers).flat_map(|server| &server.listens);
    let listeners = listens.map(|listen| (listen.socket_name(), 0)).collect();
    let (logs, mut kept) = (Logs::without_outputs(), RetainedState::default());
    let surroundings = CompileEnvironment {
        prefix: folder,
        folder,
        tls_files: &HashMap::new(),
        listeners: &listeners,
        logs: &logs,
        retained: &mut kept,
    };
    compile(&survey.model, surroundings).unwrap_or_else(|errors| panic!("{:?} {errors:?}", survey.findings))
}

/// Returns a generation of the site with its own worker state.
pub fn new_generation(runtime: Runtime) -> Rc<Generation> {
    let worker = WorkerState::single(Arc::clone(&runtime.traffic.workers)).expect("threads");
    Rc::new(Generation::new(Arc::new(runtime), Rc::new(worker), &Phases))
}

/// Runs a future to completion on this thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(future)
}
