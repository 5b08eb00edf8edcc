//! `Age` (RFC 9111 section 5.1).

use myriad_http::Known;
use myriad_policy::CacheStatus;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::OriginPlace;

/// Returns the value of `Age` in seconds for a page that was generated at `born` (in ms since the epoch).
///
/// `None` if the page was revalidated for this request, if it was fetched for this request and the origin sent no
/// `Age`, or if the configuration hides the field.
pub(crate) fn age_s(exchange: &Exchange, origin: &OriginPlace, born: u64) -> Option<u64> {
    let request = &exchange.request;
    if request.cache.report.status == Some(CacheStatus::Revalidated)
        || origin.answer.hide.iter().any(|hidden| **hidden == *b"age")
    {
        return None;
    }
    let head = request.origin.as_ref().and_then(|facts| facts.head.as_ref());
    if request.cache.lookup.fetched && !head.is_some_and(|head| head.fields.has(Known::Age)) {
        return None;
    }
    let now = request.received.at_ms.max(myriad_net::clock::now_ms());
    Some(now.saturating_sub(born) / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{head, held, keyed, site};

    fn age(directives: &str, prepare: impl FnOnce(&mut Exchange)) -> Option<u64> {
        let mut exchange = keyed(&site(directives), &[]);
        prepare(&mut exchange);
        let born = exchange.request.received.at_ms - 100_000;
        age_s(&exchange, &held(&exchange).origin, born)
    }

    #[test]
    fn cached_page_has_age_in_seconds() {
        assert!(age("", |_| ()).is_some_and(|seconds| (100..110).contains(&seconds)));
    }

    #[test]
    fn fetched_or_revalidated_page_has_no_age() {
        assert_eq!(age("", |exchange| exchange.request.cache.lookup.fetched = true), None);
        let confirmed = |exchange: &mut Exchange| {
            exchange.request.cache.report.status = Some(CacheStatus::Revalidated);
        };
        assert_eq!(age("", confirmed), None);
    }

    #[test]
    fn age_from_origin_is_continued() {
        let fetched = |exchange: &mut Exchange| {
            exchange.request.cache.lookup.fetched = true;
            exchange.request.origin_mut().head = Some(head(200, &[("Age", "100")]));
        };
        assert!(age("", fetched).is_some());
    }

    #[test]
    fn hidden_age_is_not_sent() {
        assert_eq!(age("fastcgi_hide_header Age;", |_| ()), None);
    }
}
