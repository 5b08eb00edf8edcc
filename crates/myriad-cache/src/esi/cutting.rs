//! Cutting of ESI markup out of a page while it is stored. The stored page contains no markup and is shared by all
//! clients.

use bytes::Bytes;
use myriad_encode::coding_from_token;
use myriad_exchange::exchange::Request;
use myriad_http::{Known, ResponseHead};
use myriad_log::LogLevel;
use myriad_script::esi::{Cutter, EsiDeclaration, EsiLimits, HoleCollector, PageHoles};
use myriad_store::page::Page;

use super::{hosts, rules};

/// Response field, specific to Myriad, with properties of ESI markup that another field declares (`Surrogate-Control`,
/// `X-LiteSpeed-Cache-Control`), or with the reason why a page has no markup or must be compared.
const OWN: &[u8] = b"x-myriad-esi";

/// Returns the origin's declaration of ESI markup in a response; `None` if it declares none, if the body cannot be
/// searched for markup (unknown content coding or status 206), or if `esi` is off.
pub(super) fn declared_markup(request: &Request, head: &ResponseHead) -> Option<EsiDeclaration> {
    rules::of(request)?;
    let fields = &head.fields;
    // A body with a coding that cannot be decoded is not searched for markup, nor is a partial response.
    let is_opaque = fields.known_all(Known::ContentEncoding).any(|token| coding_from_token(token).is_none());
    if is_opaque || head.status == 206 {
        return None;
    }
    EsiDeclaration::of(
        fields.known_all(Known::SurrogateControl),
        fields.get_all(OWN),
        fields.known_all(Known::XLiteSpeedCacheControl),
    )
}

/// Returns whether the response declares ESI markup that this server can process.
pub(crate) fn is_marked(request: &Request, head: &ResponseHead) -> bool {
    declared_markup(request, head).is_some()
}

/// Returns whether the ESI holes (places of includes) of a page are filled for all clients; `cut` is the page's stored
/// data about them. Such a page is sent without content coding.
pub(crate) fn is_filled(cut: &[u8]) -> bool {
    !cut.is_empty() && PageHoles::is_filled(cut)
}

/// Returns the data about ESI holes to store with a page without markup: the origin's reason why it has none; empty if
/// the origin gave none, or `esi` is off.
pub(crate) fn data_without_markup(request: &Request, head: &ResponseHead) -> Vec<u8> {
    let why = rules::of(request).and_then(|_| myriad_script::esi::reason(head.fields.get_all(OWN)));
    PageHoles { why, ..PageHoles::default() }.encode()
}

/// Removes the ESI markup from a page while the page arrives, and collects the holes (places of includes).
pub(crate) struct Cutting {
    cutter: Cutter,
    collected: HoleCollector,
    declaration: EsiDeclaration,
    /// Reason why the page is not for known visitors, or must be compared: the origin's reason, or that an include was
    /// rejected or a tag is not closed. `None` without a reason.
    why: Option<Box<[u8]>>,
}

impl Cutting {
    /// Creates the cutter for a response with this head; `None` if it declares no ESI markup.
    pub(crate) fn begin(request: &Request, head: &ResponseHead) -> Option<Self> {
        let declaration = declared_markup(request, head)?;
        Some(Self {
            why: myriad_script::esi::reason(head.fields.get_all(OWN)),
            ..Self::of(request, declaration)
        })
    }

    /// Creates the cutter for a page whose origin has declared its ESI markup with `said`.
    pub(super) fn of(request: &Request, said: EsiDeclaration) -> Self {
        let includes = rules::of(request).map_or(0, |rules| rules.includes);
        let host = request.received.head.known(Known::Host).unwrap_or_default().into();
        let cutter = Cutter::new(&said, EsiLimits { includes, host });
        Self { cutter, collected: HoleCollector::default(), declaration: said, why: None }
    }

    /// Returns the data about ESI holes to store with the page while it is still arriving; empty for a page that is
    /// marked for known visitors.
    pub(crate) fn to_come(&self) -> &'static [u8] {
        if self.declaration.for_known_visitors { b"" } else { PageHoles::TO_COME }
    }

    /// Cuts the ESI markup from a piece of the page and returns the remaining text.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Bytes {
        self.cutter.push(piece, &mut self.collected);
        Bytes::from(std::mem::take(&mut self.collected.text))
    }

    /// Returns the rest of the text and the ESI holes of the page. Rejected includes and unclosed tags are logged; with
    /// one, a page for known visitors loses its holes and its mark. If the page retains the mark, records that its host
    /// sends such pages.
    pub(crate) fn finish(mut self, request: &Request) -> (Bytes, PageHoles) {
        let refused = self.cutter.finish(&mut self.collected);
        let HoleCollector { text, mut holes, .. } = self.collected;
        if refused.is_something() {
            let uri = request.sent_uri().unwrap_or_default().escape_ascii();
            request.log(
                LogLevel::Error,
                format_args!(
                    "ESI in \"{uri}\": {} includes exceed the limit (esi_max_includes), {} includes have no path on this host, {} \
                         tags are not closed",
                    refused.too_many, refused.foreign, refused.unclosed
                ),
            );
            // A page that lacks an include is not for known visitors.
            if self.declaration.for_known_visitors {
                holes.clear();
                self.why = Some((*b"an include is rejected").into());
            }
        }
        let known = self.declaration.for_known_visitors && !refused.is_something();
        if known {
            hosts::record_cutting(&request.route.host, myriad_net::clock::now_ms());
        }
        (
            Bytes::from(text),
            PageHoles {
                for_known_visitors: known,
                compared: self.declaration.compared,
                joint: self.declaration.joint,
                holes,
                why: self.why,
            },
        )
    }
}

/// Returns the ESI holes of a stored page; `None` if it has no data about holes, or if that data is damaged.
pub(super) fn cut_of(page: &Page) -> Option<PageHoles> {
    PageHoles::decode(page.meta().cut(), page.body_len())
}
