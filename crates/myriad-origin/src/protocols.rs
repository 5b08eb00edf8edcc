//! The list of protocols.

use std::rc::Rc;

use crate::OriginCompiler;
use myriad_conf::Text;
use myriad_conf::registry::ProtocolLanguage;
use myriad_conf::settings::{Protocol, Settings};

use super::compiled::{CompiledProtocol, Spoken};
use super::variables::VARIABLES;
use myriad_exchange::exchange::variables::Row;
use myriad_exchange::worker::Generation;
use myriad_upstream::TellHealth;

/// Every protocol, in the order of the docs.
static PROTOCOLS: &[&CompiledProtocol] = &[
    &crate::fastcgi::PROTOCOL,
    &crate::http::PROTOCOL,
    &crate::grpc::PROTOCOL,
    &crate::scgi::PROTOCOL,
    &crate::uwsgi::PROTOCOL,
    &crate::memcached::PROTOCOL,
    &crate::tunnel::PROTOCOL,
];

/// What the protocols bring to the language.
pub fn languages() -> impl Iterator<Item = ProtocolLanguage> {
    PROTOCOLS.iter().map(|listed| listed.language)
}

/// Begins what is asked of origins beside requests, other than [`crate::health_check`]: the status of pools of PHP. `tell` is told what
/// changes.
pub fn begin(site: &Rc<Generation>, tell: &TellHealth) {
    crate::fastcgi::begin(site, tell);
}

/// The variables of origins, a list each: those of all protocols, then those of one.
pub fn variables() -> impl Iterator<Item = &'static [Row]> {
    std::iter::once(VARIABLES).chain(PROTOCOLS.iter().map(|listed| listed.variables))
}

/// Compiles a place that asks an origin by a protocol, with the argument of `*_pass` and the prefix of the location.
pub fn compiled(
    protocol: Protocol,
    compile: &mut dyn OriginCompiler,
    settings: &Settings,
    (target, prefix): (&Text, &Text),
) -> Option<Spoken> {
    let found = PROTOCOLS.iter().find(|listed| listed.language.protocol == protocol)?;
    Some((found.compile)(compile, settings, target, prefix))
}
