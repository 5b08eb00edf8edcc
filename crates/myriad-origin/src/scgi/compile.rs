//! What `scgi_*` are compiled to.

use myriad_conf::Text;
use myriad_conf::settings::{Protocol, Settings};

use super::place::ScgiPlace;
use crate::cgi::{CgiOrigin, CgiPlace};
use crate::compiled::{CompiledProtocol, Spoken};
use myriad_exchange::runtime::OriginCompiler;

pub(crate) static COMPILED: CompiledProtocol = CompiledProtocol { protocol: Protocol::Scgi, compile };

fn compile(compile: &mut dyn OriginCompiler, settings: &Settings, target: &Text, _: &Text) -> Spoken {
    let environment = CgiPlace::compiled(compile, settings.origin(Protocol::Scgi));
    (compile.target(target), Box::new(CgiOrigin(ScgiPlace { environment })))
}
