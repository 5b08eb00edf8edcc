//! Protocol definition used by the configuration compiler.

use crate::OriginCompiler;
use myriad_conf::Text;
use myriad_conf::registry::ProtocolLanguage;
use myriad_conf::settings::Settings;

use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::{OriginProtocol, OriginTarget};

/// Compilation result of a place: the target and the protocol used to reach it.
pub(crate) type CompiledTarget = (OriginTarget, Box<dyn OriginProtocol>);

/// Protocol with its language, variables and compile function.
pub(crate) struct CompiledProtocol {
    /// Protocol with its directives.
    pub language: ProtocolLanguage,
    /// Variables of the protocol.
    pub variables: &'static [RequestVariable],
    /// Compiles a place from its settings, the argument of `*_pass` and the prefix of the location.
    pub compile: fn(&mut dyn OriginCompiler, &Settings, &Text, &Text) -> CompiledTarget,
}
