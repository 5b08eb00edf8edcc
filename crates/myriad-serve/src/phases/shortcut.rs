//! The shortcut: a request like one before goes straight to its stored page, or to its file.
//!
//! A site's rules (rewrites, locations, maps, file tests, the cache key, bypass conditions) come to the same for two
//! requests that agree in everything these rules read. The compiler of the configuration knows what that is
//! ([`Shortcut`]); where it is the request line and some fields, what the rules came to is kept under exactly these bytes,
//! for as long as the file tests among them are believed. The next such visitor costs one look-up, whatever the number
//! of rules. The policy that protects visitors (`Authorization`, personal cookies, upgrades) is asked every time.

use myriad_http::{Known, Method};

use crate::features::real_ip;
use myriad_exchange::exchange::Step;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::memory::Shortcuts;
use myriad_exchange::runtime::PartRead;

/// Most bytes that rules read of a request which takes the shortcut; for a longer one all phases run.
const LONGEST: usize = 768;

/// Takes the shortcut, if this request may and one like it is remembered. None: all phases run.
pub(crate) fn take(exchange: &mut Exchange) -> Option<Step> {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let rules = site.runtime.shortcut.as_ref()?;
    read(&mut exchange.request, &rules.parts)?;
    restore(&mut exchange.request, &site.shortcuts)?;
    real_ip::find_at_both(&mut exchange.request);
    let step = site.runtime.place(exchange.request.route.place).handler.shortcut(exchange);
    if step.is_none() {
        // Stale or gone: the long way must find the request as it came.
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

/// Gives the request the server, place, URI and key that one like it came to.
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

/// Gathers the bytes that the rules read. None where the request is of a kind that takes the long way.
fn read(request: &mut Request, parts: &[PartRead]) -> Option<()> {
    if request.received.connection.plain_to_tls.get() {
        // It is refused, whatever it asks for: what a session of TLS may have is not told in the clear.
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
    // Which servers the connection may mean: by its listener, and by its local address where several share a socket.
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

/// Appends a part that rules read. Returns false where all phases must run: visitors differ in the part by nature.
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
                // The same word of a sender that is not trusted is another scheme.
                let sender = request.received.connection.peer.ip();
                out.push(request.runtime().forwarded.trusts_scheme_of(sender).into());
            }
            value
        }
        PartRead::ForwardedHost => {
            // All phases run where the host is not the one that was read.
            return request.forwarded_host().is_none_or(|host| fields.known(Known::Host) == Some(host));
        }
    };
    match value {
        Some(value) => append_part(value, out),
        None => out.extend_from_slice(&ABSENT),
    }
    out.len() <= LONGEST
}

/// What stands for a field that is not there: no part that fits is so long.
const ABSENT: [u8; 2] = u16::MAX.to_le_bytes();

/// Appends a part behind its length, so that none can pose as another whatever bytes it holds.
fn append_part(part: &[u8], out: &mut Vec<u8>) {
    // One that is too long for its length is too long altogether.
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
