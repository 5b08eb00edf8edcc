//! Requests that use the cache although their method or `*_cache_bypass` excludes them (`*_cache_share`).
//!
//! An application may answer certain requests identically for all visitors without personal data, such as the
//! request of a script for the contents of a cart that is empty. These requests may be POST, or match a general rule
//! (`*_cache_bypass`) that sends similar requests to the application. The conditions of `*_cache_share` are evaluated
//! only for such requests, so that they cost nothing for other requests.

use myriad_http::Method;
use myriad_net::RequestBody;
use myriad_policy::{Admission, BypassReason, RequestFacts, bypass};
use myriad_script::EvalError;

use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::CachePlace;

/// Maximum length in bytes of a body that is read for the conditions (`$request_body`). Requests with a longer body do
/// not use the cache.
const MAX_BODY: u64 = 64;

/// Returns whether the body of a POST request must be read before the conditions of `*_cache_share` are evaluated: the
/// method is the reason for which the cache is bypassed, there are conditions, and the body has a known length of 1 to
/// [`MAX_BODY`] bytes.
pub(crate) fn needs_body(request: &Request, cache: &CachePlace, reason: BypassReason) -> bool {
    reason == BypassReason::Method
        && !cache.share.is_empty()
        && request.received.head.method() == Method::Post
        && !request.upload.body.is_empty()
        && request.upload.body.length().is_some_and(|length| length <= MAX_BODY)
}

/// Returns whether a request that bypasses the cache for `reason` uses it nevertheless: a condition of `*_cache_share`
/// is true, and the method is GET, HEAD or POST, without a body that is still to be read. If so, `*_cache_bypass` and
/// `*_no_cache` no longer apply to it, and a POST is processed as a GET without body.
///
/// Rules that protect visitors still apply: personal cookies, `Authorization`, upgrades.
pub(crate) fn applies(
    exchange: &mut Exchange,
    cache: &CachePlace,
    reason: BypassReason,
) -> Result<bool, EvalError> {
    if !matches!(reason, BypassReason::Method | BypassReason::Condition) {
        return Ok(false);
    }
    let Exchange { request, frame } = exchange;
    let head = &request.received.head;
    // A body that is still to be read is too long for `$request_body`.
    if !matches!(head.method(), Method::Get | Method::Head | Method::Post) || !request.upload.body.is_empty()
    {
        return Ok(false);
    }
    // At a second look-up of the same request, the body that the conditions read is no longer available.
    if !request.cache.shared_by_condition && !cache.share.any_true(request, frame)? {
        return Ok(false);
    }
    let facts =
        RequestFacts { method: Method::Get, fields: head.fields(), has_body: false, cache_bypass: false };
    if bypass(&facts, &cache.rules).is_some() {
        return Ok(false);
    }
    request.cache.shared_by_condition = true;
    if head.method() == Method::Post {
        request.route.as_get = true;
        request.upload.body = RequestBody::empty();
        request.upload.length = Some(0);
        request.upload.buffered = None;
    }
    // A later request that is equal in the parts that the rules read may differ in parts that these conditions read.
    request.shortcut.depends_on_more.set(true);
    Ok(true)
}

/// Returns whether the response to a request of [`applies`] would be stored, but sets no lifetime itself. Such a
/// response must not be stored: the upstream has to permit sharing by a lifetime, because the validity in the
/// configuration is meant for other pages.
pub(crate) fn is_unapproved(request: &Request, admission: &Admission) -> bool {
    request.cache.shared_by_condition
        && matches!(admission, Admission::Store(lifetime) if !lifetime.source.is_from_response())
}

/// Returns whether a condition of `*_no_cache` is true, so that the response is not stored. The conditions do not apply
/// to a request for which [`applies`] returned true.
pub(crate) fn is_storing_prevented(exchange: &mut Exchange, cache: &CachePlace) -> Result<bool, EvalError> {
    let Exchange { request, frame } = exchange;
    Ok(!request.cache.shared_by_condition && cache.no_cache.any_true(request, frame)?)
}
