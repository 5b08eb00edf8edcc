//! Optional features of the binary (Cargo features), and the directives and variables that require them.
//!
//! All names are listed here, because the crate that defines them may not be part of the build.

/// Optional feature, which a build of the binary may omit.
#[derive(Clone, Copy, Debug)]
pub struct BuildFeature {
    /// Name of the feature for `cargo build --features`.
    pub name: &'static str,
    /// True if the feature is part of this binary.
    pub is_compiled: bool,
    /// Error message if the feature is used but not part of the build, with the remedy.
    pub refusal: &'static str,
    /// Directives that only this feature defines, separated by spaces.
    directives: &'static str,
    /// Variables that only this feature defines, without `$`, separated by spaces; a name that ends with `_` is a
    /// prefix.
    variables: &'static str,
}

/// Creates the entry of a feature from its name, directives and variables.
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

/// All optional features. Each is also a Cargo feature of the same name in `Cargo.toml` of `myriad`.
pub static BUILD_FEATURES: &[BuildFeature] = &[
    feature!(
        "brotli",
        "brotli brotli_types brotli_min_length brotli_comp_level brotli_window",
        "brotli_ratio"
    ),
    feature!("zstd", "zstd zstd_types zstd_min_length zstd_comp_level", "zstd_ratio"),
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
    feature!("cluster", "cluster", ""),
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
    feature!(
        "stream",
        "stream pass proxy_timeout proxy_protocol proxy_ssl proxy_ssl_alpn proxy_half_close proxy_upload_rate \
         proxy_download_rate proxy_requests proxy_responses proxy_protocol_timeout preread_buffer_size \
         preread_timeout ssl_preread ssl_handshake_timeout ssl_alpn health_check_timeout",
        ""
    ),
    feature!(
        "dav",
        "dav_methods create_full_put_path min_delete_depth dav_access dav_ext_methods dav_ext_lock \
         dav_ext_lock_zone",
        ""
    ),
    feature!(
        "nginx-extras",
        "echo echo_duplicate echo_flush echo_sleep echo_blocking_sleep echo_reset_timer echo_location \
         echo_location_async echo_exec echo_status fancyindex fancyindex_default_sort fancyindex_case_sensitive \
         fancyindex_directories_first fancyindex_exact_size fancyindex_localtime fancyindex_time_format \
         fancyindex_css_href fancyindex_header fancyindex_footer fancyindex_show_path fancyindex_ignore \
         fancyindex_hide_symlinks fancyindex_hide_parent_dir fancyindex_show_dotfiles fancyindex_name_length \
         vhost_traffic_status vhost_traffic_status_zone vhost_traffic_status_display \
         vhost_traffic_status_display_format vhost_traffic_status_display_jsonp \
         vhost_traffic_status_display_sum_key vhost_traffic_status_filter vhost_traffic_status_filter_by_host \
         vhost_traffic_status_filter_by_set_key vhost_traffic_status_filter_check_duplicate \
         vhost_traffic_status_filter_max_node vhost_traffic_status_average_method \
         vhost_traffic_status_histogram_buckets vhost_traffic_status_bypass_stats \
         vhost_traffic_status_stats_by_upstream vhost_traffic_status_ignore_status vhost_traffic_status_dump \
         vhost_traffic_status_limit vhost_traffic_status_limit_check_duplicate vhost_traffic_status_bypass_limit \
         userid userid_service userid_name userid_domain userid_path userid_expires userid_flags userid_p3p \
         userid_mark random_index empty_gif add_before_body add_after_body addition_types set_if_empty \
         set_escape_uri set_unescape_uri set_quote_sql_str set_quote_pgsql_str set_quote_json_str set_encode_hex \
         set_decode_hex set_encode_base64 set_decode_base64 set_encode_base64url set_decode_base64url \
         set_encode_base32 set_decode_base32 set_base32_alphabet set_base32_padding set_misc_base32_padding \
         set_md5 set_sha1 set_hmac_sha1 set_hmac_sha256 set_random set_secure_random_alphanum \
         set_secure_random_lcalpha set_rotate set_local_today set_formatted_gmt_time set_formatted_local_time \
         upstream_list set_hashed_upstream",
        "echo_request_uri echo_cacheable_request_uri echo_request_method echo_timer_elapsed \
         echo_client_request_headers uid_got uid_set uid_reset vts_1xx_counter vts_2xx_counter vts_3xx_counter \
         vts_4xx_counter vts_5xx_counter vts_request_counter vts_in_bytes vts_out_bytes vts_cache_miss_counter \
         vts_cache_bypass_counter vts_cache_expired_counter vts_cache_stale_counter vts_cache_updating_counter \
         vts_cache_revalidated_counter vts_cache_hit_counter vts_cache_scarce_counter vts_request_time_counter \
         vts_request_time"
    ),
    feature!("optimizer", "optimize optimize_filters optimize_exclude optimize_budget", "optimized"),
    feature!("tools", "", ""),
];

impl BuildFeature {
    /// Returns the feature that defines a directive if it is not part of this binary; otherwise `None`.
    pub fn missing_for_directive(name: &str) -> Option<&'static Self> {
        missing().find(|feature| feature.directives.split_whitespace().any(|directive| directive == name))
    }

    /// Returns the feature that defines a variable (without `$`) if it is not part of this binary; otherwise `None`.
    pub fn missing_for_variable(name: &str) -> Option<&'static Self> {
        let defines = |known: &str| name == known || known.ends_with('_') && name.starts_with(known);
        missing().find(|feature| feature.variables.split_whitespace().any(defines))
    }

    /// Returns the feature with this name if it is not part of this binary; otherwise `None`.
    pub fn missing(name: &str) -> Option<&'static Self> {
        missing().find(|feature| feature.name == name)
    }

    /// Returns the names of the directives and of the variables that only this feature defines.
    pub fn names(&self) -> (impl Iterator<Item = &'static str>, impl Iterator<Item = &'static str>) {
        (self.directives.split_whitespace(), self.variables.split_whitespace())
    }
}

/// Iterates over the features that are not part of this binary.
fn missing() -> impl Iterator<Item = &'static BuildFeature> {
    BUILD_FEATURES.iter().filter(|feature| !feature.is_compiled)
}
