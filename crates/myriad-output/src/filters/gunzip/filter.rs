//! `gunzip` filter.

use myriad_conf::settings::Settings;
use myriad_encode::Coding;

use super::directives::GunzipSettings;
use super::unpack::Gunzip;
use crate::encoding::{accepted, proxied_facts};
use crate::filters::wrap::{is_bodiless, wrap};
use myriad_exchange::exchange::{ContentResponse, Exchange, Filter, Request};
use myriad_exchange::runtime::SettingsCompiler;

/// Filter of locations with `gunzip on`, which decompresses gzip responses for clients that do not accept gzip.
struct GunzipFilter;

/// Compiles `gunzip` of a configuration level; `None` if it is off.
pub(crate) fn compiled(
    _: &mut dyn SettingsCompiler,
    settings: &Settings,
) -> Option<Box<dyn Filter<Exchange>>> {
    settings.feature::<GunzipSettings>().on.then(|| Box::new(GunzipFilter) as _)
}

impl Filter<Exchange> for GunzipFilter {
    fn name(&self) -> &'static str {
        "gunzip"
    }

    fn changes(&self, _: &[u8]) -> bool {
        true
    }

    fn reads(&self, _: &[u8]) -> bool {
        false
    }

    fn allows_shortcut(&self) -> bool {
        true
    }

    fn apply(&self, exchange: &mut Exchange, answer: &mut ContentResponse) {
        if !is_bodiless(answer) {
            unpack(&exchange.request, answer);
        }
    }
}

/// Decompresses a gzip response, except a range (206), if the client does not accept gzip or `gzip_disable`,
/// `gzip_proxied` or `gzip_http_version` excludes its request. Marks the response as varying by `Accept-Encoding`.
pub(crate) fn unpack(request: &Request, answer: &mut ContentResponse) {
    let by_origin = answer.line(b"content-encoding").is_some_and(|token| token.eq_ignore_ascii_case(b"gzip"));
    // A range of compressed data cannot be decompressed.
    if answer.coding != Coding::Gzip && !by_origin || answer.status == 206 {
        return;
    }
    answer.varies_by_encoding = true;
    if accepted(request, proxied_facts(request, answer)).contains(Coding::Gzip) {
        return;
    }
    answer.detach(request.place().files.etag);
    answer.coding = Coding::Identity;
    answer.without(&[b"content-encoding"]);
    answer.weaken_tag();
    wrap(answer, Gunzip::new());
}
