//! What the compilation knows of a protocol.

use crate::OriginCompiler;
use myriad_conf::Text;
use myriad_conf::registry::ProtocolLanguage;
use myriad_conf::settings::Settings;

use myriad_exchange::exchange::variables::Row;
use myriad_exchange::runtime::{OriginProtocol, Target};

/// What is compiled of a place: who is asked, and how its protocol is spoken.
pub(crate) type Spoken = (Target, Box<dyn OriginProtocol>);

/// A protocol, and what compiles the places that speak it.
pub(crate) struct CompiledProtocol {
    /// The protocol, and what a configuration says of it.
    pub language: ProtocolLanguage,
    /// Its variables.
    pub variables: &'static [Row],
    /// Compiles a place, of its settings, the argument of `*_pass`, and the prefix that the location matches by.
    pub compile: fn(&mut dyn OriginCompiler, &Settings, &Text, &Text) -> Spoken,
}
