//! Request header fields that a shared fetch sends to its origin ([`myriad_policy::SharedFetch`]).
//!
//! A page may vary by a field that its fetch did not send, which is known only after its head has arrived. The response
//! is then the variant for requests without the field. A request with the field claims the page again; the `Vary`
//! fields are known now, so its fetch sends the field:
//!
//! ```text
//! look-up -> nothing stored -> fetch sends listed fields -> Vary: Accept-Language -> stored for "no language"
//!                                                          |
//!            request has "de" <------------------------------'
//! claim   -> varies by language -> fetch sends "de" as well -> stored for "de"
//! ```

use std::cell::RefCell;

use myriad_http::{Fields, Known, Method};
use myriad_policy::{SharedFetchFields, VaryRule};
use myriad_store::{KeyRef, Selection};

use crate::share::is_storing_prevented;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::CachePlace;
use myriad_store::page::Page;
use myriad_store::page::{NO_VARIANT, write_variant};

/// Returns the header fields that the fetch of a request's page sends to the origin; `None` if all fields of the
/// request are sent unchanged. `previous` is the page that the fetch replaces.
pub(crate) fn of(
    request: &Request,
    cache: &CachePlace,
    previous: Option<&Page>,
) -> Option<SharedFetchFields> {
    let rules = &cache.rules;
    if rules.shared_fetch.sends_request_unmodified(rules.device_class) {
        return None;
    }
    let varies = known_rule(request, cache, previous);
    let has_body = !request.upload.body.is_empty() || request.upload.buffered.is_some();
    rules.shared_fetch.fields_for_origin(
        request.received.head.fields(),
        has_body,
        &varies,
        rules.device_class,
    )
}

/// Returns the fields by which the page of a request is known to vary; empty if unknown.
fn known_rule(request: &Request, cache: &CachePlace, previous: Option<&Page>) -> VaryRule {
    if cache.rules.ignore.vary {
        return VaryRule::default();
    }
    let of_previous = previous.and_then(Page::selection).map(|selection| selection.selector.to_vec());
    let selector = of_previous.or_else(|| request.cache.varies.clone()).or_else(|| stored(request, cache));
    selector.and_then(|selector| VaryRule::parse([&selector[..]]).ok()).unwrap_or_default()
}

/// Returns the names of the fields by which stored pages under the request's key vary, separated by commas; `None` if
/// no page with variants is stored.
fn stored(request: &Request, cache: &CachePlace) -> Option<Vec<u8>> {
    let seen = RefCell::new(None);
    cache.zone.zone.peek_variant(KeyRef::new(&request.cache.key), |selector, variant| {
        seen.replace(Some(selector.to_vec()));
        write_variant(selector, request.received.head.fields(), variant);
    });
    seen.into_inner()
}

/// Returns whether a response is another variant than the request needs, because the fetch omitted header fields of the
/// request. False for a request that must not be sent again.
pub(crate) fn is_other_variant(request: &Request, selection: Option<&Selection>) -> bool {
    let Some(selection) = selection.filter(|_| is_repeatable(request)) else { return false };
    let mut own = Vec::new();
    write_variant(&selection.selector, request.received.head.fields(), &mut own);
    *own != *NO_VARIANT && *own != *selection.variant
}

/// Returns whether the client's own request must be sent, because the response cannot be shared and was requested
/// without input of the client: without its cookies, or with another value (or none) of a field that the client sent
/// and that `Vary` names, other than `Accept-Encoding`. True for an invalid `Vary` and `Vary: *`.
///
/// False if `shared_headers` is `None` (the request was sent unmodified), for a 5xx or 429 status, and for a request
/// that must not be sent again.
pub(crate) fn omits_own_fields(
    request: &Request,
    cache: &CachePlace,
    shared_headers: Option<&SharedFetchFields>,
    status: u16,
    answer: &Fields,
) -> bool {
    let Some(told) = shared_headers.filter(|_| status < 500 && status != 429 && is_repeatable(request))
    else {
        return false;
    };
    let fields = request.received.head.fields();
    if cache.rules.shared_fetch.hides_cookies(fields) {
        return true;
    }
    match VaryRule::parse(answer.known_all(Known::Vary)) {
        Ok(rule) => rule.names().any(|name| {
            let (own, sent) = (fields.get(name), told.fields.get(name));
            name != b"accept-encoding" && own.is_some() && own != sent
        }),
        Err(_) => true,
    }
}

/// Returns whether the request may be sent to the origin twice: its method is GET or HEAD, or it is processed as GET.
pub(crate) fn is_repeatable(request: &Request) -> bool {
    request.route.as_get || matches!(request.received.head.method(), Method::Get | Method::Head)
}

/// Returns whether the request must be sent to the origin with all its fields, and its response not be shared: the
/// response will not be stored (`*_no_cache`), or the request must not be sent twice and a shared fetch would omit its
/// cookies. Always false if `shared_fetch_headers` is off.
pub(crate) fn is_fetched_alone(
    exchange: &mut Exchange,
    cache: &CachePlace,
) -> Result<bool, myriad_script::EvalError> {
    let shared = &cache.rules.shared_fetch;
    if !shared.on {
        return Ok(false);
    }
    let request = &exchange.request;
    Ok(!is_repeatable(request) && shared.hides_cookies(request.received.head.fields())
        || is_storing_prevented(exchange, cache)?)
}
