//! Test helpers of the checks: settings of directives on a level, and the result of a gate for a request.

use std::path::Path;

use myriad_conf::model::ServerConf;
use myriad_conf::registry::{Family, Registry};
use myriad_conf::{MemoryLoader, build};
use myriad_exchange::exchange::{Exchange, Step};
use myriad_serve::testing::block_on;

/// Result of a gate.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// The request is admitted.
    In,
    /// The request is rejected with this status and these header lines.
    Out(u16, String),
}

impl Came {
    /// Returns a rejection with this status and without a challenge.
    pub(super) fn out(status: u16) -> Self {
        Self::Out(status, String::new())
    }
}

/// Result of a gate for an exchange, and the number of waits.
pub(super) struct Asked {
    pub came: Came,
    pub waits: u32,
}

/// Runs the gate of the exchange's location.
pub(super) fn ask(exchange: &mut Exchange) -> Asked {
    let gate = exchange.request.place().entry.gate.clone().expect("the place has a gate");
    finish(exchange, |exchange| super::begin(exchange, &gate))
}

/// Runs the first step and all following steps to the result of the gate.
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

/// Returns a server with these directives of the language and of the feature.
pub(super) fn server(family: Family, inside: &str) -> ServerConf {
    let path = Path::new("/conf/nginx.conf");
    let registry = Registry::new([family], []);
    let parsed =
        registry.parse(&MemoryLoader::with(path, format!("http {{ server {{ {inside} }} }}")), path, b"");
    let model = build(&parsed, &registry).expect("a sound configuration");
    model.http.expect("a block").servers.remove(0)
}
