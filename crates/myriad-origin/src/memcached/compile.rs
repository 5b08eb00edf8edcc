//! Compilation of `memcached_*`.

use myriad_conf::Text;
use myriad_conf::settings::Settings;

use super::language::{GzipFlag, LANGUAGE};
use super::place::MemcachedPlace;
use crate::OriginCompiler;
use crate::compiled_protocol::{CompiledProtocol, CompiledTarget};

pub(crate) static PROTOCOL: CompiledProtocol =
    CompiledProtocol { language: LANGUAGE, variables: &[], compile };

fn compile(compile: &mut dyn OriginCompiler, settings: &Settings, target: &Text, _: &Text) -> CompiledTarget {
    let GzipFlag(gzip_flag) = *settings.feature();
    let key = compile.origin_template(&Text::new("$memcached_key", target.span));
    (compile.target(target), Box::new(MemcachedPlace { key, gzip_flag }))
}
