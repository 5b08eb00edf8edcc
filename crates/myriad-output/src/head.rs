//! Response head without the fields that the place adds.

use myriad_encode::Coding;
use myriad_http::head::reason_phrase;
use myriad_http::lines::copy_lines;
use myriad_net::Head;
use smallvec::SmallVec;

use super::date::write_date_line;
use super::headers::expires::is_decorated;
use myriad_exchange::exchange::{Answer, MadeFrom, Request};
use myriad_exchange::runtime::Place;

/// Starts the head: the status line and the fields of the server.
pub(super) fn begin(request: &Request, place: &Place, answer: &Answer) -> Head {
    let reason = answer.reason.as_deref().unwrap_or_else(|| reason_phrase(answer.status));
    let mut head = Head::new(answer.status, reason);
    let (server, date) =
        if answer.own_head { (answer.has(b"server"), answer.has(b"date")) } else { (false, false) };
    if !server {
        head.lines(&place.headers.own.server_line);
    }
    if let Some(line) = &place.headers.own.hsts_line
        && request.came_by_https()
    {
        // Before the fields of the site: browsers use the first (RFC 6797 section 8.1).
        head.lines(line);
    }
    let alternatives = &place.headers.own.alt_svc;
    if !alternatives.is_empty() && request.received.connection.tls().is_some() && !answer.has(b"alt-svc") {
        head.lines(alternatives);
    }
    if !date {
        write_date_line(request.received.at_ms, &mut |line| head.lines(line));
    }
    head
}

/// Makes the current fields of the response available to `$sent_http_*`.
pub(super) fn tell(request: &mut Request, place: &Place, answer: &Answer) {
    let mut said = begin(request, place, answer);
    write_fields(place, answer, false, &mut said);
    request.outcome.answered.fields = said.fields().to_vec();
}

/// Returns the media type if the head contains one; a status without a body has none.
pub(super) fn media_type(answer: &Answer) -> Option<&[u8]> {
    answer.media_type().filter(|_| says_type(answer))
}

fn says_type(answer: &Answer) -> bool {
    !matches!(answer.status, 204 | 304)
}

/// Writes the fields of the response itself. `expires` is set if the place's `expires` replaces its freshness fields.
pub(super) fn write_fields(place: &Place, answer: &Answer, expires: bool, head: &mut Head) {
    let left_out = &left_out(place, answer, expires);
    let bodiless = matches!(answer.status, 204 | 304) || answer.status < 200;
    if let Some(media_type) = &answer.media_type
        && says_type(answer)
        && !media_type.is_empty()
    {
        head.field(b"Content-Type", media_type);
    }
    if let (Some(length), false) = (answer.known_length(), bodiless) {
        head.number(b"Content-Length", length);
    }
    if let MadeFrom::Page(page) = &answer.made_from {
        let meta = page.meta();
        if let Some((text, _)) = meta.last_modified()
            && !left_out.contains(&LAST_MODIFIED)
        {
            head.field(b"Last-Modified", text);
        }
        if answer.status == 206 {
            // A stored page may contain a `Content-Range` that does not apply to this part.
            let mut left_out = left_out.clone();
            left_out.push(b"content-range");
            copy_lines(meta.lines(), &left_out, |lines| head.lines(lines));
        } else {
            copy_lines(meta.lines(), left_out, |lines| head.lines(lines));
        }
    } else if let MadeFrom::File(entry) = &answer.made_from
        && let Some(file) = entry.file()
        && matches!(answer.status, 200 | 206 | 304)
        && !left_out.contains(&LAST_MODIFIED)
    {
        head.field(b"Last-Modified", &file.modified);
    }
    if let Some(tag) = answer.tag(place.files.etag)
        && !left_out.contains(&ETAG)
    {
        head.lines(b"ETag: ");
        tag.write(answer.encoding(), head.text());
        head.lines(b"\r\n");
    }
    if answer.coding != Coding::Identity && answer.status != 304 {
        head.field(b"Content-Encoding", answer.coding.as_str().as_bytes());
    }
    if answer.varies_by_encoding && place.offer.vary {
        head.lines(b"Vary: Accept-Encoding\r\n");
    }
    if answer.ranges && answer.status == 200 && place.files.max_ranges != 0 {
        head.lines(b"Accept-Ranges: bytes\r\n");
    }
    if let Some(age) = answer.age_s {
        head.number(b"Age", age);
    }
    copy_lines(&answer.lines, left_out, |lines| head.lines(lines));
}

/// `Last-Modified`, as named in [`HeaderRules::replaced`](myriad_exchange::runtime::HeaderRules::replaced).
pub(super) const LAST_MODIFIED: &[u8] = b"last-modified";
/// `ETag`, likewise.
pub(super) const ETAG: &[u8] = b"etag";

/// Names of response fields that are replaced, in lower case.
type LeftOut = SmallVec<[&'static [u8]; 6]>;

fn left_out(place: &Place, answer: &Answer, expires: bool) -> LeftOut {
    let mut names = LeftOut::new();
    if answer.media_type.is_some() && matches!(answer.made_from, MadeFrom::Page(_)) {
        names.push(b"content-type");
    }
    if expires {
        names.extend([&b"expires"[..], b"cache-control"]);
    }
    // The origin may have a cache that sends `X-Cache` too.
    if place.headers.debug.as_ref().is_some_and(|debug| debug.debug && !debug.said_already) {
        names.push(b"x-cache");
    }
    let decorated = is_decorated(answer.status);
    names.extend(
        place.headers.replaced.iter().filter(|(_, always)| decorated || *always).map(|(name, _)| *name),
    );
    names
}
