//! Storage of `cache_purge_response_type` in a compiled level.

use myriad_conf::settings::Settings;

use super::settings::PurgeStyle;
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

/// Stores the response format of a level in `features`, if it is not the default.
pub(super) fn keep_style(_: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    let style = *settings.feature::<PurgeStyle>();
    if style != PurgeStyle::default() {
        features.insert(style);
    }
}

/// Returns the format of purge responses in the location of a request.
pub(crate) fn style_of(request: &Request) -> PurgeStyle {
    request.place().features.get().copied().unwrap_or_default()
}
