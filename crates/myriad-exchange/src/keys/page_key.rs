//! The key under which a page is stored.
//!
//! It is what `*_cache_key` comes to, byte for byte, so that a page's file has nginx's name. What is told apart beyond that
//! stands behind it in parts, each of which begins with NUL and a letter. A NUL of the key itself is doubled: a visitor may
//! send one in a body (`$request_body`) or a user name (`$remote_user`), and no such bytes may pose as a part.

use myriad_http::Known;
use myriad_script::{EvalError, Frame};

use crate::exchange::{Exchange, Request};
use crate::runtime::CachePlace;

/// The part of pages for codings that are not made here (`Accept-Encoding` of codings that nobody here makes).
pub const CODINGS: &[u8] = b"\0codings";
const HOST: &[u8] = b"\0host=";
const SUBREQUEST: &[u8] = b"\0subrequest=";
const ARGUMENTS: &[u8] = b"\0args=";
const FIELD: &[u8] = b"\0field=";
const COOKIE: &[u8] = b"\0cookie=";

/// Makes the key of the request's page in `request.cache.key`.
pub fn write(request: &mut Request, frame: &mut Frame, cache: &CachePlace) -> Result<(), EvalError> {
    let mut key = std::mem::take(&mut request.cache.key);
    key.clear();
    cache.key.eval(request, frame, &mut key)?;
    double_nuls(&mut key, 0);
    if request.is_subrequest() && !cache.uri_in_key {
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

/// The key for what a directive other than `*_cache_key` says that it is.
pub fn named(mut text: Vec<u8>) -> Vec<u8> {
    double_nuls(&mut text, 0);
    text
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

fn append(name: &[u8], value: &[u8], key: &mut Vec<u8>) {
    key.extend_from_slice(name);
    let value_at = key.len();
    key.extend_from_slice(value);
    double_nuls(key, value_at);
}

/// Doubles each NUL from `from` on.
fn double_nuls(key: &mut Vec<u8>, from: usize) {
    if !key[from..].contains(&0) {
        return;
    }
    let text = key.split_off(from);
    key.reserve(text.len() * 2);
    for byte in text {
        key.push(byte);
        if byte == 0 {
            key.push(0);
        }
    }
}

/// The key of the pages for other codings beside the page of `key`: a purge of one is a purge of both.
pub fn of_other_codings(key: &[u8]) -> Vec<u8> {
    [key, CODINGS].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &[u8], host: Option<&[u8]>, codings: bool) -> Vec<u8> {
        let mut key = named(text.to_vec());
        if let Some(host) = host {
            append(HOST, host, &mut key);
        }
        if codings {
            key.extend_from_slice(CODINGS);
        }
        key
    }

    #[test]
    fn no_text_poses_as_another_key_with_its_parts() {
        let texts: [&[u8]; 9] = [
            b"",
            b"\0",
            b"\0\0",
            b"a",
            b"a\0host=b",
            b"a\0\0host=b",
            b"\0codings",
            b"a\0host=b\0codings",
            b"\0host=",
        ];
        let hosts: [Option<&[u8]>; 4] = [None, Some(b"b"), Some(b"b\0codings"), Some(b"")];
        let mut all = std::collections::HashMap::new();
        for text in texts {
            for host in hosts {
                for codings in [false, true] {
                    let made_of = (text, host, codings);
                    assert_eq!(all.insert(key(text, host, codings), made_of), None, "{made_of:?}");
                }
            }
        }
        assert_eq!(named(b"httplocalhost/a?b".to_vec()), b"httplocalhost/a?b");
    }
}
