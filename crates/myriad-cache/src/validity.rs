//! `*_cache_valid` with variables: the lifetime is evaluated when a response arrives.

use std::borrow::Cow;

use myriad_conf::parse_time_ms;
use myriad_http::ResponseHead;
use myriad_log::LogLevel;
use myriad_policy::CachePolicy;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::CachePlace;

/// Returns the cache rules of the location. If the `*_cache_valid` lifetime for `status` contains variables, it is
/// evaluated for the response with this head. An empty, invalid or failed value is 0, so that a response without its
/// own validity is not stored; an invalid or failed value is logged.
pub(crate) fn rules<'a>(
    exchange: &mut Exchange,
    cache: &'a CachePlace,
    head: &ResponseHead,
    status: u16,
) -> Cow<'a, CachePolicy> {
    let found = cache.valid_texts.as_ref().zip(cache.rules.valid_at(status));
    let Some((at, text)) = found.and_then(|(texts, at)| Some((at, texts[at].as_ref()?))) else {
        return Cow::Borrowed(&cache.rules);
    };
    // The lifetime may depend on the origin's response.
    exchange.request.origin_mut().head = Some(head.clone());
    let Exchange { request, frame } = exchange;
    let mut time = Vec::new();
    let evaluated = text.eval(request, frame, &mut time);
    let ms = match evaluated {
        Ok(()) if time.is_empty() => 0,
        Ok(()) => std::str::from_utf8(&time).ok().and_then(parse_time_ms).unwrap_or_else(|| {
            let time = time.escape_ascii();
            request.log(LogLevel::Error, format_args!("invalid validity time \"{time}\" of a response"));
            0
        }),
        Err(error) => {
            request.log(LogLevel::Error, format_args!("{error}"));
            0
        }
    };
    let mut rules = cache.rules.clone();
    rules.valid[at].ms = ms;
    Cow::Owned(rules)
}
