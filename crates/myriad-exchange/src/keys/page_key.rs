//! Key under which a page is stored.
//!
//! It starts with the value of `*_cache_key`, byte for byte, so that a page's file has nginx's name. Further
//! distinctions follow in parts, each of which starts with NUL and a letter. A NUL in the value is doubled: a client
//! may send NULs in a body (`$request_body`) or a user name (`$remote_user`), and these must not be mistaken for a
//! part.

use myriad_http::Known;
use myriad_script::{EvalError, Frame};
use myriad_store::page::key::{ARGUMENTS, COOKIE, FIELD, HOST, SUBREQUEST, append, double_nuls};

use super::no_vary_search;
use crate::exchange::{Exchange, Request};
use crate::runtime::CachePlace;

/// Writes the key of the request's page to `request.cache.key`.
pub fn write(request: &mut Request, frame: &mut Frame, cache: &CachePlace) -> Result<(), EvalError> {
    let mut key = std::mem::take(&mut request.cache.key);
    key.clear();
    cache.key.eval(request, frame, &mut key)?;
    no_vary_search::remove_ignored_args(request, cache, &mut key);
    double_nuls(&mut key, 0);
    if !request.has_own_target() && !cache.uri_in_key {
        append_subrequest(request, &mut key);
    }
    if !cache.host_in_key {
        append_host(request, &mut key);
    }
    append_inputs(request, cache, &mut key);
    request.cache.key = key;
    Ok(())
}

/// Returns the key of the page, for an explanation or a purge.
pub fn of(exchange: &mut Exchange, cache: &CachePlace) -> Result<Vec<u8>, EvalError> {
    let Exchange { request, frame } = exchange;
    write(request, frame, cache)?;
    Ok(request.cache.key.clone())
}

/// Appends the sent `Host` if it differs from the normalized host. Applications generate links from the received `Host`
/// with its port, while `$host` in the key has no port: a client that sends another port must not produce the page of
/// others.
pub fn append_host(request: &Request, key: &mut Vec<u8>) {
    let sent = request.received.head.known(Known::Host).unwrap_or_default();
    if !sent.eq_ignore_ascii_case(&request.route.host) {
        append(HOST, sent, key);
    }
}

/// Appends the URI of a subrequest. A key of `$request_uri` is the same for a page and all its includes, so each
/// include gets a separate key. Pieces of one response (`slice`) belong to the URI that was sent.
fn append_subrequest(request: &Request, key: &mut Vec<u8>) {
    if request.cache.slice.get().is_none() {
        append(SUBREQUEST, &request.route.uri, key);
        append(ARGUMENTS, &request.route.args, key);
    }
}

/// Appends the inputs of `cache_key_field` and `cache_key_cookie`. A request without any of them has the unchanged key.
fn append_inputs(request: &Request, cache: &CachePlace, key: &mut Vec<u8>) {
    for input in &cache.rules.shared_fetch.keyed {
        let value = input.value(request.received.head.fields());
        if !value.is_empty() {
            let part = if input.cookie { COOKIE } else { FIELD };
            append(part, &[&input.name, &b"="[..], &value].concat(), key);
        }
    }
}
