//! The list of all features.

use std::sync::LazyLock;

use myriad_conf::registry::Registry;
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Model};

use super::{forwarded, https_only, real_ip, referers, resolver, ssl};
use myriad_access::origin_protection::{
    bots, origin_backoff, origin_challenge, origin_query_limit, origin_queue,
};
use myriad_access::{
    access, auth_basic, auth_request, limit_conn, limit_req, more_input_headers, secure_link,
};
use myriad_admin::{api, dashboard, metrics, purge, status_zone};
use myriad_cache::{assets, device_class, early_hints_stored, esi, maintenance, shared_fetch};
use myriad_content::{autoindex, files, stub_status};
use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::{self, DocumentedVariable};
use myriad_exchange::feature::{Feature, TableMaking, TableVariable};
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler, VariableRegistry};
use myriad_origin::{
    add_header as origin_add_header, early_hints, health_check, mirror, post_action, protocols, store,
    upgrade_protocols,
};
use myriad_output::filters::{charset, gunzip, ssi, sub_filter};
use myriad_output::{cache_debug, encoding, headers, more_headers, slice};

/// Every feature that is compiled in, in order of compilation. The directives and variables of features that can be
/// left out of a build are also listed in `myriad-conf/src/registry/build_features.rs`.
static FEATURES: &[Feature] = &[
    access::FEATURE,
    cache_debug::FEATURE,
    api::FEATURE,
    auth_basic::FEATURE,
    dashboard::FEATURE,
    Feature::new("auth_request", auth_request::ROWS),
    // `fancyindex` precedes `autoindex`: the first handler of folder listings takes precedence.
    #[cfg(feature = "nginx-extras")]
    myriad_content::fancyindex::FEATURE,
    autoindex::FEATURE,
    #[cfg(feature = "dav")]
    myriad_content::dav::FEATURE,
    #[cfg(feature = "dav")]
    myriad_content::dav::EXT,
    #[cfg(feature = "nginx-extras")]
    myriad_content::echo::FEATURE,
    #[cfg(feature = "nginx-extras")]
    myriad_content::empty_gif::FEATURE,
    #[cfg(feature = "nginx-extras")]
    myriad_content::random_index::FEATURE,
    stub_status::FEATURE,
    myriad_cache::FEATURE,
    purge::FEATURE,
    device_class::FEATURE,
    shared_fetch::FEATURE,
    esi::FEATURE,
    assets::FEATURE,
    maintenance::FEATURE,
    #[cfg(feature = "optimizer")]
    myriad_cache::optimize::FEATURE,
    Feature::new("charset", charset::ROWS),
    Feature::new("early_hints", early_hints::ROWS).compiled_by(early_hints::compile),
    Feature::new("early_hints", early_hints_stored::ROWS).compiled_by(early_hints_stored::compile),
    encoding::GZIP,
    files::GZIP_STATIC,
    #[cfg(feature = "brotli")]
    encoding::BROTLI,
    files::BROTLI_STATIC,
    #[cfg(feature = "zstd")]
    encoding::ZSTD,
    files::ZSTD_STATIC,
    Feature::new("filters", gunzip::ROWS),
    Feature::new("filters", sub_filter::ROWS),
    #[cfg(feature = "nginx-extras")]
    Feature::new("addition", myriad_output::filters::addition::ROWS),
    files::FEATURE,
    forwarded::FEATURE,
    #[cfg(feature = "geoip")]
    myriad_access::geo_database::geoip::FEATURE,
    #[cfg(feature = "geoip")]
    myriad_access::geo_database::geoip2::FEATURE,
    headers::FEATURE,
    health_check::FEATURE,
    https_only::FEATURE,
    #[cfg(feature = "image")]
    myriad_output::image_filter::FEATURE,
    more_headers::FEATURE,
    more_input_headers::FEATURE,
    limit_req::FEATURE,
    limit_conn::FEATURE,
    origin_add_header::FEATURE,
    mirror::FEATURE,
    post_action::FEATURE,
    origin_queue::FEATURE,
    origin_backoff::FEATURE,
    origin_query_limit::FEATURE,
    origin_challenge::FEATURE,
    bots::FEATURE,
    #[cfg(feature = "cluster")]
    myriad_admin::cluster::FEATURE,
    #[cfg(feature = "otel")]
    myriad_admin::telemetry::FEATURE,
    real_ip::FEATURE,
    secure_link::FEATURE,
    Feature::new("referers", referers::ROWS)
        .compiled_by(referers::compile)
        .with_variables(referers::VARIABLES),
    #[cfg(feature = "nginx-extras")]
    myriad_output::userid::FEATURE,
    resolver::FEATURE,
    #[cfg(feature = "nginx-extras")]
    super::set_misc::FEATURE,
    metrics::FEATURE,
    status_zone::FEATURE,
    #[cfg(feature = "nginx-extras")]
    myriad_admin::traffic_status::FEATURE,
    Feature::new("slice", slice::ROWS).with_variables(slice::VARIABLES),
    #[cfg(feature = "stream")]
    myriad_origin::stream::FEATURE,
    #[cfg(feature = "stream")]
    myriad_origin::stream::HEALTH_CHECK,
    Feature::new("ssi", ssi::ROWS).compiled_by(ssi::store_output_buffer_size).with_variables(ssi::VARIABLES),
    store::FEATURE,
    Feature::new("tls", &[]).with_variables(ssl::HANDSHAKE),
    Feature::new("tls", &[]).with_variables(ssl::CERTIFICATE),
    Feature::new("upgrade_protocols", upgrade_protocols::ROWS),
];

/// Returns the registry of all directives: those of the core, of features and of origin protocols.
pub fn registry() -> &'static Registry {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
        Registry::new(FEATURES.iter().map(|feature| feature.family), protocols::languages())
    });
    &REGISTRY
}

/// Returns the registry of all variables: those of the core, of features and of origin protocols.
pub fn variables() -> &'static VariableRegistry<Request> {
    static VARIABLES: LazyLock<VariableRegistry<Request>> = LazyLock::new(|| {
        let brought = FEATURES.iter().map(|feature| feature.variables);
        VariableRegistry::new(variables::ROWS.iter().copied().chain(brought).chain(protocols::variables()))
    });
    &VARIABLES
}

/// Returns every variable for the page `docs/nginx-compatibility.md`, including unsupported ones.
pub fn documented_variables() -> Vec<DocumentedVariable> {
    variables::documented(variables())
}

/// Returns warnings of features about parts of a valid configuration that are probably mistakes.
pub fn warnings(model: &Model) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    if let Some(http) = &model.http {
        for feature in FEATURES {
            (feature.warn)(http, &mut warnings);
        }
    }
    warnings
}

/// Opens the tables (such as GeoIP databases) of all features; returns the variables that are computed from them.
pub(crate) fn tables(making: &mut TableMaking<'_>) -> Vec<TableVariable> {
    FEATURES.iter().flat_map(|feature| (feature.tables)(making)).collect()
}

/// Returns the settings of all features for a level, compiled.
pub(crate) fn compiled(compile: &mut dyn SettingsCompiler, settings: &Settings) -> PlaceFeatures {
    let mut features = PlaceFeatures::default();
    for feature in FEATURES {
        (feature.compile)(compile, settings, &mut features);
    }
    features
}
