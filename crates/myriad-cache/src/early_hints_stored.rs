//! `early_hints_stored`: while a client waits for the origin, it gets 103 (Early Hints, RFC 8297) with the resources
//! that the last stored page of the URL loads. Only the shared page is read, so that hints reveal nothing of a private
//! page.

use myriad_conf::feature_settings;
use myriad_conf::registry::{Contexts, Directive, FLAG};
use myriad_conf::set;
use myriad_conf::settings::Settings;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::keys::page_key;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_http::head::reason_phrase;
use myriad_http::lines::lines_named;
use myriad_http::{HttpVersion, Method};
use myriad_policy::{early_links, loads_early};
use myriad_store::KeyRef;
use myriad_store::page::{Page, write_variant};

use crate::journey_step::CacheContext;

const EARLY_HINTS: u16 = 103;
/// Maximum length in bytes of the header fields of a 103 response made from a stored page.
const MAX_HINTS: usize = 4 << 10;

/// Setting of `early_hints_stored`: `on` is true if 103 responses are made from stored pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct StoredHintSettings {
    on: bool,
}

feature_settings!(StoredHintSettings);

/// Rows of the `early_hints_stored` directive.
pub static ROWS: &[Directive] = &[Directive::new(
    "early_hints_stored",
    Contexts::HSL,
    FLAG,
    set!(Feature<StoredHintSettings>.flag => on),
    "Sends 103 (Early Hints) to browsers that wait for the origin, with the resources of the last stored page of the URL.",
)
.default("off")
.own()];

/// Marker of a location where `early_hints_stored` is on.
struct StoredHints;

/// Compiles `early_hints_stored`: marks the location if the directive is on.
pub fn compile(_: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    if settings.feature::<StoredHintSettings>().on {
        features.insert(StoredHints);
    }
}

/// Sends a 103 response with hints from `stale`, the expired page that is fetched again, if [`is_wanted`] returns true
/// for the request. Sends nothing if the page is not HTML with status 200 and its body in memory, or loads no resources
/// early.
pub(crate) fn of_page(request: &Request, stale: Option<&Page>) {
    if let Some(page) = stale.filter(|_| is_wanted(request)) {
        send_hints(request, page);
    }
}

/// Sends a 103 response with hints from the shared page, if that page is in memory, to a client whose request is passed
/// to the origin, under the conditions of [`of_page`]. The cache key of the request is written for this look-up and
/// restored afterwards.
pub(crate) fn of_shared_page(exchange: &mut Exchange, cached: CacheContext<'_>) {
    if !is_wanted(&exchange.request) {
        return;
    }
    let Exchange { request, frame } = exchange;
    let own = std::mem::take(&mut request.cache.key);
    if page_key::write(request, frame, cached.cache).is_ok() {
        let fields = request.received.head.fields();
        let variant = |selector: &[u8], variant: &mut Vec<u8>| write_variant(selector, fields, variant);
        let key = KeyRef::new(&request.cache.key);
        if let Some(page) = cached.cache.zone.zone.get(key, variant, request.received.at_ms) {
            send_hints(request, &page);
        }
    }
    request.cache.key = own;
}

/// Returns whether a 103 response with hints may be sent: for GET requests of browsers that navigate (`Sec-Fetch-Mode:
/// navigate`), over HTTP/2 or HTTP/3, where `early_hints_stored` is on; not for subrequests.
///
/// HTTP/1 is excluded: browsers ignore hints there, and interim responses cause too many failures.
fn is_wanted(request: &Request) -> bool {
    let head = &request.received.head;
    request.place().features.get::<StoredHints>().is_some()
        && head.method() == Method::Get
        && matches!(head.version(), HttpVersion::Http2 | HttpVersion::Http3)
        && head.fields().get(b"Sec-Fetch-Mode") == Some(b"navigate")
        && !request.is_subrequest()
}

fn send_hints(request: &Request, page: &Page) {
    let meta = page.meta();
    if meta.status != 200
        || !meta.media_type().eq_ignore_ascii_case(b"text/html")
        || page.stored_body().is_some()
    {
        return;
    }
    let mut lines = Vec::new();
    let mut add = |value: &[u8]| {
        if lines.len() + value.len() + b"Link: \r\n".len() <= MAX_HINTS {
            for part in [b"Link: ", value, b"\r\n"] {
                lines.extend_from_slice(part);
            }
        }
    };
    for value in lines_named(meta.lines(), b"link").filter(|value| loads_early(value)) {
        add(value);
    }
    // The first segment is longer than the part of a page that is searched.
    let body = page.body();
    for link in body.segments().first().map(|html| early_links(html)).unwrap_or_default() {
        add(link.as_bytes());
    }
    if !lines.is_empty() {
        let received = &request.received;
        received.connection.send_interim(received.number, EARLY_HINTS, reason_phrase(EARLY_HINTS), &lines);
    }
}
