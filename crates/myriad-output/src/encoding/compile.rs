//! Compilation of the codings that a location offers.

use myriad_conf::settings::Settings;
use myriad_http::media_types::TypeSet;
use myriad_script::Regex;

use super::settings::{EncodingSettings, GzipDisable};
use myriad_exchange::runtime::{CodingOffer, OfferRules, SettingsCompiler};

/// Returns the content codings that a location offers, with their rules. If brotli or zstd is not configured, it is
/// offered under the same conditions as gzip (`gzip`, `gzip_min_length`): a site with compression enabled benefits from
/// the better codings. `gzip_types` apply if the types of a coding are not configured.
pub fn offer(settings: &Settings, compile: &mut dyn SettingsCompiler) -> CodingOffer {
    let encoding = settings.feature::<EncodingSettings>();
    let gzip = &encoding.gzip;
    let by = |on: Option<bool>, own: Option<&Vec<String>>, min_length: u64, level: u8| {
        on.unwrap_or(gzip.on).then(|| OfferRules {
            types: TypeSet::new(own.unwrap_or(&gzip.types)),
            min_length: if on.is_some() { min_length } else { gzip.min_length },
            level,
        })
    };
    let (brotli, zstd) = (&encoding.brotli, &encoding.zstd);
    CodingOffer {
        gzip: by(Some(gzip.on), None, gzip.min_length, gzip.comp_level),
        brotli: by(brotli.on, brotli.types.as_ref(), brotli.min_length, brotli.comp_level),
        zstd: by(zstd.on, zstd.types.as_ref(), zstd.min_length, zstd.comp_level),
        vary: gzip.vary,
        http_1_0: gzip.http_1_0,
        proxied: gzip.proxied,
        disable: gzip.disable.iter().filter_map(|disable| banned(disable, compile)).collect(),
        disable_msie6: gzip.disable.contains(&GzipDisable::Msie6),
    }
}

fn banned(disable: &GzipDisable, compile: &mut dyn SettingsCompiler) -> Option<Regex> {
    match disable {
        GzipDisable::Regex(pattern) => compile.regex(pattern),
        GzipDisable::Msie6 => None,
    }
}
