//! The key under which a page is stored.
//!
//! It is what `*_cache_key` comes to, byte for byte, so that a page's file has nginx's name. What is told apart beyond that
//! stands behind it in parts, each of which begins with NUL and a letter. A NUL of the key itself is doubled: a visitor may
//! send one in a body (`$request_body`) or a user name (`$remote_user`), and no such bytes may pose as a part.

use myriad_http::Known;
use myriad_page::key::{ARGUMENTS, COOKIE, FIELD, HOST, SUBREQUEST, append, double_nuls};
use myriad_script::{EvalError, Frame};

use super::no_vary_search;
use crate::exchange::{Exchange, Request};
use crate::runtime::CachePlace;

/// Makes the key of the request's page in `request.cache.key`.
pub fn write(request: &mut Request, frame: &mut Frame, cache: &CachePlace) -> Result<(), EvalError> {
    let mut key = std::mem::take(&mut request.cache.key);
    key.clear();
    cache.key.eval(request, frame, &mut key)?;
    no_vary_search::settle(request, cache, &mut key);
    double_nuls(&mut key, 0);
    if !request.has_own_target() && !cache.uri_in_key {
        tell_subrequests_apart(request, &mut key);
    }
    if !cache.host_in_key {
        tell_hosts_apart(request, &mut key);
    }
    tell_inputs_apart(request, cache, &mut key);
    request.cache.key = key;
    Ok(())
}

/// The key of the page, for an explanation or to remove it.
pub fn of(exchange: &mut Exchange, cache: &CachePlace) -> Result<Vec<u8>, EvalError> {
    let Exchange { request, frame } = exchange;
    write(request, frame, cache)?;
    Ok(request.cache.key.clone())
}

/// An application makes its links from the `Host` it is told, port and all, while `$host` in the key has no port: a
/// visitor who names a port of their own must not make the page of others.
pub fn tell_hosts_apart(request: &Request, key: &mut Vec<u8>) {
    let sent = request.received.head.known(Known::Host).unwrap_or_default();
    if !sent.eq_ignore_ascii_case(&request.route.host) {
        append(HOST, sent, key);
    }
}

/// A key of `$request_uri` is the same for a page and all that it includes: each include gets one of its own beneath it.
/// Pieces of one answer (`slice`) are of the URI that was sent.
fn tell_subrequests_apart(request: &Request, key: &mut Vec<u8>) {
    if request.cache.slice.get().is_none() {
        append(SUBREQUEST, &request.route.uri, key);
        append(ARGUMENTS, &request.route.args, key);
    }
}

/// `cache_key_field`, `cache_key_cookie`. A request without any of these has the key that it would have anyway.
fn tell_inputs_apart(request: &Request, cache: &CachePlace, key: &mut Vec<u8>) {
    for input in &cache.rules.shared_fetch.keyed {
        let value = input.value(request.received.head.fields());
        if !value.is_empty() {
            let part = if input.cookie { COOKIE } else { FIELD };
            append(part, &[&input.name, &b"="[..], &value].concat(), key);
        }
    }
}
