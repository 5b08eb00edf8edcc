//! Asking an origin to confirm a stored page instead of sending it again (`*_cache_revalidate`, RFC 9111 section 4.3).

use myriad_http::{Fields, Known, Method, ResponseHead};
use myriad_policy::{
    Admission, EntityTag, Refusal, ResponseFacts, Rules, StoredFields, Tags, VaryRule, is_updated,
    revalidated,
};
use myriad_store::{Completion, FlightWriter};

use crate::arrival::Arrival;
use crate::origin_fields;
use crate::page;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::OriginPlace;
use myriad_page::{Marks, Page, PageMeta, PageView};

/// What a 304 came to.
pub(crate) enum Confirmed {
    /// The page is served, fresh again or as stale as it was.
    Page,
    /// What came with the 304 is for one visitor alone, and why: they ask for themselves.
    Personal(Option<Refusal>),
}

/// The origin has confirmed the page that the fetch was to replace.
///
/// nginx sends the stored fields as they were; RFC 9111 section 3.2 wants them brought up to date with those of the 304.
pub(crate) fn confirm(
    exchange: &Exchange,
    place: &OriginPlace,
    rules: &Rules,
    writer: FlightWriter<PageMeta>,
    head: &ResponseHead,
    arrival: Arrival,
) -> Confirmed {
    let Some(stored) = writer.previous().cloned() else { return Confirmed::Personal(None) };
    let tags = Tags::of(&head.fields);
    let updated = rules.rfc9111.then(|| updated(stored.meta(), head, rules));
    if updated.is_some() && varies_otherwise(&stored, head, rules) {
        writer.uncacheable(arrival.now, 0);
        return Confirmed::Personal(None);
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
                // The stored body is as it was stored, whatever the place may compress by now.
                let meta = page::meta_of(updated, place, rules, lifetime, arrival.now, &marks, None);
                let meta = renewed(stored.meta(), meta);
                origin_fields::keep(&exchange.request, meta, &head.fields, stored.meta().unsent())
            } else {
                let mut meta = stored.meta().to_owned();
                meta.facts.kept_lifetime = lifetime.into();
                meta
            };
            meta.facts.took = stored.meta().took;
            let alternatives = page::alternatives_of(&stored);
            let now = arrival.now;
            writer.renew(Completion { meta, now, fresh_until: lifetime.fresh_until, alternatives });
            Confirmed::Page
        }
        Admission::Refuse(why) if why.protects_visitors() => {
            writer.uncacheable(arrival.now, 0);
            Confirmed::Personal(Some(why))
        }
        Admission::Refuse(_) => {
            writer.keep();
            Confirmed::Page
        }
    }
}

/// The stored head with the fields of a 304 in the place of its own.
fn updated(stored: PageView<'_>, head: &ResponseHead, rules: &Rules) -> ResponseHead {
    let mut fields = stored_fields(stored);
    let kept = StoredFields::new(&head.fields, rules);
    let news = || kept.iter().filter(|(known, ..)| is_updated(*known));
    for (_, name, _) in news() {
        fields.remove(name);
    }
    // Personal cookies are judged, and go no further.
    for cookie in head.fields.known_all(Known::SetCookie) {
        fields.push_known(Known::SetCookie, cookie);
    }
    for (_, name, value) in news() {
        fields.push(name, value);
    }
    let reason = stored.reason().as_bytes().into();
    ResponseHead { reason, fields, ..ResponseHead::new(stored.status) }
}

/// The fields that a stored page has kept.
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

/// What purges find the page by: the tags of its 304 take the place of its own, if it has any.
fn marks_of(stored: PageView<'_>, tags: &Tags) -> Marks {
    if tags.is_empty() { stored.marks().to_owned() } else { stored.marks().with_tags(tags) }
}

/// What is known of the body stays: a 304 brings none.
fn renewed(stored: PageView<'_>, mut meta: PageMeta) -> PageMeta {
    let for_origin = |tag: &Option<EntityTag>| tag.as_ref().and_then(EntityTag::for_origin);
    if for_origin(&stored.tag) == for_origin(&meta.facts.tag) {
        meta.facts.tag.clone_from(&stored.tag);
    }
    meta.facts.origin_encoded = stored.origin_encoded;
    if stored.cut().is_empty() { meta } else { meta.with_cut(stored.cut()) }
}

/// Whether a 304 says that the answer varies by other fields than the stored page: its variant is in doubt then.
fn varies_otherwise(stored: &Page, head: &ResponseHead, rules: &Rules) -> bool {
    if rules.ignore.vary || !head.fields.has(Known::Vary) {
        return false;
    }
    let own = stored.selection().map(|selection| &selection.selector[..]);
    let own = VaryRule::parse(own).ok();
    own.is_none() || VaryRule::of(&head.fields, rules).ok() != own
}
