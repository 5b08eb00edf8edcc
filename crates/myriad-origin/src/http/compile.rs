//! Compilation of `proxy_pass` and of the fields of its requests.

use crate::OriginCompiler;
use crate::param::Param;
use myriad_conf::settings::{OriginRequestSettings, Settings};
use myriad_conf::{Diagnostic, Text};
use myriad_http::Known;
use myriad_http::token::is_tchar;

use super::compile_rewriting;
use super::language::{HTTP, LANGUAGE};
use super::pass_url::PassUrl;
use super::place::{HttpPlace, ReplacedFields, SentFields};
use super::rewriting::Rewriting;
use super::settings::{HttpSettings, HttpVersion};
use super::variables::VARIABLES;
use crate::compiled_protocol::{CompiledProtocol, CompiledTarget};
use crate::tls;
use crate::upgrade;
use crate::upgrade_protocols::UpgradeProtocols;
use myriad_exchange::runtime::OriginTarget;

/// Client fields that are not forwarded: they describe the client's connection, or are written by this server.
const NOT_FORWARDED: [Known; 9] = [
    Known::Host,
    Known::Connection,
    Known::ProxyConnection,
    Known::ContentLength,
    Known::TransferEncoding,
    Known::Te,
    Known::KeepAlive,
    Known::Expect,
    Known::Upgrade,
];

pub(crate) static PROTOCOL: CompiledProtocol =
    CompiledProtocol { language: LANGUAGE, variables: VARIABLES, compile };

fn compile(
    compile: &mut dyn OriginCompiler,
    settings: &Settings,
    target: &Text,
    prefix: &Text,
) -> CompiledTarget {
    let place = place(compile, settings, target, prefix);
    (compile_target(compile, target, &place), Box::new(place))
}

fn place(compile: &mut dyn OriginCompiler, settings: &Settings, url: &Text, prefix: &Text) -> HttpPlace {
    let origin = settings.origin(HTTP);
    let own: &HttpSettings = origin.own();
    let mut place = HttpPlace {
        http_1_1: own.version != HttpVersion::Http10,
        http_2: own.version == HttpVersion::Http2,
        passes_trailers: own.pass_trailers,
        method: own.method.as_ref().map(|method| compile.origin_template(method)),
        body: own.body.as_ref().map(|body| compile.origin_template(body)),
        cookies: compile_rewriting::cookies(compile, own),
        ..HttpPlace::new(pass_url(compile, url), prefix.bytes())
    };
    if place.url.as_ref().is_none_or(PassUrl::is_secure) {
        place.tls = compile.tls(origin, url.span).map(Box::new);
        if let Some(tls) = place.tls.as_mut().filter(|_| place.http_2) {
            tls::offer_http2(tls);
        }
    }
    place.redirects = compile_rewriting::redirects(compile, own, url, &place);
    place.redirects.shrink_to_fit();
    place.plain_redirects = place.redirects.iter().all(Rewriting::is_plain);
    if place.url.is_none() {
        place.resolver = compile.name_resolver(settings);
    }
    place.fields = sent_fields(compile, settings, &origin.request);
    place
}

/// Compiles the header fields of requests (`proxy_set_header`). Reports invalid names.
pub(crate) fn sent_fields(
    compile: &mut dyn OriginCompiler,
    settings: &Settings,
    request: &OriginRequestSettings,
) -> SentFields {
    let mut sent = SentFields {
        replaced: ReplacedFields { known: NOT_FORWARDED.to_vec(), others: Vec::new() },
        upgrade_protocols: settings.feature::<UpgradeProtocols>().0.clone(),
        ..SentFields::default()
    };
    for field in &request.parameters {
        let name = field.name.bytes();
        if !is_token(name) {
            compile.report(Diagnostic::error(
                field.name.span,
                format!("\"{}\" is not a valid header field name", field.name.lossy()),
            ));
        }
        let value = compile.origin_template(&field.value);
        sent.replaced.add(name);
        match Known::from_bytes(name) {
            Some(Known::Host) => sent.host = Some(value),
            Some(Known::ContentLength) => sent.no_length |= value.as_static() == Some(b""),
            Some(Known::TransferEncoding) => {}
            Some(Known::Upgrade) => {
                // Protocols that the configuration requests without variables are allowed too.
                let named = value.as_static().map(upgrade::names).into_iter().flatten();
                sent.upgrade_protocols.extend(named.map(|name| name.to_ascii_lowercase().into()));
                sent.upgrade = Some(value);
            }
            _ => sent.written.push(Param { name: name.into(), value, if_not_empty: true }),
        }
    }
    sent
}

/// Returns the parsed URL of `proxy_pass`; `None` if it contains variables or is invalid, which is reported.
fn pass_url(compile: &mut dyn OriginCompiler, url: &Text) -> Option<PassUrl> {
    if url.has_variables() {
        return None;
    }
    match PassUrl::parse(url.bytes()) {
        Ok(url) => Some(url),
        Err(error) => {
            let message = format!("{error} in \"proxy_pass\"");
            compile.report(
                Diagnostic::error(url.span, message)
                    .help("write http://HOST[:PORT][/path] or https://HOST[:PORT][/path]"),
            );
            None
        }
    }
}

/// Returns the target of a URL: a template if it contains variables or is invalid, otherwise the `upstream` block with
/// the name of the host; if there is none, the address of the host.
pub(crate) fn compile_target(
    compile: &mut dyn OriginCompiler,
    url: &Text,
    place: &HttpPlace,
) -> OriginTarget {
    let Some(parsed) = &place.url else {
        // The cache key contains the name of the server, so its variables must be available to rules.
        return OriginTarget::Variable(compile.rule_template(url));
    };
    if let Some(group) = parsed.group_name().and_then(|name| compile.named_upstream(&name)) {
        return OriginTarget::Group(group);
    }
    compile.address(&parsed.address(), url)
}

/// Returns whether a field name is a token (RFC 9110 section 5.1).
fn is_token(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().copied().all(is_tchar)
}
