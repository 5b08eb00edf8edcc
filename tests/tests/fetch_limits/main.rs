//! Fetches are bounded, queued in order, and canceled when no client waits for them.

mod bodies;
mod queue;
mod visitors;
mod zone;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use myriad_tests::{Answer, Cached, Call, Client, Gate, Origin, Request, Server};

/// Returns the number of occurrences of a text in the error log.
fn said(server: &Server, text: &str) -> usize {
    server.read("error.log").matches(text).count()
}

/// Returns an origin script that blocks requests for `/held...` until the gate is open, and responds with the URI.
fn holding(gate: &Arc<Gate>) -> impl Fn(&mut Call) + Send + Sync + 'static {
    let gate = Arc::clone(gate);
    move |call| {
        if call.uri().starts_with("/held") {
            gate.pass();
        }
        let uri = call.uri().to_owned();
        call.answer("Content-Type: text/plain", uri);
    }
}

/// Requests all pages concurrently, each on a new connection; responses are received in order of completion.
fn ask_all(server: &Server, targets: &[&str]) -> Receiver<Answer> {
    let (sender, answers): (Sender<Answer>, _) = channel();
    for target in targets {
        let (port, request, sender) = (server.port, Request::get(target), sender.clone());
        thread::spawn(move || sender.send(Client::connect(port).fetch(&request)));
    }
    answers
}

fn statuses(answers: &Receiver<Answer>) -> Vec<u16> {
    let mut statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    statuses
}

/// Returns a group of one php-fpm child with this `queue`.
fn one_child(queue: &str) -> String {
    format!("upstream php {{ server @ORIGIN@ max_conns=1; {queue} }}")
}

const UNCACHED: &str = "location /u { fastcgi_cache off; fastcgi_pass php; }
                        location /held { fastcgi_cache off; fastcgi_pass php; }
                        location /page { fastcgi_pass php; }";

fn before_one_child(queue: &str, rules: &str) -> (Server, Origin, Arc<Gate>) {
    let gate = Arc::new(Gate::new());
    let server = format!("fastcgi_cache_valid 1h; {rules} {UNCACHED}");
    let site = Cached { http: &one_child(queue), server: &server, ..Cached::default() };
    let (server, origin) = site.start(holding(&gate));
    (server, origin, gate)
}

fn hold(server: &Server, origin: &Origin, target: &str) -> Client {
    let mut client = server.connect();
    client.send(Request::get(target).bytes());
    origin.wait_for(1);
    client
}
