//! What `fastcgi_*` are compiled to.

use myriad_conf::Text;
use myriad_conf::settings::{Protocol, Settings};

use super::place::FastCgiPlace;
use crate::cgi::CgiPlace;
use crate::compiled::{CompiledProtocol, Spoken};
use myriad_exchange::runtime::OriginCompiler;

pub(crate) static COMPILED: CompiledProtocol = CompiledProtocol { protocol: Protocol::FastCgi, compile };

fn compile(compile: &mut dyn OriginCompiler, settings: &Settings, target: &Text, _: &Text) -> Spoken {
    let origin = settings.origin(Protocol::FastCgi);
    let place = FastCgiPlace {
        environment: CgiPlace::compiled(compile, origin),
        index: origin.index.as_ref().map_or(&b""[..], Text::bytes).into(),
        split_path_info: origin.split_path_info.as_ref().and_then(|pattern| compile.pattern(pattern, false)),
        keep_conn: origin.keep_conn,
        catch_stderr: origin.catch_stderr.iter().map(|text| text.bytes().into()).collect(),
    };
    (compile.target(target), Box::new(place))
}
