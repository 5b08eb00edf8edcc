//! What changes a body on its way to the client, in nginx's order:
//!
//! ```text
//! content -> gunzip -> sub_filter -> charset -> ssi -> (gzip, br, zstd) -> client
//! ```
//!
//! Each filter wraps the body that is pulled, mends the head of the answer, and holds no more than a fixed window of
//! the bytes. A place without filters pays one branch for all of this.

mod gunzip;
mod recode;
mod source;
mod ssi;
mod substitute;
mod transform;

use myriad_encode::Coding;
use myriad_http::body::BoxBody;
use myriad_log::Level;
use myriad_net::ResponseBody;
use myriad_script::Frame;

pub(crate) use recode::Converter;
pub(crate) use source::pulled;
pub(crate) use ssi::apply as include;
pub(crate) use transform::{Transform, transformed};

use self::gunzip::Gunzip;
use self::substitute::{Pair, Substitute};
use super::{Answer, charset, line_named};
use crate::content::streamed::proxied_facts;
use crate::exchange::{Exchange, Request};
use crate::runtime::{BodyFilters, SubRules, TypeSet};

impl BodyFilters {
    /// Whether an answer of that media type (without parameters) would be changed, so that it must come in identity.
    pub(crate) fn change(&self, media_type: &[u8]) -> bool {
        self.converts
            || self.ssi.as_ref().is_some_and(|rules| rules.types.cover(media_type))
            || self.sub.as_ref().is_some_and(|rules| rules.types.cover(media_type))
    }
}

impl BodyFilters {
    /// Which directives may change an answer of that media type, in the order in which they do.
    pub(crate) fn names(&self, media_type: &[u8]) -> Vec<&'static str> {
        let covers = |types: &TypeSet| types.cover(media_type);
        let filters = [
            ("gunzip", self.gunzip),
            ("sub_filter", self.sub.as_ref().is_some_and(|rules| covers(&rules.types))),
            ("charset_map", self.converts),
            ("ssi", self.ssi.as_ref().is_some_and(|rules| covers(&rules.types))),
        ];
        filters.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect()
    }
}

/// Lays the filters of the place over an answer that is about to be sent.
pub(crate) fn apply(request: &Request, frame: &mut Frame, filters: &BodyFilters, answer: &mut Answer) {
    if matches!(answer.status, 204 | 304) || answer.status < 200 {
        return;
    }
    if filters.gunzip {
        gunzip(request, answer);
    }
    if let Some(rules) = &filters.sub {
        substitute(request, frame, rules, answer);
    }
}

/// What of an answer its parent gets, where it is a subrequest's: the body, changed by the filters of its place, and
/// never packed.
pub(crate) fn body_of_subrequest(exchange: &mut Exchange, mut answer: Answer) -> BoxBody {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.place);
    if matches!(answer.status, 204 | 304) {
        return pulled(ResponseBody::None);
    }
    gunzip(&exchange.request, &mut answer);
    let Exchange { request, frame } = &mut *exchange;
    if let Some(filters) = &place.filters {
        apply(request, frame, filters, &mut answer);
    }
    if let Some(rules) = &place.charset {
        charset::apply(request, frame, rules, &mut answer);
    }
    if place.filters.is_some() {
        include(exchange, &mut answer);
    }
    pulled(answer.body)
}

fn is_packed(answer: &Answer) -> bool {
    answer.coding != Coding::Identity || line_named(&answer.lines, b"content-encoding").is_some()
}

/// Wraps the body of an answer whose head says what it now is, but for its length.
fn wrap(answer: &mut Answer, transform: impl Transform + 'static) {
    let body = std::mem::replace(&mut answer.body, ResponseBody::None);
    answer.body = ResponseBody::Stream(transformed(pulled(body), transform), None);
    answer.length = None;
    answer.ranges = false;
    answer.compressible = !is_packed(answer);
    answer.without(&[b"accept-ranges"]);
}

/// Lays the conversion of a charset over an answer.
pub(crate) fn convert(request: &Request, answer: &mut Answer, converter: Converter, keeps_length: bool) {
    let length = answer.known_length();
    if keeps_length && length.is_some() {
        // A byte for a byte: nobody but the reader of the text can tell, and parts may still be cut out.
        answer.body = match std::mem::replace(&mut answer.body, ResponseBody::None) {
            ResponseBody::Full(bytes) => ResponseBody::Full(converter.whole(&bytes)),
            body => ResponseBody::Stream(transformed(pulled(body), converter), length),
        };
        answer.compressible = true;
        return;
    }
    answer.detach(request.place().files.etag);
    wrap(answer, converter);
}

fn gunzip(request: &Request, answer: &mut Answer) {
    let by_origin = line_named(&answer.lines, b"content-encoding")
        .is_some_and(|token| token.eq_ignore_ascii_case(b"gzip"));
    // A part of what is packed cannot be unpacked.
    if answer.coding != Coding::Gzip && !by_origin || answer.status == 206 {
        return;
    }
    answer.varies_by_encoding = true;
    if super::accepted(request, proxied_facts(request, answer)).contains(Coding::Gzip) {
        return;
    }
    answer.detach(request.place().files.etag);
    answer.coding = Coding::Identity;
    answer.without(&[b"content-encoding"]);
    answer.weaken_tag();
    wrap(answer, Gunzip::new());
}

fn substitute(request: &Request, frame: &mut Frame, rules: &SubRules, answer: &mut Answer) {
    // What is packed holds no text to be found.
    if answer.known_length() == Some(0) || is_packed(answer) || !rules.types.cover(answer.bare_media_type()) {
        return;
    }
    let mut pairs = Vec::with_capacity(rules.pairs.len());
    for (pattern, replacement) in &rules.pairs {
        let mut pair = Pair { pattern: Vec::new(), replacement: Vec::new() };
        let evaluated = pattern
            .eval(request, frame, &mut pair.pattern)
            .and_then(|()| replacement.eval(request, frame, &mut pair.replacement));
        match evaluated {
            Ok(()) => pairs.push(pair),
            // The page itself is sound.
            Err(error) => request.log(Level::Error, format_args!("sub_filter: {error}")),
        }
    }
    let Some(filter) = Substitute::new(pairs, rules.once) else { return };
    answer.detach(request.place().files.etag);
    if rules.last_modified {
        answer.weaken_tag();
    } else {
        answer.without(&[b"last-modified", b"etag"]);
    }
    wrap(answer, filter);
}
