//! `cache_keep_assets`: style sheets and scripts remain available while stored pages reference them. Plugins remove or
//! rename such files after a change; pages stored before the change still reference the old names.
//!
//! ```text
//! a page is stored -> store: each public file that it references becomes a page of the zone under a separate key
//! 404 or 410 for such a file -> fallback: serves that page if it was referenced within the configured time
//! ```
//!
//! The stored files are therefore limited, evicted, purged, written to disk and reported like other pages.

mod directives;
mod fallback;
mod store;

use myriad_conf::settings::Settings;
use myriad_exchange::exchange::Request;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_store::page::key::{ASSET, HOST, append};

use directives::AssetSettings;
pub(crate) use fallback::replace_missing;
pub(crate) use store::store_assets;

/// Registration of the directive `cache_keep_assets`; listed in `myriad-serve`.
pub const FEATURE: Feature = Feature::new("cache", directives::ROWS).compiled_by(compile);

/// Compiled `cache_keep_assets` of a location: retention time of a file in milliseconds, of which at least three
/// quarters remain after the last page that references the file was stored.
#[derive(Clone, Copy)]
struct AssetRetention(u64);

fn compile(_: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    if let Some(ms) = settings.feature::<AssetSettings>().keep_ms {
        features.insert(AssetRetention(ms));
    }
}

fn of(request: &Request) -> Option<AssetRetention> {
    request.place().features.get::<AssetRetention>().copied()
}

/// Returns whether the extension of a path is that of a style sheet or a script: `css`, `js` or `mjs`, in upper or
/// lower case.
fn is_asset(path: &[u8]) -> bool {
    let extension = path.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    [&b"css"[..], b"js", b"mjs"].iter().any(|asset| extension.eq_ignore_ascii_case(asset))
}

/// Returns the cache key of a file on the request's host. It cannot equal the key of a page, in which each NUL of the
/// configured key is doubled.
fn key_of(request: &Request, path: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    append(ASSET, path, &mut key);
    append(HOST, &request.route.host, &mut key);
    key
}
