//! Shortcut: a request equivalent to a previous one is answered directly with its stored page or its file.
//!
//! The rules of a site (rewrites, locations, maps, file tests, the cache key, bypass conditions) have the same result
//! for two requests with equal inputs. The compiler of the configuration determines these inputs ([`Shortcut`]). If
//! they are only the request line and certain headers, the result is stored under the exact bytes of the inputs, and is
//! used while the file tests of the rules are valid. A request with the same inputs then costs one lookup,
//! independently of the number of rules. The policy that protects clients (`Authorization`, personal cookies, upgrades)
//! is evaluated for every request.

use myriad_http::{Known, Method};

use crate::features::real_ip;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::PartRead;
use myriad_exchange::worker_caches::Shortcuts;

/// Maximum size of those parts of a request by which its routing result is stored, in bytes; a request with larger
/// parts runs all rules.
const LONGEST: usize = 768;

/// Routes a request by the stored result of an earlier one whose relevant parts were equal (shortcut). Returns `None`
/// if there is no such result, the request may not use it, or the content handler has no response without waiting; then
/// all phases must run.
pub(crate) fn take(exchange: &mut Exchange) -> Option<PhaseStep> {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let rules = site.runtime.shortcut.as_ref()?;
    read(&mut exchange.request, &rules.parts)?;
    restore(&mut exchange.request, &site.shortcuts)?;
    real_ip::set_client_address_at_both_levels(&mut exchange.request);
    let step = site.runtime.place(exchange.request.route.place).handler.shortcut(exchange);
    if step.is_none() {
        // The handler has no response without waiting: the phases need the request as it was received.
        let request = &mut exchange.request;
        for buffer in
            [&mut request.route.uri, &mut request.route.args, &mut request.route.host, &mut request.cache.key]
        {
            buffer.clear();
        }
        request.route.as_get = false;
    }
    step
}

/// Sets server, place, URI, arguments, host and cache key of the request to the stored routing result for its inputs;
/// `None` if there is none.
fn restore(request: &mut Request, shortcuts: &Shortcuts) -> Option<()> {
    let way = shortcuts.find(&request.shortcut.read, request.received.at_ms)?;
    request.route.server = way.server;
    request.route.place = way.place;
    request.route.uri.extend_from_slice(&way.uri);
    request.route.args.extend_from_slice(&way.args);
    request.route.host.extend_from_slice(&way.host);
    request.cache.key.extend_from_slice(&way.key);
    Some(())
}

/// Collects the parts of the request that the rules read in `request.shortcut.read`, by which its routing result is
/// found. Returns `None` for a request that must run all phases, such as a POST.
fn read(request: &mut Request, parts: &[PartRead]) -> Option<()> {
    if request.received.connection.plain_to_tls.get() {
        // Such a request is rejected by the phases: content of a TLS server must not be sent unencrypted.
        return None;
    }
    let method = match request.received.head.method() {
        Method::Get => b'G',
        Method::Head => b'H',
        _ => return None,
    };
    let target = request.received.head.target();
    let host = request.received.head.known(Known::Host)?;
    if target.first() != Some(&b'/') || target.len() + host.len() > LONGEST || !request.upload.body.is_empty()
    {
        return None;
    }
    let mut out = std::mem::take(&mut request.shortcut.read);
    out.clear();
    // The servers that may be selected depend on the listener, and on the local address if several addresses share a
    // socket.
    let hosts = request.site.runtime.hosts(&request.received.connection)?;
    out.extend_from_slice(&(std::ptr::from_ref(hosts) as usize).to_le_bytes());
    out.extend_from_slice(&[method, request.received.head.version() as u8]);
    for part in [target, host] {
        append_part(part, &mut out);
    }
    let complete = parts.iter().all(|part| append_read(request, part, &mut out));
    let fits = complete && out.len() <= LONGEST;
    if !fits {
        out.clear();
    }
    request.shortcut.read = out;
    fits.then_some(())
}

/// Appends a part of the request that the rules read to `out`. Returns false if the request cannot use a stored routing
/// result: it has any `Cookie` field although the rules read cookies, a repeated header, a forwarded host that replaces
/// `Host`, or too many bytes.
fn append_read(request: &Request, part: &PartRead, out: &mut Vec<u8>) -> bool {
    let fields = request.received.head.fields();
    let value = match part {
        PartRead::Known(Known::Cookie) => return !fields.has(Known::Cookie),
        PartRead::Known(known) if fields.is_repeated(*known) => return false,
        PartRead::Known(known) => fields.known(*known),
        PartRead::Other(name) => {
            let mut values = fields.variable_all(name);
            let first = values.next();
            if values.next().is_some() {
                return false;
            }
            first
        }
        PartRead::ForwardedScheme => {
            if fields.is_repeated(Known::XForwardedProto) {
                return false;
            }
            let value = fields.known(Known::XForwardedProto);
            if value.is_some() {
                // From an untrusted sender, the same value does not set the scheme.
                let sender = request.received.connection.peer.ip();
                out.push(request.runtime().forwarded.trusts_scheme_of(sender).into());
            }
            value
        }
        PartRead::ForwardedHost => {
            // If the forwarded host replaces `Host` by another value, all phases must run.
            return request.forwarded_host().is_none_or(|host| fields.known(Known::Host) == Some(host));
        }
    };
    match value {
        Some(value) => append_part(value, out),
        None => out.extend_from_slice(&ABSENT),
    }
    out.len() <= LONGEST
}

/// Marker of a missing header among the inputs of the rules, in place of the header's length: no header is that long.
const ABSENT: [u8; 2] = u16::MAX.to_le_bytes();

/// Appends a part of a request after its length (2 bytes), so that different lists of parts never have the same bytes.
fn append_part(part: &[u8], out: &mut Vec<u8>) {
    // The length of a longer part is truncated, but such a part exceeds the limit and is not used.
    out.extend_from_slice(&(part.len() as u16).to_le_bytes());
    out.extend_from_slice(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(parts: &[Option<&[u8]>]) -> Vec<u8> {
        let mut out = Vec::new();
        for part in parts {
            match part {
                Some(part) => append_part(part, &mut out),
                None => out.extend_from_slice(&ABSENT),
            }
        }
        out
    }

    #[test]
    fn no_part_poses_as_another_whatever_it_holds() {
        let texts: [&[u8]; 8] = [b"", b"\0", b"\0\0", b"\x01", b"\x01\0", b"a", b"\0\x01a", b"\xff\xff"];
        let values: Vec<_> = texts.iter().map(|text| Some(*text)).chain([None]).collect();
        let mut all = std::collections::HashMap::new();
        for first in &values {
            for second in &values {
                for third in &values {
                    let parts = [*first, *second, *third];
                    assert_eq!(all.insert(joined(&parts), parts), None, "{parts:?}");
                }
            }
        }
    }
}
