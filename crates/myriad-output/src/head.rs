//! Response head, without the fields that the location adds.

use myriad_encode::Coding;
use myriad_http::head::reason_phrase;
use myriad_http::lines::copy_lines;
use myriad_net::ResponseText;
use smallvec::SmallVec;

use super::date::write_date_line;
use super::headers::expires::is_decorated;
use myriad_exchange::exchange::{ContentResponse, Request, ResponseSource};
use myriad_exchange::runtime::Place;

/// Starts the head: the status line, and the fields of the server (`Server`, `Strict-Transport-Security`, `Alt-Svc`,
/// `Date`). `Server` and `Date` are omitted if the fields of the origin are sent instead (`own_head`), and `Alt-Svc` if
/// the response already has it. `Strict-Transport-Security` requires a client that uses HTTPS, and `Alt-Svc` a TLS
/// connection.
pub(super) fn begin(request: &Request, place: &Place, answer: &ContentResponse) -> ResponseText {
    let reason = answer.reason.as_deref().unwrap_or_else(|| reason_phrase(answer.status));
    let mut head = ResponseText::new(answer.status, reason);
    let (server, date) =
        if answer.own_head { (answer.has(b"server"), answer.has(b"date")) } else { (false, false) };
    if !server {
        head.append_lines(&place.headers.own.server_line);
    }
    if let Some(line) = &place.headers.own.hsts_line
        && request.is_https_from_client()
    {
        // `Strict-Transport-Security` of this server precedes a field of the site: browsers use the first (RFC 6797
        // section 8.1).
        head.append_lines(line);
    }
    let alternatives = &place.headers.own.alt_svc;
    if !alternatives.is_empty() && request.received.connection.tls().is_some() && !answer.has(b"alt-svc") {
        head.append_lines(alternatives);
    }
    if !date {
        write_date_line(request.received.at_ms, &mut |line| head.append_lines(line));
    }
    head
}

/// Makes the current fields of the response available to `$sent_http_*`.
pub(super) fn publish_fields(request: &mut Request, place: &Place, answer: &ContentResponse) {
    let mut head = begin(request, place, answer);
    write_fields(place, answer, false, &mut head);
    request.outcome.head.fields = head.fields().to_vec();
}

/// Returns the media type that the head of the response contains; `None` for a response without a media type, and for a
/// 204 or 304.
pub(super) fn media_type(answer: &ContentResponse) -> Option<&[u8]> {
    answer.media_type().filter(|_| has_media_type(answer))
}

fn has_media_type(answer: &ContentResponse) -> bool {
    !matches!(answer.status, 204 | 304)
}

/// Appends the fields of the response itself. `expires` is true if the directive `expires` sets `Expires` and
/// `Cache-Control`; these fields of the response are then omitted.
pub(super) fn write_fields(place: &Place, answer: &ContentResponse, expires: bool, head: &mut ResponseText) {
    let left_out = &left_out(place, answer, expires);
    let bodiless = matches!(answer.status, 204 | 304) || answer.status < 200;
    if let Some(media_type) = &answer.media_type
        && has_media_type(answer)
        && !media_type.is_empty()
    {
        head.append_field(b"Content-Type", media_type);
    }
    if let (Some(length), false) = (answer.known_length(), bodiless) {
        head.append_number(b"Content-Length", length);
    }
    if let ResponseSource::Page(page) = &answer.source {
        let meta = page.meta();
        if let Some((text, _)) = meta.last_modified()
            && !left_out.contains(&LAST_MODIFIED)
        {
            head.append_field(b"Last-Modified", text);
        }
        if answer.status == 206 {
            // A stored page may have a `Content-Range` of its own, which does not apply to this range.
            let mut left_out = left_out.clone();
            left_out.push(b"content-range");
            copy_lines(meta.lines(), &left_out, |lines| head.append_lines(lines));
        } else {
            copy_lines(meta.lines(), left_out, |lines| head.append_lines(lines));
        }
    } else if let ResponseSource::File(entry) = &answer.source
        && let Some(file) = entry.file()
        && matches!(answer.status, 200 | 206 | 304)
        && !left_out.contains(&LAST_MODIFIED)
    {
        head.append_field(b"Last-Modified", &file.modified);
    }
    if let Some(tag) = answer.tag(place.files.etag)
        && !left_out.contains(&ETAG)
    {
        head.append_lines(b"ETag: ");
        tag.write(answer.encoding(), head.text_mut());
        head.append_lines(b"\r\n");
    }
    if answer.coding != Coding::Identity && answer.status != 304 {
        head.append_field(b"Content-Encoding", answer.coding.as_str().as_bytes());
    }
    if answer.varies_by_encoding && place.offer.vary {
        head.append_lines(b"Vary: Accept-Encoding\r\n");
    }
    if answer.ranges && answer.status == 200 && place.files.max_ranges != 0 {
        head.append_lines(b"Accept-Ranges: bytes\r\n");
    }
    if let Some(age) = answer.age_s {
        head.append_number(b"Age", age);
    }
    copy_lines(&answer.lines, left_out, |lines| head.append_lines(lines));
}

/// Name of the field `Last-Modified`, as it is listed in
/// [`HeaderRules::replaced`](myriad_exchange::runtime::HeaderRules::replaced).
pub(super) const LAST_MODIFIED: &[u8] = b"last-modified";
/// Name of the field `ETag`, as it is listed in
/// [`HeaderRules::replaced`](myriad_exchange::runtime::HeaderRules::replaced).
pub(super) const ETAG: &[u8] = b"etag";

/// Names of response fields that are omitted because others replace them, in lower case.
type ReplacedNames = SmallVec<[&'static [u8]; 6]>;

fn left_out(place: &Place, answer: &ContentResponse, expires: bool) -> ReplacedNames {
    let mut names = ReplacedNames::new();
    if answer.media_type.is_some() && matches!(answer.source, ResponseSource::Page(_)) {
        names.push(b"content-type");
    }
    if expires {
        names.extend([&b"expires"[..], b"cache-control"]);
    }
    // The origin may have a cache that also sends `X-Cache`.
    if place.headers.debug.as_ref().is_some_and(|debug| debug.debug && !debug.has_x_cache) {
        names.push(b"x-cache");
    }
    let decorated = is_decorated(answer.status);
    names.extend(
        place.headers.replaced.iter().filter(|(_, always)| decorated || *always).map(|(name, _)| *name),
    );
    names
}
