//! What directives say on a level, and what a request comes to at the gate of its place, for tests of the checks.

use std::path::Path;

use myriad_conf::model::ServerConf;
use myriad_conf::registry::{Family, Registry};
use myriad_conf::{MemoryLoader, build};
use myriad_exchange::exchange::{Exchange, Step};
use myriad_serve::testing::block_on;

/// What a request came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// It may come in.
    In,
    /// It is kept out with this status, and these field lines.
    Out(u16, String),
}

impl Came {
    /// It is kept out with this status, and nothing is said about how to come in.
    pub(super) fn out(status: u16) -> Self {
        Self::Out(status, String::new())
    }
}

/// What an exchange came to, and how often it had to wait.
pub(super) struct Asked {
    pub came: Came,
    pub waits: u32,
}

/// Takes an exchange through the gate of its place.
pub(super) fn ask(exchange: &mut Exchange) -> Asked {
    let gate = exchange.request.place().entry.gate.clone().expect("the place has a gate");
    finish(exchange, |exchange| super::begin(exchange, &gate))
}

/// Waits for what the steps from this one on wait for.
pub(super) fn finish(exchange: &mut Exchange, begin: impl FnOnce(&mut Exchange) -> Step) -> Asked {
    let mut step = begin(exchange);
    let mut waits = 0;
    loop {
        let came = match step {
            Step::Wait(pending) => {
                waits += 1;
                step = block_on(pending.wait(exchange));
                continue;
            }
            Step::Enter => Came::In,
            Step::Error(status) => {
                let lines = exchange.request.errors.carried.take().map(|carried| carried.lines);
                Came::Out(status, String::from_utf8(lines.unwrap_or_default()).expect("text"))
            }
            _ => panic!("a gate lets in or keeps out"),
        };
        return Asked { came, waits };
    }
}

/// A server with these directives, of the language and of that feature.
pub(super) fn server(family: Family, inside: &str) -> ServerConf {
    let path = Path::new("/conf/nginx.conf");
    let registry = Registry::new([family], []);
    let parsed =
        registry.parse(&MemoryLoader::with(path, format!("http {{ server {{ {inside} }} }}")), path, b"");
    let model = build(&parsed, &registry).expect("a sound configuration");
    model.http.expect("a block").servers.remove(0)
}
