//! Compilation of `scgi_*`.

use crate::OriginCompiler;
use myriad_conf::Text;
use myriad_conf::settings::Settings;

use super::language::{LANGUAGE, SCGI};
use super::place::ScgiPlace;
use crate::cgi::{CgiOrigin, CgiPlace};
use crate::compiled_protocol::{CompiledProtocol, CompiledTarget};

pub(crate) static PROTOCOL: CompiledProtocol =
    CompiledProtocol { language: LANGUAGE, variables: &[], compile };

fn compile(compile: &mut dyn OriginCompiler, settings: &Settings, target: &Text, _: &Text) -> CompiledTarget {
    let environment = CgiPlace::compiled(compile, settings.origin(SCGI));
    (compile.target(target), Box::new(CgiOrigin(ScgiPlace { environment })))
}
