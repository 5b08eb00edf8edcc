//! URL of `proxy_pass` with variables. It is evaluated once per request, before its first use.

use myriad_log::LogLevel;
use myriad_script::Template;

use super::pass_url::{PassUrl, PassUrlError};
use super::place::HttpPlace;
use super::uri::prepared;
use crate::group::named_group;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::runtime::UpstreamTarget;

/// Evaluates the URL of `proxy_pass` with its variables, parses it with `parse` and stores it in the request. Returns
/// the error step if that fails, otherwise `None`.
pub(crate) fn prepare(
    exchange: &mut Exchange,
    template: &Template,
    parse: fn(&[u8]) -> Result<PassUrl, PassUrlError>,
) -> Option<PhaseStep> {
    let Exchange { request, frame } = exchange;
    let mut text = Vec::new();
    if let Err(error) = template.eval(request, frame, &mut text) {
        request.log(LogLevel::Error, format_args!("{error}"));
        return Some(PhaseStep::Error(500));
    }
    match parse(&text) {
        Ok(url) => {
            request.origin_mut().prepared = Some(Box::new(url));
            None
        }
        Err(error) => {
            let text = String::from_utf8_lossy(&text);
            request.log(LogLevel::Error, format_args!("{error} in \"{text}\""));
            Some(PhaseStep::Error(500))
        }
    }
}

/// Returns the target of the evaluated URL: an `upstream` block, otherwise an address or a name to resolve. The error
/// is the status of the response.
pub(crate) fn upstream_target(exchange: &Exchange, http: &HttpPlace) -> Result<UpstreamTarget, u16> {
    let Some(url) = prepared(&exchange.request) else {
        return Err(500);
    };
    let upstream = url.group_name().and_then(|name| exchange.request.site.runtime.upstream(&name));
    if let Some(group) = upstream.or_else(|| named_group(exchange, &url.address())) {
        return Ok(UpstreamTarget::Group(group));
    }
    let Some((name, port)) = url.name() else { return Err(502) };
    if let Some(resolver) = http.resolver {
        return Ok(UpstreamTarget::Name { name: name.to_owned(), port, resolver });
    }
    exchange.request.log(LogLevel::Error, format_args!("no resolver defined to resolve {name}"));
    Err(502)
}
