//! Entry of the list of protocols, for the configuration compiler.

use crate::OriginCompiler;
use myriad_conf::Text;
use myriad_conf::registry::ProtocolLanguage;
use myriad_conf::settings::Settings;

use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::{OriginProtocol, OriginTarget};

/// Compiled `*_pass` of a location: the target, and the protocol with its settings.
pub(crate) type CompiledTarget = (OriginTarget, Box<dyn OriginProtocol>);

/// Origin protocol with its directives, variables and compile function.
pub(crate) struct CompiledProtocol {
    /// Directives, settings and built-in files of the protocol.
    pub language: ProtocolLanguage,
    /// Variables of the protocol.
    pub variables: &'static [RequestVariable],
    /// Compiles a location from its settings, the argument of `*_pass` and the prefix of the location.
    pub compile: fn(&mut dyn OriginCompiler, &Settings, &Text, &Text) -> CompiledTarget,
}
