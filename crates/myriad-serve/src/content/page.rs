//! Stored pages: made from an origin's answer, and served.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use myriad_encode::{Coding, CodingSet, Level, StreamDecoder, coding_from_token, compress};
use myriad_http::cache_control::CacheControl;
use myriad_http::date::parse_http_date;
use myriad_http::uri::parse_host;
use myriad_http::{Fields, Known, ResponseHead};
use myriad_net::ResponseBody;
use myriad_policy::{Encoding, EntityTag, Lifetime, Rules, StoredFields, Subject, Tags, Told, VaryRule};
use myriad_store::{ALTERNATIVES, Alternative, Body, Segments, Selection};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64_with_seed};

use super::nominated::Nominated;
use super::{cached, origin};
use crate::exchange::{Exchange, Request};
use crate::output::{self, Answer, Source};
use crate::runtime::{
    Marks, OriginPlace, Page, PageFacts, PageMeta, PageView, Parts, ProxiedFacts, STRONG_GZIP, TextEnds,
    alternative, slot,
};

/// Most bytes of a page that are compressed on the worker's own time, as it is stored.
const INLINE: u64 = 256 << 10;
/// Most bytes of a page that are compressed at all.
const COMPRESSED_AT_MOST: u64 = 8 << 20;
/// Hits after which gzip's strong level is worth making.
const HOT: u32 = 8;
/// Most bytes that a page compressed by its origin may become.
const DECODED_AT_MOST: u64 = 64 << 20;
/// Bytes of it that come out at once.
const DECODED_WINDOW: usize = 64 << 10;

/// What is kept of an origin's head.
pub(crate) fn meta_of(
    head: &ResponseHead,
    place: &OriginPlace,
    rules: &Rules,
    lifetime: Lifetime,
    now: u64,
    marks: &Marks,
) -> PageMeta {
    let fields = &head.fields;
    let coding = origin_coding(head);
    let mut lines = Vec::with_capacity(512);
    let nominated = Nominated::of(fields);
    for (known, name, value) in StoredFields::new(fields, rules).iter() {
        let own_line = matches!(known, Some(Known::ETag | Known::LastModified))
            || is_undone(known, coding.is_some(), head.status)
            // It is counted on from here.
            || known == Some(Known::Age);
        if !own_line && !nominated.has(name) && origin::passes(known, name, place, false) {
            // An origin's own spelling of it, such as PHP's, is not sent from elsewhere either.
            lines.extend_from_slice(if known == Some(Known::ContentType) { b"Content-Type" } else { name });
            lines.extend_from_slice(b": ");
            lines.extend_from_slice(value);
            lines.extend_from_slice(b"\r\n");
        }
    }
    let control = CacheControl::parse(fields.known_all(Known::CacheControl));
    let media_type = fields.known(Known::ContentType).unwrap_or_default();
    let media_type = media_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let modified = fields.known(Known::LastModified);
    let modified = modified.and_then(|text| Some((text, parse_http_date(text, now / 1000)?)));
    let tag = fields.known(Known::ETag);
    let tag = tag.and_then(|value| EntityTag::from_origin(value, coding.unwrap_or(Coding::Identity)));
    let parts = Parts {
        lines: &lines,
        marks: marks.borrowed(),
        media_type: &media_type.to_ascii_lowercase(),
        last_modified: modified.map_or(b"", |(text, _)| text),
        reason: &unusual_reason(head),
    };
    let facts = PageFacts {
        status: head.status,
        ends: TextEnds::of(&parts),
        kept_proxied: (ProxiedFacts {
            expired: fields.known(Known::Expires).map(|text| super::streamed::is_expired(text, now / 1000)),
            has_cache_control: fields.has(Known::CacheControl),
            no_cache: control.no_cache,
            no_store: control.no_store,
            private: control.private,
            has_last_modified: modified.is_some(),
            has_etag: tag.is_some(),
        })
        .into(),
        tag,
        modified_s: modified.map_or(0, |(_, seconds)| seconds),
        redirects: place.http.as_ref().is_some_and(|http| !http.redirects.is_empty())
            && (fields.has(Known::Location) || fields.has(Known::Refresh)),
        origin_encoded: coding.is_some(),
        no_transform: control.no_transform || is_opaque(&head.fields),
        kept_lifetime: lifetime.into(),
    };
    PageMeta::new(facts, parts.join())
}

/// The reason phrase, unless it is the one that the status has anyway: then nothing is kept, nor looked at by a hit.
fn unusual_reason(head: &ResponseHead) -> Cow<'_, str> {
    if *head.reason == *myriad_http::head::reason_phrase(head.status).as_bytes() {
        return Cow::Borrowed("");
    }
    String::from_utf8_lossy(&head.reason)
}

/// What purges will find the answer to a request by.
pub(crate) fn marks_of(request: &Request, head: &ResponseHead) -> Marks {
    let tags = Tags::of(&head.fields);
    if tags.overflown() {
        let text =
            "upstream sent more tags than a page may have (512, or 16 KB): any purge of tags will cover it";
        request.log(myriad_log::Level::Warn, format_args!("{text}"));
    }
    let marks = Marks::new(request.scheme(), &request.host, &target_of(request), &tags);
    match own_port(request) {
        Some(port) => marks.with_port(port),
        None => marks,
    }
}

/// The port that the page is of: one that its key holds, as it stands in `Host`. None where it is the scheme's own, or where
/// visitors of all ports share the page.
fn own_port(request: &Request) -> Option<u16> {
    let sent = request.head.known(Known::Host)?;
    let usual = if request.scheme() == "https" { 443 } else { 80 };
    let port = parse_host(sent).ok()?.port.filter(|port| *port != usual)?;
    request.cache.key.windows(sent.len()).any(|part| part == sent).then_some(port)
}

/// The labels that purges of the request's URL look for.
pub(crate) fn address_of(request: &Request) -> [u64; 2] {
    Subject::new(request.scheme().as_bytes(), &request.host, &target_of(request)).address()
}

/// Path and query as the visitor sent them, whatever rules made of them. An include is of its own URI.
fn target_of(request: &Request) -> Cow<'_, [u8]> {
    let own = || match &request.args[..] {
        b"" => request.uri.clone(),
        args => [&request.uri[..], b"?", args].concat(),
    };
    match request.sent_uri() {
        Some(sent) if !request.is_subrequest() || request.slice.get().is_some() => Cow::Borrowed(sent),
        _ => Cow::Owned(own()),
    }
}

/// What is said here by whoever serves the page: its coding, and the parts that may be had of it.
fn is_undone(known: Option<Known>, decoded: bool, status: u16) -> bool {
    match known {
        Some(Known::AcceptRanges) => decoded || status == 200,
        Some(Known::ContentEncoding | Known::ContentRange) => decoded,
        _ => false,
    }
}

/// Coded in a way that cannot be undone here: served as it is, to everyone.
pub(crate) fn is_opaque(fields: &Fields) -> bool {
    fields.known_all(Known::ContentEncoding).any(|token| coding_from_token(token).is_none())
}

/// The coding that the origin used, where it can be undone.
pub(crate) fn origin_coding(head: &ResponseHead) -> Option<Coding> {
    let coding = coding_from_token(head.known(Known::ContentEncoding)?)?;
    (coding != Coding::Identity).then_some(coding)
}

/// A decoder for an origin's coding.
pub(crate) fn decoder(coding: Coding) -> Option<StreamDecoder> {
    StreamDecoder::new(coding, DECODED_AT_MOST).ok()
}

/// The next of what a piece comes to as it is stored, undone where the origin coded it: at most some [`DECODED_WINDOW`] bytes, for
/// few may come to gigabytes. Takes off `piece` what it has read; the flag says that all of it has come out.
pub(crate) fn decoded(
    decoder: Option<&mut StreamDecoder>,
    piece: &mut Bytes,
) -> Result<(Bytes, bool), myriad_encode::DecodeError> {
    let Some(decoder) = decoder else { return Ok((std::mem::take(piece), true)) };
    let mut out = Vec::with_capacity((piece.len() * 4).min(DECODED_WINDOW));
    let (taken, drained) = decoder.push_up_to(piece, &mut out, DECODED_WINDOW)?;
    piece.advance(taken);
    // What is held is what is counted.
    out.shrink_to_fit();
    Ok((Bytes::from(out), drained))
}

/// Which variant an answer is, by its `Vary` and what its origin was told; `apart` where it lies with those for other codings.
pub(crate) fn selection(
    fields: &Fields,
    rules: &Rules,
    request: &Request,
    told: Option<&Told>,
    apart: bool,
) -> Option<Selection> {
    if rules.ignore.vary {
        return None;
    }
    let mut rule = VaryRule::of(fields, rules).ok()?;
    if let Some(told) = told {
        rule = rule.and(&told.varies);
    }
    let rule = Some(if apart { rule.by_codings() } else { rule }).filter(|rule| !rule.is_empty())?;
    let selector = rule.names().collect::<Vec<_>>().join(&b","[..]);
    let mut variant = Vec::new();
    let sent = told.map_or(request.head.fields(), |told| &told.fields);
    cached::write_variant(&selector, sent, &mut variant);
    Some(Selection { selector: selector.into(), variant: variant.into() })
}

/// Whether the fields that an answer varies by are too long in its request for the variant to be told from others.
pub(crate) fn is_untellable(selection: Option<&Selection>) -> bool {
    selection.is_some_and(|selection| *selection.variant == *cached::NO_VARIANT)
}

/// A strong tag from the bytes.
pub(crate) fn tag_of(body: &Body) -> EntityTag {
    let mut hash = Xxh3Default::new();
    body.segments().iter().for_each(|segment| hash.update(segment));
    EntityTag::made(hash.digest())
}

/// The encodings of a page whose refresh brought the same bytes.
pub(crate) fn alternatives_of(page: &Page) -> [Option<Alternative<u8>>; ALTERNATIVES] {
    std::array::from_fn(|index| {
        let known = page.alternative(index as u8)?;
        Some(Alternative { bytes: known.bytes.clone(), meta: known.meta })
    })
}

/// gzip at its fast level, made as the page is stored, where the place offers it.
pub(crate) fn first_encodings(
    exchange: &Exchange,
    meta: PageView<'_>,
    body: &Body,
) -> [Option<Alternative<u8>>; ALTERNATIVES] {
    let mut alternatives = [const { None }; ALTERNATIVES];
    let offer = &exchange.request.place().offer;
    let offered = meta.origin_encoded
        || offer.gzip.as_ref().is_some_and(|rules| rules.fit(meta.media_type(), Some(body.len())));
    if offered && !meta.no_transform && meta.status != 206 && (1..=INLINE).contains(&body.len()) {
        alternatives[usize::from(slot(Coding::Gzip))] = encode(body, Coding::Gzip, Level::Fast);
    }
    alternatives
}

fn encode(body: &Body, coding: Coding, level: Level) -> Option<Alternative<u8>> {
    let contiguous: Cow<'_, [u8]> = match body.segments() {
        [one] => Cow::Borrowed(one),
        segments => Cow::Owned(segments.concat()),
    };
    let bytes = compress(coding, level, &contiguous).ok()?;
    Some(Alternative { bytes: Bytes::from(bytes.into_boxed_slice()), meta: level.number(coding) })
}

/// Serves a stored page in the best encoding at hand, and has a better one made.
pub(crate) fn answer(request: &Request, origin: &OriginPlace, page: Page) -> Answer {
    let meta = page.meta();
    let length = page.body_len();
    let filters = request.place().filters.as_ref();
    let filtered = filters.is_some_and(|filters| filters.change(meta.media_type()));
    let coding = if meta.no_transform || length == 0 || filtered || meta.status == 206 {
        Coding::Identity
    } else {
        let encodings =
            output::encodings(request, meta.media_type(), Some(length), meta.proxied(), meta.origin_encoded);
        let parts = request.head.fields().has(Known::Range) && encodings.allowed.contains(Coding::Identity);
        let coding = if parts { Coding::Identity } else { choose(request, origin, &page, &encodings) };
        return body_of(page, coding, encodings.varies);
    };
    body_of(page, coding, false)
}

fn choose(request: &Request, origin: &OriginPlace, page: &Page, encodings: &output::Encodings) -> Coding {
    let wanted = encodings.wanted();
    if wanted == Coding::Identity {
        return Coding::Identity;
    }
    let strong = match wanted {
        Coding::Gzip => page.alternative(STRONG_GZIP).is_some() || page.hits() < HOT,
        coding => page.alternative(slot(coding)).is_some(),
    };
    if !strong && page.body_len() <= COMPRESSED_AT_MOST && page.stored_body().is_none() {
        queue(request, origin, page, wanted);
    }
    let mut available = CodingSet::EMPTY.with(Coding::Identity);
    for coding in [Coding::Gzip, Coding::Brotli, Coding::Zstd] {
        if alternative(page, coding).is_some() {
            available.insert(coding);
        }
    }
    encodings.best(available).unwrap_or(Coding::Identity)
}

/// Has an encoding made in the background; it attaches to this generation of the page only.
fn queue(request: &Request, origin: &OriginPlace, page: &Page, coding: Coding) {
    let Some(cache) = origin.cache.of(request.cache.chosen) else { return };
    let zone = Arc::clone(&cache.zone);
    let page = page.clone();
    let index = if coding == Coding::Gzip { STRONG_GZIP } else { slot(coding) };
    // A generation is one of its zone.
    let key =
        xxh3_64_with_seed(&page.generation().to_le_bytes(), Arc::as_ptr(&zone) as u64 ^ u64::from(index));
    request.site.worker.encoder.submit(key, move || {
        if page.alternative(index).is_none()
            && let Some(encoded) = encode(&page.body(), coding, Level::Strong)
        {
            // Gone, or another was quicker: both are well.
            let _ = zone.zone.attach(&page, index, encoded);
        }
    });
}

fn body_of(page: Page, coding: Coding, varies: bool) -> Answer {
    let mut answer = Answer::new(page.meta().status, ResponseBody::None);
    if !page.meta().reason().is_empty()
        && *page.meta().reason() != *myriad_http::head::reason_phrase(page.meta().status)
    {
        answer.reason = Some(page.meta().reason().into());
    }
    answer.coding = coding;
    answer.varies_by_encoding = varies;
    answer.ranges = coding == Coding::Identity && page.meta().status == 200;
    answer.body = match alternative(&page, coding) {
        Some(encoded) => {
            answer.uncompressed = page.body_len();
            ResponseBody::Full(encoded.bytes.clone())
        }
        None => match page.body().into_segments() {
            Segments::One(bytes) => ResponseBody::Full(bytes),
            Segments::Several(segments) => ResponseBody::Parts(segments),
        },
    };
    answer.source = Source::Page(page);
    answer
}

/// The head of a page that is still arriving, its body to be set.
pub(crate) fn answer_of_head(meta: PageView<'_>) -> Answer {
    let mut answer = Answer::new(meta.status, ResponseBody::None);
    // What it is recognised by is known only when all of it is there.
    answer.judged = true;
    answer.media_type =
        output::line_named(meta.lines(), b"content-type").map(|value| Cow::Owned(value.to_vec()));
    output::copy_lines(meta.lines(), &[b"content-type"], |line| answer.lines.extend_from_slice(line));
    if let Some((text, _)) = meta.last_modified() {
        answer.field(b"Last-Modified", text);
    }
    // The pieces of an answer are told to be of one whole by it.
    if let (206, Some(tag)) = (meta.status, &meta.facts.tag) {
        let mut text = Vec::new();
        tag.write(Encoding::IDENTITY, &mut text);
        answer.field(b"ETag", &text);
    }
    answer
}
