//! Configuration language of tunnels: `tunnel_*`.

use myriad_conf::registry::{
    Arguments, Contexts, Directive, DirectiveFamily, FamilyRow, ProtocolLanguage, Set, SetterResult, between,
};
use myriad_conf::settings::{DefaultKey, Handler, Protocol, ProtocolFacts, Settings};
use myriad_conf::{Diagnostic, Text};

pub(super) const TUNNEL: Protocol = Protocol::new(&ProtocolFacts {
    prefix: "tunnel_",
    schemes: &[],
    is_url: false,
    has_environment: true,
    key: DefaultKey::FULL,
    // Directives that tunnels do not have, as in nginx: the tunnelled data is not inspected.
    lacks: &[
        "buffering",
        "buffers",
        "busy_buffers_size",
        "cache",
        "force_ranges",
        "hide_header",
        "ignore_client_abort",
        "ignore_headers",
        "intercept_errors",
        "limit_rate",
        "max_temp_file_size",
        "no_cache",
        "pass_header",
        "pass_request_body",
        "pass_request_headers",
        "request_buffering",
        "store",
        "temp",
    ],
    own: &[],
});

pub(super) const LANGUAGE: ProtocolLanguage = ProtocolLanguage::new(TUNNEL, FAMILIES);

static FAMILIES: &[DirectiveFamily] = &[DirectiveFamily::of_origins("origin", ROWS)];

static ROWS: &[FamilyRow] = &[FamilyRow::new(
    Directive::new(
        "pass",
        Contexts::SERVER.or(Contexts::LOCATION).or(Contexts::LOCATION_IF),
        between(0, 1),
        Set::Settings(pass),
        "Connects clients that send CONNECT to a server.",
    )
    .differs(
        "requests cannot choose the address: it must be a fixed server or group, or a variable of a `map` with fixed \
             values; a directive without a parameter, or with another variable, is rejected",
    ),
)];

/// Help text for a target by which requests could choose the address.
pub(super) const REMEDY: &str = "write tunnel_pass HOST:PORT; or the name of an upstream block; or a variable of a map with such values, such as \
     map $host:$request_port $to { shop.test:443 10.0.0.2:443; }";

fn pass(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    if args.is_empty() {
        let message = "\"tunnel_pass\" without an address would let requests choose it, like an open proxy";
        return Err(Diagnostic::error(args.node.span, message).help(REMEDY));
    }
    let target = args.text(0)?;
    if target.is_empty() {
        return Err(args.error(0, "empty \"tunnel_pass\"").help(REMEDY));
    }
    settings.handler = Some(Handler::Origin { protocol: TUNNEL, target, prefix: Text::default() });
    Ok(())
}
