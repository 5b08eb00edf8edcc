//! URL of `proxy_pass` with variables, which is evaluated once per request before its first use.

use myriad_log::Level;
use myriad_script::Template;

use super::pass_url::{PassUrl, PassUrlError};
use super::place::HttpPlace;
use super::uri::prepared;
use crate::group::named_group;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::exchange::Step;
use myriad_exchange::runtime::Who;

/// Evaluates the URL and parses it with `parse`. The error step is the response to an invalid URL.
pub(crate) fn prepare(
    exchange: &mut Exchange,
    template: &Template,
    parse: fn(&[u8]) -> Result<PassUrl, PassUrlError>,
) -> Option<Step> {
    let Exchange { request, frame } = exchange;
    let mut text = Vec::new();
    if let Err(error) = template.eval(request, frame, &mut text) {
        request.log(Level::Error, format_args!("{error}"));
        return Some(Step::Error(500));
    }
    match parse(&text) {
        Ok(url) => {
            request.origin_mut().prepared = Some(Box::new(url));
            None
        }
        Err(error) => {
            let text = String::from_utf8_lossy(&text);
            request.log(Level::Error, format_args!("{error} in \"{text}\""));
            Some(Step::Error(500))
        }
    }
}

/// Returns the `upstream` block that the URL names, else its address, else a name to resolve.
pub(crate) fn who(exchange: &Exchange, http: &HttpPlace) -> Result<Who, u16> {
    let Some(url) = prepared(&exchange.request) else {
        return Err(500);
    };
    let upstream = url.group_name().and_then(|name| exchange.request.site.runtime.upstream(&name));
    if let Some(group) = upstream.or_else(|| named_group(exchange, &url.address())) {
        return Ok(Who::Group(group));
    }
    let Some((name, port)) = url.name() else { return Err(502) };
    if let Some(resolver) = http.resolver {
        return Ok(Who::Name { name: name.to_owned(), port, resolver });
    }
    exchange.request.log(Level::Error, format_args!("no resolver defined to resolve {name}"));
    Err(502)
}
