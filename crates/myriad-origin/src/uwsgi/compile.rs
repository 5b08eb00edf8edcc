//! Compilation of `uwsgi_*`.

use crate::OriginCompiler;
use myriad_conf::Text;
use myriad_conf::settings::Settings;

use super::language::{LANGUAGE, UWSGI};
use super::place::UwsgiPlace;
use super::settings::Modifiers;
use crate::cgi::{CgiOrigin, CgiPlace};
use crate::compiled_protocol::{CompiledProtocol, CompiledTarget};

pub(crate) static PROTOCOL: CompiledProtocol =
    CompiledProtocol { language: LANGUAGE, variables: &[], compile };

fn compile(compile: &mut dyn OriginCompiler, settings: &Settings, target: &Text, _: &Text) -> CompiledTarget {
    let origin = settings.origin(UWSGI);
    let written = target.lossy();
    let (scheme, rest) = UWSGI.split(&written).unwrap_or((None, &written));
    let rest = Text::new(rest.as_bytes(), target.span);
    let is_secure = scheme.is_some_and(|scheme| scheme.secure);
    let place = UwsgiPlace {
        environment: CgiPlace::compiled(compile, origin),
        modifiers: *settings.feature::<Modifiers>(),
        tls: if is_secure { compile.tls(origin, target.span).map(Box::new) } else { None },
        host: compile.origin_template(&rest),
    };
    (compile.target(&rest), Box::new(CgiOrigin(place)))
}
