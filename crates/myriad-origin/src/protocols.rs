//! The list of protocols.

use myriad_conf::Text;
use myriad_conf::settings::{Protocol, Settings};

use super::compiled::{CompiledProtocol, Spoken};
use super::{fastcgi, http, scgi, uwsgi};
use myriad_exchange::runtime::OriginCompiler;

/// Every protocol, a line each.
static PROTOCOLS: &[&CompiledProtocol] =
    &[&fastcgi::COMPILED, &http::COMPILED, &scgi::COMPILED, &uwsgi::COMPILED];

/// Compiles a place that asks an origin by a protocol, with the argument of `*_pass` and the prefix of the location.
pub fn compiled(
    protocol: Protocol,
    compile: &mut dyn OriginCompiler,
    settings: &Settings,
    (target, prefix): (&Text, &Text),
) -> Option<Spoken> {
    let found = PROTOCOLS.iter().find(|listed| listed.protocol == protocol)?;
    Some((found.compile)(compile, settings, target, prefix))
}
