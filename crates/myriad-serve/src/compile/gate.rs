//! `allow`, `deny`, `satisfy`: what is asked of a visitor.

use myriad_conf::settings::{AccessSettings, Satisfy};

use super::Compile;
use crate::runtime::{Gate, Network};

impl Compile<'_> {
    /// The checks of a level; none where everybody may come in.
    pub(super) fn gate(&mut self, access: &AccessSettings) -> Option<Box<Gate>> {
        let gate = Gate {
            any: access.satisfy == Satisfy::Any,
            networks: networks(access),
            delay_ms: access.auth_delay,
        };
        (!gate.is_open()).then(|| Box::new(gate))
    }
}

fn networks(access: &AccessSettings) -> Vec<(bool, Network)> {
    let compiled = access.rules.iter().map(|rule| {
        let network = rule.network;
        (rule.allow, Network(Box::new(move |client| network.contains(client))))
    });
    compiled.collect()
}
