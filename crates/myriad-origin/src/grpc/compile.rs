//! Compilation of `grpc_*`.

use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};
use myriad_http::Known;

use super::language::{GRPC, LANGUAGE};
use super::place::GrpcPlace;
use crate::OriginCompiler;
use crate::compiled_protocol::{CompiledProtocol, CompiledTarget};
use crate::http::{HttpPlace, PassUrl, compile_target, sent_fields};
use crate::tls;

pub(crate) static PROTOCOL: CompiledProtocol =
    CompiledProtocol { language: LANGUAGE, variables: &[], compile };

fn compile(
    compile: &mut dyn OriginCompiler,
    settings: &Settings,
    target: &Text,
    prefix: &Text,
) -> CompiledTarget {
    let origin = settings.origin(GRPC);
    let url = server(compile, target);
    let mut place = HttpPlace::new(url, prefix.bytes());
    if place.url.as_ref().is_none_or(PassUrl::is_secure) {
        place.tls = compile.tls(origin, target.span).map(Box::new);
    }
    if let Some(tls) = &mut place.tls {
        tls::offer_http2(tls);
    }
    if place.url.is_none() {
        place.resolver = compile.name_resolver(settings);
    }
    (place.http_1_1, place.http_2, place.passes_trailers) = (true, true, true);
    place.fields = sent_fields(compile, settings, &origin.request);
    let sets_te = |name: &Text| Known::from_bytes(name.bytes()) == Some(Known::Te);
    place.fields.requests_trailers = !origin.request.parameters.iter().any(|field| sets_te(&field.name));
    (compile_target(compile, target, &place), Box::new(GrpcPlace(place)))
}

/// Returns the parsed URL of `grpc_pass`; `None` if it contains variables, and if it is invalid or has a path, which
/// is reported.
fn server(compile: &mut dyn OriginCompiler, target: &Text) -> Option<PassUrl> {
    if target.has_variables() {
        return None;
    }
    let error = match PassUrl::of_grpc(target.bytes()) {
        Ok(url) if url.uri.is_empty() => return Some(url),
        Ok(_) => format!("\"{}\" has a path, but a gRPC server has none", target.lossy()),
        Err(error) => format!("{error} in \"grpc_pass\""),
    };
    let help = "write HOST:PORT, grpc://HOST:PORT, grpcs://HOST:PORT or the name of an upstream block";
    compile.report(Diagnostic::error(target.span, error).help(help));
    None
}
