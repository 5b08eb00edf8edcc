//! `cache_keep_assets`: style sheets and scripts outlive the stored pages that name them. Plugins remove or rename such a file whenever
//! something changes; a page that was stored before goes on naming it.
//!
//! ```text
//! a page is stored -> keep: each file that it names, and that anybody may have, becomes a page of the zone under a key of its own
//! 404 or 410 for such a file -> stand_in: that page, where it was named no longer ago than the directive says
//! ```
//!
//! So what is kept is bounded, evicted, purged, written to disk and shown as pages are.

mod directives;
mod keep;
mod stand_in;

use myriad_conf::settings::Settings;
use myriad_exchange::exchange::Request;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_page::key::{ASSET, HOST, append};

use directives::AssetSettings;
pub(crate) use keep::keep;
pub(crate) use stand_in::instead;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("cache", directives::ROWS).compiled_by(compile);

/// `cache_keep_assets` at a place: how long a file is kept behind the last page that named it, milliseconds.
#[derive(Clone, Copy)]
struct KeepFor(u64);

fn compile(_: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    if let Some(ms) = settings.feature::<AssetSettings>().keep_ms {
        features.keep(KeepFor(ms));
    }
}

fn of(request: &Request) -> Option<KeepFor> {
    request.place().features.get::<KeepFor>().copied()
}

/// Whether a path is one of a style sheet or a script.
fn is_asset(path: &[u8]) -> bool {
    let extension = path.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    [&b"css"[..], b"js", b"mjs"].iter().any(|asset| extension.eq_ignore_ascii_case(asset))
}

/// The key of a file on the host of a request. No key of a page is like it: there a NUL is doubled.
fn key_of(request: &Request, path: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    append(ASSET, path, &mut key);
    append(HOST, &request.route.host, &mut key);
    key
}
