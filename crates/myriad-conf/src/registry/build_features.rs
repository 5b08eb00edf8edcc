//! Optional features of the binary (Cargo features), and the names that configurations cannot use without them.
//!
//! The names are listed here because the crate that defines them may not be part of the build.

/// Optional feature of the binary.
#[derive(Clone, Copy, Debug)]
pub struct BuildFeature {
    /// Name for `cargo build --features`.
    pub name: &'static str,
    /// True if the feature is part of this binary.
    pub is_compiled: bool,
    /// Reason of a refusal without the feature, with the remedy.
    pub refusal: &'static str,
    /// Directives that only this feature defines, separated by spaces.
    directives: &'static str,
    /// Variables that only this feature defines, without `$`, separated by spaces; prefixes end with `_`.
    variables: &'static str,
}

/// Creates the entry of a feature.
macro_rules! feature {
    ($name:literal, $directives:expr, $variables:expr) => {
        BuildFeature {
            name: $name,
            is_compiled: cfg!(feature = $name),
            refusal: concat!("this build has no feature \"", $name, "\" (build with --features ", $name, ")"),
            directives: $directives,
            variables: $variables,
        }
    };
}

/// All optional features. Each is also a feature of the same name in `Cargo.toml` of `myriad`.
pub static BUILD_FEATURES: &[BuildFeature] = &[
    feature!(
        "image",
        "image_filter image_filter_jpeg_quality image_filter_webp_quality image_filter_avif_quality image_filter_format \
         image_filter_sharpen image_filter_transparency image_filter_interlace image_filter_buffer image_filter_pixels",
        ""
    ),
    feature!(
        "http3",
        "http3 http3_hq http3_max_concurrent_streams http3_stream_buffer_size quic_retry quic_gso quic_host_key \
         quic_active_connection_id_limit quic_bpf",
        ""
    ),
    feature!(
        "otel",
        "otel_exporter otel_service_name otel_resource_attr otel_trace otel_trace_context otel_span_name otel_span_attr",
        "otel_trace_id otel_span_id otel_parent_id otel_parent_sampled"
    ),
    feature!(
        "geoip",
        "geoip_country geoip_city geoip_org geoip_proxy geoip_proxy_recursive geoip2 geoip2_proxy \
         geoip2_proxy_recursive",
        "geoip_country_code geoip_country_code3 geoip_country_name geoip_org geoip_city_continent_code \
         geoip_city_country_code geoip_city_country_code3 geoip_city_country_name geoip_region geoip_city \
         geoip_postal_code geoip_latitude geoip_longitude geoip_dma_code geoip_area_code"
    ),
    feature!("tools", "", ""),
];

impl BuildFeature {
    /// Returns the missing feature that defines a directive.
    pub fn missing_for_directive(name: &str) -> Option<&'static Self> {
        missing().find(|feature| feature.directives.split_whitespace().any(|directive| directive == name))
    }

    /// Returns the missing feature that defines a variable.
    pub fn missing_for_variable(name: &str) -> Option<&'static Self> {
        let defines = |known: &str| name == known || known.ends_with('_') && name.starts_with(known);
        missing().find(|feature| feature.variables.split_whitespace().any(defines))
    }

    /// Returns the feature with this name if it is not part of this binary.
    pub fn missing(name: &str) -> Option<&'static Self> {
        missing().find(|feature| feature.name == name)
    }

    /// Iterates over the names of directives and then of variables that only this feature defines.
    pub fn names(&self) -> (impl Iterator<Item = &'static str>, impl Iterator<Item = &'static str>) {
        (self.directives.split_whitespace(), self.variables.split_whitespace())
    }
}

/// Iterates over the features that are not part of this binary.
fn missing() -> impl Iterator<Item = &'static BuildFeature> {
    BUILD_FEATURES.iter().filter(|feature| !feature.is_compiled)
}
