//! Response to a client from a stored page.

use myriad_http::lines::{copy_lines, line_named};
use std::borrow::Cow;
use std::sync::Arc;

use myriad_encode::Coding;
use myriad_http::Known;
use myriad_net::ResponseBody;
use myriad_policy::PageEncoding;
use myriad_store::Segments;

use super::encodings::choose;
use crate::esi;
use myriad_exchange::exchange::{ContentResponse, Request, ResponseSource};
use myriad_store::page::{Page, PageView, PageZone, alternative};

/// Builds the response from a stored page in the best available encoding. If a better encoding is missing, its
/// compression is queued.
pub(crate) fn answer(request: &Request, zone: &Arc<PageZone>, page: Page) -> ContentResponse {
    let meta = page.meta();
    let length = page.body_len();
    let filtered = request.place().filters.change(meta.media_type()) || esi::is_filled(meta.cut());
    let coding = if meta.no_transform || length == 0 || filtered || meta.status != 200 && is_plain(meta) {
        Coding::Identity
    } else {
        let encodings = myriad_output::encodings(
            request,
            meta.media_type(),
            Some(length),
            meta.proxied(),
            meta.origin_encoded,
        );
        let parts =
            request.received.head.fields().has(Known::Range) && encodings.allowed.contains(Coding::Identity);
        let coding = if parts { Coding::Identity } else { choose(request, zone, &page, &encodings) };
        return body_of(page, coding, encodings.varies);
    };
    body_of(page, coding, false)
}

/// Returns whether the page is sent without content coding because of its status. A page that its origin compressed may
/// be sent with a coding for any status except 206.
#[cold]
fn is_plain(meta: PageView<'_>) -> bool {
    !myriad_output::is_compressed(meta.status) && (!meta.origin_encoded || meta.status == 206)
}

fn body_of(page: Page, coding: Coding, varies: bool) -> ContentResponse {
    let mut answer = ContentResponse::new(page.meta().status, ResponseBody::None);
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
    answer.source = ResponseSource::Page(page);
    answer
}

/// Returns the response for a page in flight, from its head. The caller sets the body.
pub(crate) fn answer_of_head(meta: PageView<'_>) -> ContentResponse {
    let mut answer = ContentResponse::new(meta.status, ResponseBody::None);
    // The entity tag is only known once the whole page has arrived.
    answer.conditions_evaluated = true;
    answer.media_type = line_named(meta.lines(), b"content-type").map(|value| Cow::Owned(value.to_vec()));
    copy_lines(meta.lines(), &[b"content-type"], |line| {
        answer.lines.extend_from_slice(line);
    });
    if let Some((text, _)) = meta.last_modified() {
        answer.field(b"Last-Modified", text);
    }
    // With a tag, clients can verify that partial responses belong to the same representation.
    if let (206, Some(tag)) = (meta.status, &meta.facts.tag) {
        let mut text = Vec::new();
        tag.write(PageEncoding::IDENTITY, &mut text);
        answer.field(b"ETag", &text);
    }
    answer
}
