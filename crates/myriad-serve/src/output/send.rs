//! The last step of every exchange: conditions, ranges, the head.

use bytes::Bytes;
use myriad_encode::Coding;
use myriad_http::date::parse_http_date;
use myriad_http::head::reason_phrase;
use myriad_http::{Known, Method, Version};
use myriad_net::{Head, Rate, Response, ResponseBody};
use myriad_policy::{Condition, Encoding, EntityTag, judge_conditions};
use myriad_script::Frame;
use smallvec::SmallVec;

use super::date::write_date_line;
use super::expires::{is_decorated, write_expires};
use super::{Answer, Source, copy_lines, error_body};
use super::{allow, cache_debug, charset, filters, keepalive, ranges, slice, trailers};
use crate::content::streamed;
use crate::exchange::{Exchange, Request, scratch, variables};
use crate::runtime::Place;

/// Turns an answer into the response that the driver sends.
pub(crate) fn send(mut exchange: Box<Exchange>, mut answer: Answer) -> Response<Box<Exchange>> {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.place);
    if exchange.request.slice.get().is_some() {
        slice::apply(&mut exchange, &mut answer);
    }
    if answer.dropped {
        exchange.request.answered.status = answer.status;
        let mut response = Response::new(Head::new(answer.status, ""), ResponseBody::None, exchange);
        response.drop_connection = true;
        response.close = true;
        response.timeouts = place.timeouts;
        return response;
    }
    let Exchange { frame, request } = &mut *exchange;
    if let Some(carried) = request.carried.take() {
        answer.media_type = carried.media_type.map(Into::into).or(answer.media_type);
        answer.lines.extend_from_slice(&carried.lines);
        if let Some(location) = carried.location.filter(|_| !answer.has(b"location")) {
            answer.field(b"Location", &location);
        }
    }
    let encoding = judge(request, place, &mut answer);
    let now_s = request.received_ms / 1000;
    let modified_s = if place.headers.expires.reads_change() { answer.modified_s(now_s) } else { None };
    if let Some(filters) = &place.filters
        && !matches!(answer.body, ResponseBody::Tunnel(_))
    {
        filters::apply(request, frame, filters, &mut answer);
    }
    if let Some(rules) = &place.charset {
        if site.runtime.reads_sent_fields {
            // `charset $map` may ask for the type that it names one for.
            tell_fields(request, place, &answer, encoding);
            request.answered.unnamed_type =
                answer.media_type().filter(|_| says_type(&answer)).map(Into::into);
        }
        charset::apply(request, frame, rules, &mut answer);
    }
    if place.filters.is_some() {
        filters::include(&mut exchange, &mut answer);
    }
    let Exchange { frame, request } = &mut *exchange;
    streamed::encode(request, &mut answer);
    let uncut = answer.status;
    cut(request, frame, place, &mut answer);
    let wants_trailers = answer.passes_trailers || !place.headers.trailers.is_empty();
    let has_trailers = wants_trailers && trailers::expect(request, place, &mut answer);
    let mut head = begin_head(request, place, &answer);
    if site.runtime.reads_sent_fields {
        // `expires $map` and `add_header` may ask for fields of the answer itself.
        tell_fields(request, place, &answer, encoding);
    }
    request.answered.status = answer.status;
    let expires =
        is_decorated(answer.status) && write_expires(request, frame, modified_s, now_s, head.text());
    if expires || place.headers.says_freshness {
        // It counts from now on, whatever the age of the page.
        answer.age_s = None;
    }
    write_fields(place, &answer, encoding, &left_out(place, &answer, expires), &mut head);
    // As nginx, which adds fields before it looks at ranges.
    let decorated = if answer.status == 416 { uncut } else { answer.status };
    add_fields(request, frame, place, decorated, &mut head);
    allow::add(request, &answer, &mut head);
    if let Some(rules) = &place.headers.debug {
        cache_debug::add(request, rules, &mut head);
    }
    keep_facts(request, &answer, &head);
    let rate = rate(request, frame, place, &answer);
    let close = answer.close && !shares_connection(request) || keepalive::ends(request, &place.keepalive);
    let postponed = answer.postponed;
    let mut response = Response::new(head, answer.body, exchange);
    response.close = close;
    response.chunked = place.chunked;
    response.keepalive_header_s = place.keepalive_header_s;
    response.timeouts = place.timeouts;
    response.rate = rate;
    response.frame = place.frame;
    response.postponed = postponed;
    response.trailers = has_trailers.then_some(trailers::write);
    response
}

/// Whether other requests are under way on the connection, which need not end with this one whatever it was.
fn shares_connection(request: &Request) -> bool {
    matches!(request.head.version(), Version::Http2 | Version::Http3)
}

/// Applies the status of an `error_page` and judges conditions. Returns the encoding of what is at hand.
fn judge(request: &Request, place: &Place, answer: &mut Answer) -> Encoding {
    if let Some(status) = request.forced_status {
        answer.status = status;
        answer.reason = None;
    }
    let encoding = ranges::encoding(answer);
    // What an origin answers to this visitor alone was judged by the origin.
    if !is_whole(request, answer) || answer.judged {
        return encoding;
    }
    let now_s = request.received_ms / 1000;
    let validators = ranges::validators(answer, answer.tag(place.files.etag), now_s);
    match judge_conditions(request.head.fields(), &validators, place.files.if_modified_since, now_s) {
        Condition::Pass => encoding,
        Condition::NotModified => {
            answer.status = 304;
            answer.reason = None;
            answer.body = ResponseBody::None;
            encoding
        }
        Condition::Failed => {
            plain_error(place, answer, 412);
            Encoding::IDENTITY
        }
    }
}

/// Whether conditions and ranges of the request are for this answer.
fn is_whole(request: &Request, answer: &Answer) -> bool {
    answer.status == 200 && matches!(request.head.method(), Method::Get | Method::Head)
}

/// Cuts the parts out that the client asks for.
fn cut(request: &Request, frame: &mut Frame, place: &Place, answer: &mut Answer) {
    if answer.ranges && request.head.fields().has(Known::Range) && is_whole(request, answer) {
        let now_s = request.received_ms / 1000;
        let own = answer.own_tag();
        let tag = own.as_ref().or_else(|| answer.tag(place.files.etag));
        let mut validators = ranges::validators(answer, tag, now_s);
        // What the client has of an earlier answer is what `add_header` has put there.
        let said = |frame: &mut Frame, name| said_instead(request, frame, place, name);
        if let Some(modified) = said(frame, LAST_MODIFIED) {
            validators.last_modified_s = parse_http_date(&modified, now_s);
        }
        let replaced = said(frame, ETAG).map(|tag| EntityTag::from_origin(&tag, answer.coding));
        if let Some(tag) = &replaced {
            validators.tag = tag.as_ref();
        }
        let plan = ranges::plan(request, answer, &validators);
        if let Err(content_range) = ranges::apply(answer, &plan) {
            plain_error(place, answer, 416);
            answer.field(b"Content-Range", content_range.as_bytes());
        }
    }
}

/// The value that `add_header` puts in the place of the answer's own; empty where it takes the field away.
fn said_instead(request: &Request, frame: &mut Frame, place: &Place, name: &[u8]) -> Option<Vec<u8>> {
    place.headers.replaced.iter().find(|(replaced, _)| *replaced == name)?;
    let mut value = Vec::new();
    let mut added = place.headers.add.iter().filter(|field| field.is_added(true));
    if let Some(field) = added.find(|field| field.name.eq_ignore_ascii_case(name)) {
        field.value.eval(request, frame, &mut value).ok()?;
    }
    Some(value)
}

fn plain_error(place: &Place, answer: &mut Answer, status: u16) {
    let mut error = Answer::new(status, ResponseBody::None);
    error.media_type = Some(b"text/html"[..].into());
    error.body = ResponseBody::Full(Bytes::from(error_body(status, &place.headers.server_name)));
    *answer = error;
}

fn begin_head(request: &Request, place: &Place, answer: &Answer) -> Head {
    let reason = answer.reason.as_deref().unwrap_or_else(|| reason_phrase(answer.status));
    let mut head = Head::new(answer.status, reason);
    let (server, date) =
        if answer.own_head { (answer.has(b"server"), answer.has(b"date")) } else { (false, false) };
    if !server {
        head.lines(&place.headers.server_line);
    }
    if let Some(line) = &place.headers.hsts_line
        && request.came_by_https()
    {
        // Ahead of what a site says itself: browsers take the first (RFC 6797 section 8.1).
        head.lines(line);
    }
    let alternatives = &place.headers.alt_svc;
    if !alternatives.is_empty() && request.connection.tls().is_some() && !answer.has(b"alt-svc") {
        head.lines(alternatives);
    }
    if !date {
        write_date_line(request.received_ms, &mut |line| head.lines(line));
    }
    head
}

/// Has `$sent_http_*` read what the answer says so far.
fn tell_fields(request: &mut Request, place: &Place, answer: &Answer, encoding: Encoding) {
    let mut said = begin_head(request, place, answer);
    write_fields(place, answer, encoding, &left_out(place, answer, false), &mut said);
    request.answered.fields = said.fields().to_vec();
}

fn says_type(answer: &Answer) -> bool {
    !matches!(answer.status, 204 | 304)
}

/// The fields of the answer itself.
fn write_fields(place: &Place, answer: &Answer, encoding: Encoding, left_out: &LeftOut, head: &mut Head) {
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
    if let Source::Page(page) = &answer.source {
        let meta = page.meta();
        if let Some((text, _)) = meta.last_modified()
            && !left_out.contains(&LAST_MODIFIED)
        {
            head.field(b"Last-Modified", text);
        }
        if answer.status == 206 {
            // A whole page may have kept one that says nothing of this part.
            let mut left_out = left_out.clone();
            left_out.push(b"content-range");
            copy_lines(meta.lines(), &left_out, |lines| head.lines(lines));
        } else {
            copy_lines(meta.lines(), left_out, |lines| head.lines(lines));
        }
    } else if let Source::File(entry) = &answer.source
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
        tag.write(encoding, head.text());
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

const LAST_MODIFIED: &[u8] = b"last-modified";
const ETAG: &[u8] = b"etag";

/// Fields of the answer that something else has taken the place of, lower case.
type LeftOut = SmallVec<[&'static [u8]; 6]>;

fn left_out(place: &Place, answer: &Answer, expires: bool) -> LeftOut {
    let mut names = LeftOut::new();
    if answer.media_type.is_some() && matches!(answer.source, Source::Page(_)) {
        names.push(b"content-type");
    }
    if expires {
        names.extend([&b"expires"[..], b"cache-control"]);
    }
    // An origin may have a cache of its own.
    if place.headers.debug.as_ref().is_some_and(|debug| !debug.said_already) {
        names.push(b"x-cache");
    }
    let decorated = is_decorated(answer.status);
    names.extend(
        place.headers.replaced.iter().filter(|(_, always)| decorated || *always).map(|(name, _)| *name),
    );
    names
}

/// `add_header`; each may read the fields before it (`$sent_http_*`).
fn add_fields(request: &mut Request, frame: &mut Frame, place: &Place, status: u16, head: &mut Head) {
    let rules = &place.headers;
    let decorated = is_decorated(status);
    let read = request.site.runtime.reads_sent_fields;
    for field in rules.add.iter().filter(|field| field.is_added(decorated)) {
        // Recipes say themselves what a packed copy is; it is said already.
        if request.packed && field.name.eq_ignore_ascii_case(b"Content-Encoding") {
            continue;
        }
        if let Some(value) = field.value.as_static() {
            head.field(&field.name, value);
            continue;
        }
        if read {
            request.answered.fields.clear();
            request.answered.fields.extend_from_slice(head.fields());
        }
        scratch::with_buffer(|value| {
            // A header that cannot be evaluated is left out: the answer itself is sound.
            if field.value.eval(request, frame, value).is_ok() && !value.is_empty() {
                value.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
                head.field(&field.name, value);
            }
        });
    }
}

fn keep_facts(request: &mut Request, answer: &Answer, head: &Head) {
    request.answered.coding = answer.coding;
    request.answered.uncompressed = answer.uncompressed;
    // Logs and trailers may read them, if only through a map.
    if request.site.runtime.reads_sent_fields {
        request.answered.fields = head.fields().to_vec();
        // As nginx, whose logs see the charset too.
        request.answered.unnamed_type = None;
    }
}

/// `limit_rate`, `X-Accel-Limit-Rate` and `set $limit_rate`.
fn rate(request: &Request, frame: &mut Frame, place: &Place, answer: &Answer) -> Option<Rate> {
    let said = answer.limit_rate.or(request.limit_rate);
    if said.is_none() && place.rates.is_none() {
        return None;
    }
    let mut evaluate = |template: &myriad_script::Template| {
        scratch::with_buffer(|text| {
            template.eval(request, frame, text).ok()?;
            variables::parse_size(text)
        })
    };
    let rates = place.rates.as_ref();
    let bytes_per_second = said.or_else(|| rates.and_then(|rates| evaluate(&rates.rate)))?;
    let after = rates.and_then(|rates| evaluate(&rates.after)).unwrap_or(0);
    (bytes_per_second > 0).then_some(Rate { bytes_per_second, after })
}
