//! The list of features.

use std::sync::LazyLock;

use myriad_conf::registry::Registry;
use myriad_conf::settings::Settings;

use super::{real_ip, referers};
use myriad_content::{autoindex, stub_status};
use myriad_control::{api, purge};
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_gate::{access, auth_basic, auth_request, limit_conn, limit_req};
use myriad_origin::{early_hints, protocols, upgrade_protocols};
use myriad_output::filters::{charset, gunzip, ssi, sub_filter};
use myriad_output::slice;

/// Every feature, a line each, in the order in which they are compiled.
static FEATURES: &[Feature] = &[
    access::FEATURE,
    api::FEATURE,
    auth_basic::FEATURE,
    Feature::new("auth_request", auth_request::ROWS),
    autoindex::FEATURE,
    stub_status::FEATURE,
    Feature::new("cache", &[]).compiled_by(purge::keep_style),
    Feature::new("charset", charset::ROWS),
    Feature::new("early_hints", early_hints::ROWS).compiled_by(early_hints::compile),
    Feature::new("filters", gunzip::ROWS),
    Feature::new("filters", sub_filter::ROWS),
    limit_req::FEATURE,
    limit_conn::FEATURE,
    Feature::new("realip", &[]).compiled_by(real_ip::compile),
    Feature::new("referers", referers::ROWS).compiled_by(referers::compile),
    Feature::new("slice", slice::ROWS),
    Feature::new("ssi", ssi::ROWS).compiled_by(ssi::keep_most),
    Feature::new("upgrade_protocols", upgrade_protocols::ROWS),
];

/// Every directive that a configuration may hold: those of the language itself, and those that features and protocols bring.
pub fn registry() -> &'static Registry {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
        Registry::new(FEATURES.iter().map(|feature| feature.family), protocols::languages())
    });
    &REGISTRY
}

/// What the features make of the settings of a level.
pub(crate) fn compiled(compile: &mut dyn SettingsCompiler, settings: &Settings) -> PlaceFeatures {
    let mut features = PlaceFeatures::default();
    for feature in FEATURES {
        (feature.compile)(compile, settings, &mut features);
    }
    features
}
