//! Storing of files that this server makes itself without a response of an origin, such as copies of images.

use std::sync::Arc;

use bytes::Bytes;
use myriad_exchange::exchange::Exchange;
use myriad_net::clock::now_ms;
use myriad_policy::Tags;
use myriad_store::page::{
    PageFacts, PageMarks, PageMeta, PageZone, ProxiedFacts, StoredDuration, TextEnds, TextParts,
};
use myriad_store::{Admission, KeyRef};

use crate::complete::complete;
use crate::made_page::lifetime;

/// Stores a file that this server has generated, with its media type, under the cache key `key`. `path` is the path on
/// the request's host by which purges find the file. The file is fresh for `valid_ms` milliseconds. `unsent` contains
/// field lines that are stored, but not sent to clients.
pub(crate) fn store_file(
    exchange: &Exchange,
    zone: &PageZone,
    (key, path): (&[u8], &[u8]),
    (media_type, body): (&[u8], Bytes),
    unsent: &[u8],
    valid_ms: u64,
) {
    let (request, now) = (&exchange.request, now_ms());
    let marks = PageMarks::new(request.scheme(), &request.route.host, path, &Tags::parse(b""));
    let lines = [b"Content-Type: ", media_type, b"\r\n"].concat();
    let parts = TextParts {
        lines: &lines,
        marks: marks.borrowed(),
        media_type,
        last_modified: b"",
        reason: "",
        unsent,
        cut: b"",
        history: b"",
    };
    let facts = PageFacts {
        status: 200,
        ends: TextEnds::of(&parts),
        stored_proxied: ProxiedFacts::default().into(),
        tag: None,
        modified_s: 0,
        redirects: false,
        origin_encoded: false,
        no_transform: false,
        stored_lifetime: lifetime(valid_ms, now).into(),
        response_time: StoredDuration::default(),
    };
    let meta = PageMeta::new(facts, parts.join());
    let writer = zone.zone.fetch_unshared(KeyRef::new(key), now);
    let length = Some(body.len() as u64);
    let mut writer = writer.admit(Admission { head: Arc::new(meta.clone()), selection: None, length });
    writer.push(body);
    complete(exchange, zone, writer, meta);
}
