//! List of origin protocols.

use std::rc::Rc;

use crate::OriginCompiler;
use myriad_conf::Text;
use myriad_conf::registry::ProtocolLanguage;
use myriad_conf::settings::{Protocol, Settings};

use super::compiled_protocol::{CompiledProtocol, CompiledTarget};
use super::variables::VARIABLES;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::Generation;
use myriad_upstream::HealthLogger;

/// All origin protocols, in the order of the documentation.
static PROTOCOLS: &[&CompiledProtocol] = &[
    &crate::fastcgi::PROTOCOL,
    &crate::http::PROTOCOL,
    &crate::grpc::PROTOCOL,
    &crate::scgi::PROTOCOL,
    &crate::uwsgi::PROTOCOL,
    &crate::memcached::PROTOCOL,
    &crate::tunnel::PROTOCOL,
];

/// Returns the language (directives and settings) of each origin protocol.
pub fn languages() -> impl Iterator<Item = ProtocolLanguage> {
    PROTOCOLS.iter().map(|listed| listed.language)
}

/// Starts polling php-fpm's status for `origin_queue ... status=`, unless another worker polls it. Calls `log_health`
/// when a status becomes unreadable, and when it is readable again.
pub fn begin(site: &Rc<Generation>, log_health: &HealthLogger) {
    crate::fastcgi::begin(site, log_health);
}

/// Returns the variables about origins: first the list for all protocols, then one list per protocol.
pub fn variables() -> impl Iterator<Item = &'static [RequestVariable]> {
    std::iter::once(VARIABLES).chain(PROTOCOLS.iter().map(|listed| listed.variables))
}

/// Compiles a location with an origin of `protocol`, from the argument of `*_pass` and the prefix of the location.
/// `None` if the protocol is unknown.
pub fn compiled(
    protocol: Protocol,
    compile: &mut dyn OriginCompiler,
    settings: &Settings,
    (target, prefix): (&Text, &Text),
) -> Option<CompiledTarget> {
    let found = PROTOCOLS.iter().find(|listed| listed.language.protocol == protocol)?;
    Some((found.compile)(compile, settings, target, prefix))
}
