//! The markup is cut out of a page while it is stored: what is stored is everybody's page.

use bytes::Bytes;
use myriad_encode::coding_from_token;
use myriad_esi::{Collected, Cut, Cutter, Limits, Said};
use myriad_exchange::exchange::Request;
use myriad_http::{Known, ResponseHead};
use myriad_log::Level;
use myriad_page::Page;

use super::{hosts, rules};

/// The field of our own.
const OWN: &[u8] = b"x-myriad-esi";

/// What the origin of an answer says of its markup; none where it has none, or `esi` is off.
pub(super) fn said(request: &Request, head: &ResponseHead) -> Option<Said> {
    rules::of(request)?;
    let fields = &head.fields;
    // What is coded in a way that nobody here undoes cannot be read; a part of a page is not read.
    let is_opaque = fields.known_all(Known::ContentEncoding).any(|token| coding_from_token(token).is_none());
    if is_opaque || head.status == 206 {
        return None;
    }
    Said::of(
        fields.known_all(Known::SurrogateControl),
        fields.get_all(OWN),
        fields.known_all(Known::XLiteSpeedCacheControl),
    )
}

/// Returns true if the answer has markup that this server reads.
pub(crate) fn is_marked(request: &Request, head: &ResponseHead) -> bool {
    said(request, head).is_some()
}

/// Whether a stored page is to be filled for everybody, so that it must come in identity.
pub(crate) fn is_filled(cut: &[u8]) -> bool {
    !cut.is_empty() && Cut::is_filled(cut)
}

/// What is kept with a page that has no markup: why it has none, where its origin says so. Nothing in most cases.
pub(crate) fn uncut(request: &Request, head: &ResponseHead) -> Vec<u8> {
    let why = rules::of(request).and_then(|_| myriad_esi::why(head.fields.get_all(OWN)));
    Cut { why, ..Cut::default() }.encode()
}

/// A page that is cut as it comes.
pub(crate) struct Cutting {
    cutter: Cutter,
    collected: Collected,
    said: Said,
    /// Why it is no known visitor's, as its origin says.
    why: Option<Box<[u8]>>,
}

impl Cutting {
    /// Begins with the page of that head; none where it has no markup.
    pub(crate) fn begin(request: &Request, head: &ResponseHead) -> Option<Self> {
        let said = said(request, head)?;
        Some(Self { why: myriad_esi::why(head.fields.get_all(OWN)), ..Self::of(request, said) })
    }

    /// Begins with a page of which that is said.
    pub(super) fn of(request: &Request, said: Said) -> Self {
        let includes = rules::of(request).map_or(0, |rules| rules.includes);
        let host = request.received.head.known(Known::Host).unwrap_or_default().into();
        let cutter = Cutter::new(&said, Limits { includes, host });
        Self { cutter, collected: Collected::default(), said, why: None }
    }

    /// What is kept with the page while it is on its way.
    pub(crate) fn to_come(&self) -> &'static [u8] {
        if self.said.known { b"" } else { Cut::TO_COME }
    }

    /// What a piece of the page leaves.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Bytes {
        self.cutter.push(piece, &mut self.collected);
        Bytes::from(std::mem::take(&mut self.collected.text))
    }

    /// The rest of the page, and what was cut out of it.
    pub(crate) fn finish(mut self, request: &Request) -> (Bytes, Cut) {
        let refused = self.cutter.finish(&mut self.collected);
        let Collected { text, mut holes, .. } = self.collected;
        if refused.is_something() {
            let uri = request.sent_uri().unwrap_or_default().escape_ascii();
            request.log(
                Level::Error,
                format_args!(
                    "ESI in \"{uri}\": {} includes are too many (esi_max_includes), {} are of no path of this host, {} tags are not closed",
                    refused.too_many, refused.foreign, refused.unclosed
                ),
            );
            // Without a part of theirs the page is no known visitor's.
            if self.said.known {
                holes.clear();
                self.why = Some((*b"an include is refused").into());
            }
        }
        let known = self.said.known && !refused.is_something();
        if known {
            hosts::speaks(&request.route.host, myriad_net::clock::now_ms());
        }
        (Bytes::from(text), Cut { known, joint: self.said.joint, holes, why: self.why })
    }
}

/// What was cut out of a stored page; none where nothing was.
pub(super) fn cut_of(page: &Page) -> Option<Cut> {
    Cut::decode(page.meta().cut(), page.body_len())
}
