//! Confirmation of a stored page by a 304 response of its origin (`*_cache_revalidate`, RFC 9111 section 4.3).

use myriad_http::{Fields, Known, Method, ResponseHead};
use myriad_policy::{
    Admission, CachePolicy, EntityTag, ResponseFacts, StoreRefusal, StoredFields, Tags, VaryRule, is_updated,
    revalidated,
};
use myriad_store::{Completed, Completion, FlightWriter};

use crate::adaptive_validity;
use crate::arrival::Arrival;
use crate::journey_step::CacheContext;
#[cfg(feature = "optimizer")]
use crate::optimize;
use crate::origin_fields;
use crate::page;
use myriad_exchange::exchange::Exchange;
use myriad_store::page::{Page, PageMarks, PageMeta, PageView};

/// Effect of a 304 response on the stored page that it refers to.
pub(crate) enum Confirmation {
    /// The stored page can be served. Contains the renewed page if it was stored in memory; `None` if it remains stale, or
    /// was not stored.
    Page(Option<Page>),
    /// The 304 does not confirm the page for other clients: its fields are private to one client, for this reason, or
    /// its `Vary` differs or there is no stored page (`None`). Each client must send its own request.
    Personal(Option<StoreRefusal>),
}

/// Applies a 304 response to the page that the fetch would have replaced.
///
/// Like nginx, does not change the stored fields. Only if `cache_rfc9111` is on, the fields of the 304 update them (RFC
/// 9111 section 3.2).
pub(crate) fn confirm(
    exchange: &Exchange,
    CacheContext { origin: place, cache }: CacheContext<'_>,
    rules: &CachePolicy,
    writer: FlightWriter<PageMeta>,
    head: &ResponseHead,
    arrival: Arrival,
) -> Confirmation {
    let Some(stored) = writer.previous().cloned() else { return Confirmation::Personal(None) };
    let tags = Tags::of(&head.fields);
    let updated = rules.rfc9111.then(|| updated(stored.meta(), head, rules));
    if updated.is_some() && varies_otherwise(&stored, head, rules) {
        writer.uncacheable(arrival.now, 0);
        return Confirmation::Personal(None);
    }
    let facts = ResponseFacts {
        status: stored.meta().status,
        fields: updated.as_ref().map_or(&head.fields, |updated| &updated.fields),
        method: Method::Get,
        authorization: exchange.request.received.head.fields().has(Known::Authorization),
        personal: false,
        cookies: exchange.request.received.head.fields().has(Known::Cookie),
        no_cache: false,
        uses: u64::MAX,
        usable_page: false,
        large_request: false,
        piece: stored.meta().status == 206,
        delay_ms: arrival.delay_ms,
    };
    let confirmed = arrival
        .judged(|now, ahead_ms| revalidated(&facts, &stored.meta().lifetime().shifted(ahead_ms), rules, now));
    match confirmed {
        Admission::Store(lifetime) => {
            let mut meta = if let Some(updated) = &updated {
                let marks = marks_of(stored.meta(), &tags);
                // The stored body is unchanged, even if the location compresses other media types by now.
                let meta = page::meta_of(updated, place, rules, lifetime, arrival.now, &marks, None);
                let meta = renewed(stored.meta(), meta);
                origin_fields::store_fields(&exchange.request, meta, &head.fields, stored.meta().unsent())
            } else {
                let mut meta = stored.meta().to_owned();
                meta.facts.stored_lifetime = lifetime.into();
                meta
            };
            meta.facts.response_time = stored.meta().response_time;
            adaptive_validity::confirm(exchange, cache, &stored, &mut meta, arrival);
            let alternatives = page::alternatives_of(&stored);
            let (now, fresh_until) = (arrival.now, meta.facts.lifetime().fresh_until);
            let renewed = writer.renew(Completion { meta, now, fresh_until, alternatives });
            let page = match renewed {
                Some(Completed::Stored(page)) => Some(page),
                _ => None,
            };
            #[cfg(feature = "optimizer")]
            if let Some(page) = &page {
                optimize::after_fetch(exchange, CacheContext { origin: place, cache }, &stored, page);
            }
            Confirmation::Page(page)
        }
        Admission::Refuse(why) if why.protects_visitors() => {
            writer.uncacheable(arrival.now, 0);
            Confirmation::Personal(Some(why))
        }
        Admission::Refuse(_) => {
            writer.reuse_previous();
            Confirmation::Page(None)
        }
    }
}

/// Returns the stored head, in which the fields of a 304 replace the stored fields of the same names, except for those
/// that describe the body ([`is_updated`]). Contains the cookies of the 304 as input of the policy.
fn updated(stored: PageView<'_>, head: &ResponseHead, rules: &CachePolicy) -> ResponseHead {
    let mut fields = stored_fields(stored);
    let updated_fields = StoredFields::new(&head.fields, rules);
    let news = || updated_fields.iter().filter(|(known, ..)| is_updated(*known));
    for (_, name, _) in news() {
        fields.remove(name);
    }
    // Cookies are only input of the policy; they are not stored.
    for cookie in head.fields.known_all(Known::SetCookie) {
        fields.push_known(Known::SetCookie, cookie);
    }
    for (_, name, value) in news() {
        fields.push(name, value);
    }
    let reason = stored.reason().as_bytes().into();
    ResponseHead { reason, fields, ..ResponseHead::new(stored.status) }
}

/// Returns the header fields of a stored page, with its `Last-Modified` and, if the origin sent it, its `ETag`.
fn stored_fields(stored: PageView<'_>) -> Fields {
    let mut fields = Fields::new();
    for line in stored.lines().split(|byte| *byte == b'\n') {
        if let Some(colon) = line.iter().position(|byte| *byte == b':') {
            fields.push(&line[..colon], line[colon + 1..].trim_ascii());
        }
    }
    if let Some((text, _)) = stored.last_modified() {
        fields.push_known(Known::LastModified, text);
    }
    if let Some(tag) = stored.tag.as_ref().and_then(EntityTag::for_origin) {
        fields.push_known(Known::ETag, &tag);
    }
    fields
}

/// Returns the URL and tags by which purges find the page. Tags of a 304, if any, replace those of the page.
fn marks_of(stored: PageView<'_>, tags: &Tags) -> PageMarks {
    if tags.is_empty() { stored.marks().to_owned() } else { stored.marks().with_tags(tags) }
}

/// Copies the facts about the body from the stored page to `meta`, the metadata after a 304, because a 304 has no body.
fn renewed(stored: PageView<'_>, mut meta: PageMeta) -> PageMeta {
    let for_origin = |tag: &Option<EntityTag>| tag.as_ref().and_then(EntityTag::for_origin);
    if for_origin(&stored.tag) == for_origin(&meta.facts.tag) {
        meta.facts.tag.clone_from(&stored.tag);
    }
    meta.facts.origin_encoded = stored.origin_encoded;
    if stored.cut().is_empty() { meta } else { meta.with_cut(stored.cut()) }
}

/// Returns whether a 304 names other `Vary` fields than the stored page, so that the variant is unknown.
fn varies_otherwise(stored: &Page, head: &ResponseHead, rules: &CachePolicy) -> bool {
    if rules.ignore.vary || !head.fields.has(Known::Vary) {
        return false;
    }
    let own = stored.selection().map(|selection| &selection.selector[..]);
    let own = VaryRule::parse(own).ok();
    own.is_none() || VaryRule::of(&head.fields, rules).ok() != own
}
