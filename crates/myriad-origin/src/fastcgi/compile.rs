//! Compilation of `fastcgi_*`.

use crate::OriginCompiler;
use myriad_conf::Text;
use myriad_conf::settings::Settings;

use super::language::{FASTCGI, LANGUAGE};
use super::place::FastCgiPlace;
use super::settings::FastCgiSettings;
use super::variables::VARIABLES;
use crate::cgi::CgiPlace;
use crate::compiled_protocol::{CompiledProtocol, CompiledTarget};

pub(crate) static PROTOCOL: CompiledProtocol =
    CompiledProtocol { language: LANGUAGE, variables: VARIABLES, compile };

fn compile(compile: &mut dyn OriginCompiler, settings: &Settings, target: &Text, _: &Text) -> CompiledTarget {
    let origin = settings.origin(FASTCGI);
    let own: &FastCgiSettings = origin.own();
    let place = FastCgiPlace {
        environment: CgiPlace::compiled(compile, origin),
        index: own.index.as_ref().map_or(&b""[..], Text::bytes).into(),
        split_path_info: own.split_path_info.as_ref().and_then(|pattern| compile.pattern(pattern, false)),
        keep_conn: own.keep_conn,
        catch_stderr: own.catch_stderr.iter().map(|text| text.bytes().into()).collect(),
    };
    (compile.target(target), Box::new(place))
}
