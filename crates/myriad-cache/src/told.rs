//! What the fetch of a page for everybody tells its origin of the visitor who caused it ([`myriad_policy::SharedFetch`]).
//!
//! A page may vary by a field that its fetch did not send, which is known only when its head is there. Then what came is the
//! page of those who do not send the field; a visitor who does asks again, and is told apart, since by then it is known what
//! the page varies by:
//!
//! ```text
//! look-up -> nothing known -> fetch tells listed fields -> Vary: Accept-Language -> stored for "no language"
//!                                                          |
//!            visitor said "de" <-----------------------------'
//! claim   -> known to vary by language -> fetch tells "de" as well -> stored for "de"
//! ```

use std::cell::RefCell;

use myriad_http::{Fields, Known, Method};
use myriad_policy::{Told, VaryRule};
use myriad_store::{KeyRef, Selection};

use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::CachePlace;
use myriad_page::Page;
use myriad_page::{NO_VARIANT, write_variant};

/// What the fetch of a request's page tells its origin; none where that is the request as it came. `previous` is the page that
/// it is to replace.
pub(crate) fn of(request: &Request, cache: &CachePlace, previous: Option<&Page>) -> Option<Told> {
    let rules = &cache.rules;
    if rules.shared_fetch.is_everything_told(rules.device_class) {
        return None;
    }
    let varies = known_rule(request, cache, previous);
    let has_body = !request.upload.body.is_empty() || request.upload.gathered.is_some();
    rules.shared_fetch.told(request.received.head.fields(), has_body, &varies, rules.device_class)
}

/// By which fields the page of a request is known to vary.
fn known_rule(request: &Request, cache: &CachePlace, previous: Option<&Page>) -> VaryRule {
    if cache.rules.ignore.vary {
        return VaryRule::default();
    }
    let of_previous = previous.and_then(Page::selection).map(|selection| selection.selector.to_vec());
    let selector = of_previous.or_else(|| request.cache.varies.clone()).or_else(|| stored(request, cache));
    selector.and_then(|selector| VaryRule::parse([&selector[..]]).ok()).unwrap_or_default()
}

/// The fields by which what is stored under the request's key varies.
fn stored(request: &Request, cache: &CachePlace) -> Option<Vec<u8>> {
    let seen = RefCell::new(None);
    cache.zone.zone.glance(KeyRef::new(&request.cache.key), |selector, variant| {
        seen.replace(Some(selector.to_vec()));
        write_variant(selector, request.received.head.fields(), variant);
    });
    seen.into_inner()
}

/// Whether an answer that was made without what the visitor said is of no use to them: it is another variant than theirs.
pub(crate) fn is_of_others(request: &Request, selection: Option<&Selection>) -> bool {
    let Some(selection) = selection.filter(|_| is_repeatable(request)) else { return false };
    let mut own = Vec::new();
    write_variant(&selection.selector, request.received.head.fields(), &mut own);
    *own != *NO_VARIANT && *own != *selection.variant
}

/// Whether an answer that is not for everybody was made without what makes it this visitor's: their cookies, or a field that
/// it varies by. A failure is no answer to begin with.
pub(crate) fn hides_own(
    request: &Request,
    cache: &CachePlace,
    told: Option<&Told>,
    status: u16,
    answer: &Fields,
) -> bool {
    let Some(told) = told.filter(|_| status < 500 && status != 429 && is_repeatable(request)) else {
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

/// Whether it may be asked again what was asked already.
fn is_repeatable(request: &Request) -> bool {
    request.route.as_get || matches!(request.received.head.method(), Method::Get | Method::Head)
}

/// Whether the request is asked of the origin by itself, with everything that it says: its answer will not be stored, or what
/// it says must not be asked twice.
pub(crate) fn is_asked_alone(
    exchange: &mut Exchange,
    cache: &CachePlace,
) -> Result<bool, myriad_script::EvalError> {
    let shared = &cache.rules.shared_fetch;
    if !shared.on {
        return Ok(false);
    }
    let Exchange { request, frame } = exchange;
    Ok(!is_repeatable(request) && shared.hides_cookies(request.received.head.fields())
        || cache.no_cache.any_true(request, frame)?)
}
