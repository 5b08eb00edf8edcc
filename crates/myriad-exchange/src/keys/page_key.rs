//! Key under which a page is stored.
//!
//! The key starts with the value of `*_cache_key`, so that a page's file has the same name as in nginx. Further
//! distinctions are appended as parts that start with NUL and a letter. A NUL in the value is doubled: clients may send
//! NULs in a body (`$request_body`) or user name (`$remote_user`), which must not look like the start of a part.

use myriad_http::Known;
use myriad_script::{EvalError, Frame};
use myriad_store::page::key::{ARGUMENTS, COOKIE, FIELD, HOST, SUBREQUEST, append, double_nuls};

use super::no_vary_search;
use crate::exchange::{Exchange, Request};
use crate::runtime::CachePlace;

/// Writes the cache key of the request's page to `request.cache.key`. Fails if a variable in `*_cache_key` cannot be
/// evaluated.
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

/// Writes the cache key of the request's page to `request.cache.key`, and returns a copy of it for explanations and
/// purges. Fails if a variable in `*_cache_key` cannot be evaluated.
pub fn of(exchange: &mut Exchange, cache: &CachePlace) -> Result<Vec<u8>, EvalError> {
    let Exchange { request, frame } = exchange;
    write(request, frame, cache)?;
    Ok(request.cache.key.clone())
}

/// Appends the field `Host`, with the port that the client sent, to a cache key if the field differs from `$host`.
/// Applications generate links from `Host` with its port, while `$host` in keys has no port: a client that sends a
/// wrong port must not determine the page that other clients get.
pub fn append_host(request: &Request, key: &mut Vec<u8>) {
    let sent = request.received.head.known(Known::Host).unwrap_or_default();
    if !sent.eq_ignore_ascii_case(&request.route.host) {
        append(HOST, sent, key);
    }
}

/// Appends the URI of a subrequest to a cache key. A key with `$request_uri` is the same for a page and all its
/// includes, so the includes need separate keys. Slices of a response belong to the URI that the client sent, and are
/// excluded.
fn append_subrequest(request: &Request, key: &mut Vec<u8>) {
    if request.cache.slice.get().is_none() {
        append(SUBREQUEST, &request.route.uri, key);
        append(ARGUMENTS, &request.route.args, key);
    }
}

/// Appends the values of the fields in `cache_key_field` and of the cookies in `cache_key_cookie` to a cache key;
/// fields and cookies that the request does not have are omitted.
fn append_inputs(request: &Request, cache: &CachePlace, key: &mut Vec<u8>) {
    for input in &cache.rules.shared_fetch.keyed {
        let value = input.value(request.received.head.fields());
        if !value.is_empty() {
            let part = if input.cookie { COOKIE } else { FIELD };
            append(part, &[&input.name, &b"="[..], &value].concat(), key);
        }
    }
}
