//! Concurrent clients.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};

use crate::{Answer, Client, Request, wait_for};

/// Sends the same request from `count` connections at once, all opened before the first byte is sent.
pub fn all_at_once(port: u16, count: usize, request: &Request) -> Vec<Answer> {
    let start = Arc::new(Barrier::new(count));
    let client = |_| {
        let (start, request) = (Arc::clone(&start), request.clone());
        thread::Builder::new().stack_size(256 << 10).spawn(move || {
            let mut client = Client::connect(port);
            start.wait();
            client.fetch(&request)
        })
    };
    let clients: Vec<_> = (0..count).map(client).collect::<Result<_, _>>().expect("threads");
    clients.into_iter().map(|client| client.join().expect("an answer")).collect()
}

/// Clients that send requests until they are stopped.
#[derive(Debug)]
pub struct Load {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    answered: AtomicUsize,
    failures: std::sync::Mutex<Vec<String>>,
}

impl Load {
    /// Starts clients with keep-alive connections that send the requests in turn; `judge` returns the error of a
    /// response.
    pub fn start(
        port: u16,
        connections: usize,
        requests: Vec<Request>,
        judge: impl Fn(&Request, &Answer) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        let work = Arc::new((requests, judge));
        let client = |start: usize| {
            let (shared, work) = (Arc::clone(&shared), Arc::clone(&work));
            thread::spawn(move || {
                let mut client = None;
                for number in start.. {
                    if shared.stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let request = &work.0[number % work.0.len()];
                    match ask(port, &mut client, request).and_then(|answer| (work.1)(request, &answer)) {
                        Ok(()) => drop(shared.answered.fetch_add(1, Ordering::Relaxed)),
                        Err(failure) => shared.failures.lock().expect("failures").push(failure),
                    }
                }
            })
        };
        let clients = (0..connections).map(client).collect();
        Self { shared, clients }
    }

    /// Waits until `more` further requests have succeeded, or any has failed.
    pub fn wait_for(&self, more: usize) {
        let goal = self.shared.answered.load(Ordering::Relaxed) + more;
        wait_for("answers under load", || {
            let failed = !self.shared.failures.lock().expect("failures").is_empty();
            failed || self.shared.answered.load(Ordering::Relaxed) >= goal
        });
    }

    /// Stops the clients, and returns the number of successful requests and the errors.
    pub fn stop(self) -> (usize, Vec<String>) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.join().expect("a client");
        }
        let failures = std::mem::take(&mut *self.shared.failures.lock().expect("failures"));
        (self.shared.answered.load(Ordering::Relaxed), failures)
    }
}

/// Sends a request on the existing connection, or on a new connection if the server closed it between two requests,
/// like browsers: a request is repeated if its connection closes before the first byte of the response. The error is a
/// text.
fn ask(port: u16, kept: &mut Option<Client>, request: &Request) -> Result<Answer, String> {
    if let Some(client) = kept {
        match client.try_fetch(request) {
            Ok(answer) => return Ok(settle(kept, answer)),
            Err(error) if client.has_begun() => return Err(format!("{request:?}: broken off: {error}")),
            Err(_) => {}
        }
    }
    let mut client = Client::try_connect(port).map_err(|error| format!("refused: {error}"))?;
    let answer = client.try_fetch(request).map_err(|error| format!("{request:?}: {error}"))?;
    *kept = Some(client);
    Ok(settle(kept, answer))
}

fn settle(kept: &mut Option<Client>, answer: Answer) -> Answer {
    if answer.field("Connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
        *kept = None;
    }
    answer
}
