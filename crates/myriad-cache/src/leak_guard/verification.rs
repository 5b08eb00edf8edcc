//! Verification of a leak: the page is fetched without the values of the visitor.

use myriad_http::{Fields, Known};
use myriad_policy::{Leak, LeakKind, Lifetime, PrivateValue, SharedFetchFields, VaryRule};

use super::findings::{confirm, name_in_page};
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::CachePlace;

/// Fetch of a page without the values of the visitor, to find out whether a leak is a coincidence.
pub(crate) struct Verification {
    pub(super) kind: LeakKind,
    /// Value; empty for a sign in HTML.
    pub(super) value: Box<[u8]>,
    /// The value to search for, if it is not a sign in HTML.
    pub(super) values: Vec<PrivateValue>,
    /// Status of the response with the leak.
    pub(super) status: u16,
    /// True if this response has the same status.
    pub(super) is_comparable: bool,
    /// True if this response has the value, too.
    pub(super) is_coincidence: bool,
}

impl Verification {
    /// Returns the verification of a leak in a response with this status; `None` if no fetch could verify it, or if there
    /// were too many recently.
    pub(crate) fn of(
        request: &Request,
        cache: &CachePlace,
        leak: Leak,
        lifetime: &Lifetime,
        status: u16,
    ) -> Option<Self> {
        match leak.kind {
            LeakKind::Cookie | LeakKind::UserAgent | LeakKind::LoggedIn => {}
            // Each response has a new value.
            LeakKind::NewCookie | LeakKind::FormToken => {
                confirm(request, cache, &leak.value, lifetime);
                return None;
            }
            // The request without the value would be for another page, or the configuration adds the value.
            LeakKind::Argument | LeakKind::Credentials | LeakKind::Address => return None,
        }
        if !cache.zone.leaks.begin_verification(&request.cache.key, myriad_net::clock::now_ms()) {
            return None;
        }
        let (kind, value) = (leak.kind, leak.value);
        let private = PrivateValue { kind, name: leak.name, value: value.clone() };
        let values = if value.is_empty() { Vec::new() } else { vec![private] };
        Some(Self { kind, value, values, status, is_comparable: false, is_coincidence: false })
    }

    /// Records the result, if the response can be compared.
    pub(super) fn finish(&self, request: &Request, cache: &CachePlace, lifetime: &Lifetime) {
        if !self.is_comparable {
            return;
        }
        if self.is_coincidence {
            let name = name_in_page(request, self.kind, &self.value);
            cache.zone.leaks.excuse(&request.cache.key, &name, myriad_net::clock::now_ms());
        } else {
            confirm(request, cache, &self.value, lifetime);
        }
    }
}

/// Returns the header fields of a request that verifies a leak: those of a shared fetch, or those of the client, without
/// credentials, `User-Agent`, and cookies that are not in the cache key.
pub(crate) fn anonymous_fields(request: &Request, cache: &CachePlace) -> SharedFetchFields {
    let fields = request.received.head.fields();
    let rules = &cache.rules.shared_fetch;
    let shared = rules.fields_for_origin(fields, false, &VaryRule::default(), cache.rules.device_class);
    let shared = shared.filter(|_| rules.on);
    let fields = shared.as_ref().map_or(fields, |shared| &shared.fields);
    let is_of_visitor =
        |known| matches!(known, Some(Known::Cookie | Known::Authorization | Known::UserAgent));
    let sent = fields.iter_known().filter(|(known, ..)| !is_of_visitor(*known));
    let mut sent: Fields = sent.map(|(_, name, value)| (name, value)).collect();
    let keyed = rules.keyed_pairs(fields);
    if !keyed.is_empty() {
        sent.push_known(Known::Cookie, &keyed.join(&b"; "[..]));
    }
    SharedFetchFields { fields: sent, varies: VaryRule::default() }
}
