//! `cache_purge_response_type` of a place.

use myriad_conf::settings::Settings;

use super::settings::PurgeStyle;
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

/// Keeps how answers to purges say what they were of, where that is not a page.
pub(super) fn keep_style(_: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let style = *settings.feature::<PurgeStyle>();
    if style != PurgeStyle::default() {
        features.keep(style);
    }
}

/// How answers to purges say what they were of.
pub(crate) fn style_of(request: &Request) -> PurgeStyle {
    request.place().features.get().copied().unwrap_or_default()
}
