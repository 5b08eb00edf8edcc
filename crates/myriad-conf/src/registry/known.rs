//! Names of nginx, its commercial version and well-known modules that are refused by name, never taken for a typo.

use std::{collections::HashMap, sync::OnceLock};

use super::directive::NOT_YET;

/// A directive that is known and not supported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownDirective {
    pub(crate) name: &'static str,
    /// The module that nginx has it in.
    pub(crate) module: &'static str,
    pub(crate) reason: &'static str,
}

const NO_MODULE: &str = "it does not have this module";
const OTHER_SYSTEM: &str = "it belongs to another operating system";
const NO_ECH: &str = "rustls has no encrypted hello for servers yet";
const NO_OCSP: &str = "clients' certificates are checked by lists (ssl_crl): asking for each would make requests wait for a third party";
const REMOVED: &str = "nginx itself removed it";
const COMMERCIAL: &str = "it belongs to nginx's commercial version";
const THIRD_PARTY: &str = "it belongs to a module that is not part of nginx";

/// Module, reason, names separated by spaces.
const GROUPS: &[(&str, &str, &str)] = &[
    ("devpoll", OTHER_SYSTEM, "devpoll_changes devpoll_events"),
    ("eventport", OTHER_SYSTEM, "eventport_events"),
    ("iocp", OTHER_SYSTEM, "iocp_threads post_acceptex acceptex_read"),
    ("kqueue", OTHER_SYSTEM, "kqueue_changes kqueue_events"),
    ("event_openssl", NOT_YET, "ssl_engine"),
    ("addition", NO_MODULE, "add_before_body add_after_body addition_types"),
    ("browser", NO_MODULE, "modern_browser ancient_browser modern_browser_value ancient_browser_value"),
    ("dav", NO_MODULE, "dav_methods create_full_put_path min_delete_depth dav_access"),
    ("degradation", NO_MODULE, "degradation degrade"),
    ("flv", NO_MODULE, "flv"),
    ("geoip", NO_MODULE, "geoip_country geoip_org geoip_city geoip_proxy geoip_proxy_recursive"),
    (
        "grpc",
        NO_MODULE,
        "grpc_pass grpc_bind grpc_socket_keepalive grpc_socket_rcvbuf grpc_socket_sndbuf grpc_connect_timeout \
         grpc_send_timeout grpc_intercept_errors grpc_buffer_size grpc_read_timeout grpc_next_upstream \
         grpc_next_upstream_tries grpc_next_upstream_timeout grpc_set_header grpc_pass_header \
         grpc_hide_header grpc_ignore_headers grpc_ssl_session_reuse grpc_ssl_protocols grpc_ssl_ciphers \
         grpc_ssl_name grpc_ssl_server_name grpc_ssl_verify grpc_ssl_verify_depth \
         grpc_ssl_trusted_certificate grpc_ssl_crl grpc_ssl_certificate grpc_ssl_certificate_key \
         grpc_ssl_certificate_cache grpc_ssl_password_file grpc_ssl_conf_command",
    ),
    (
        "image",
        NO_MODULE,
        "image_filter image_filter_jpeg_quality image_filter_webp_quality image_filter_sharpen \
         image_filter_transparency image_filter_interlace image_filter_buffer",
    ),
    (
        "memcached",
        NO_MODULE,
        "memcached_pass memcached_bind memcached_socket_keepalive memcached_connect_timeout \
         memcached_send_timeout memcached_buffer_size memcached_read_timeout memcached_next_upstream \
         memcached_next_upstream_tries memcached_next_upstream_timeout memcached_gzip_flag",
    ),
    ("mirror", NOT_YET, "mirror mirror_request_body"),
    ("mp4", NO_MODULE, "mp4 mp4_buffer_size mp4_max_buffer_size mp4_start_key_frame"),
    ("random_index", NO_MODULE, "random_index"),
    ("secure_link", NO_MODULE, "secure_link secure_link_md5 secure_link_secret"),
    ("ssl", NO_ECH, "ssl_ech_file"),
    ("ssl", NO_OCSP, "ssl_ocsp ssl_ocsp_responder ssl_ocsp_cache"),
    (
        "tunnel",
        NO_MODULE,
        "tunnel_pass tunnel_bind tunnel_socket_keepalive tunnel_socket_rcvbuf tunnel_socket_sndbuf \
         tunnel_connect_timeout tunnel_send_timeout tunnel_send_lowat tunnel_buffer_size tunnel_read_timeout \
         tunnel_next_upstream tunnel_next_upstream_tries tunnel_next_upstream_timeout",
    ),
    (
        "userid",
        NO_MODULE,
        "userid userid_service userid_name userid_domain userid_path userid_expires userid_flags userid_p3p \
         userid_mark",
    ),
    ("uwsgi", NO_MODULE, "uwsgi_string"),
    (
        "xslt",
        NO_MODULE,
        "xml_entities xml_external_entities xslt_stylesheet xslt_param xslt_string_param xslt_types \
         xslt_last_modified",
    ),
    ("perl", NO_MODULE, "perl_modules perl_require perl perl_set"),
    ("core", NOT_YET, "client_body_early_read post_action"),
    (
        "mail",
        NO_MODULE,
        "mail auth_http auth_http_timeout auth_http_header auth_http_pass_client_cert protocol timeout \
         max_errors imap_client_buffer imap_capabilities imap_auth pop3_capabilities pop3_auth proxy \
         proxy_buffer proxy_pass_error_message xclient proxy_smtp_auth \
         smtp_client_buffer smtp_greeting_delay smtp_capabilities smtp_auth starttls",
    ),
    ("google_perftools", NO_MODULE, "google_perftools_profiles"),
    ("stream", NOT_YET, "pass proxy_downstream_buffer proxy_upstream_buffer"),
    ("stream", THIRD_PARTY, "mqtt mqtt_preread mqtt_set_connect mqtt_buffers js_preread js_filter"),
    (
        "removed",
        REMOVED,
        "spdy_chunk_size spdy_headers_comp limit_zone satisfy_any open_file_cache_retest optimize_server_names",
    ),
    (
        "commercial",
        COMMERCIAL,
        "ssl_key_log proxy_ssl_key_log grpc_ssl_key_log uwsgi_ssl_key_log status status_format status_zone health_check health_check_timeout match ntlm state auth_jwt \
         auth_jwt_claim_set auth_jwt_header_set auth_jwt_key_file auth_jwt_key_request auth_jwt_leeway \
         auth_jwt_type auth_jwt_require auth_jwt_key_cache auth_oidc oidc_provider auth_require f4f \
         f4f_buffer_size hls hls_buffers hls_forward_args hls_fragment hls_mp4_buffer_size \
         hls_mp4_max_buffer_size internal_redirect keyval keyval_zone mgmt num_map otel_exporter \
         otel_service_name otel_trace otel_trace_context otel_span_name otel_span_attr session_log \
         session_log_format session_log_zone slow_start sticky_cookie_insert upstream_conf zone_sync \
         zone_sync_server",
    ),
    (
        "third party",
        THIRD_PARTY,
        "access_by_lua \
         access_by_lua_block access_by_lua_file body_filter_by_lua_block content_by_lua content_by_lua_block \
         content_by_lua_file header_filter_by_lua_block init_by_lua_block init_worker_by_lua_block \
         log_by_lua_block lua_code_cache lua_package_path lua_package_cpath lua_shared_dict \
         lua_ssl_trusted_certificate rewrite_by_lua_block rewrite_by_lua_file set_by_lua set_by_lua_block \
         ssl_certificate_by_lua_block echo_foreach_split echo_end echo_subrequest echo_subrequest_async \
         echo_read_request_body echo_request_body echo_abort_parent echo_before_body echo_after_body pagespeed \
         pagespeed_file_cache_path modsecurity modsecurity_rules modsecurity_rules_file \
         headers_more vhost_traffic_status_limit_traffic vhost_traffic_status_limit_traffic_by_set_key \
         vhost_traffic_status_measure_status_codes vhost_traffic_status_set_by_filter \
         passenger_enabled passenger_root passenger_ruby nchan_publisher \
         nchan_subscriber push_stream_publisher push_stream_subscriber rds_json redis_pass redis2_query \
         redis2_pass srcache_fetch srcache_store \
         subs_filter subs_filter_types testcookie upload_pass upload_progress xss_get dav_ext_methods rtmp \
         naxsi naxsi_extended concat js_import js_content js_set js_access js_body_filter js_header_filter js_path \
         js_preload_object js_var js_periodic",
    ),
];

/// Every name of the table.
pub(crate) fn all() -> impl Iterator<Item = KnownDirective> {
    GROUPS.iter().flat_map(|&(module, reason, names)| {
        names.split_whitespace().map(move |name| KnownDirective { name, module, reason })
    })
}

/// The entry of a name.
pub(crate) fn known(name: &str) -> Option<KnownDirective> {
    static BY_NAME: OnceLock<HashMap<&'static str, KnownDirective>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| all().map(|directive| (directive.name, directive)).collect());
    by_name.get(name).copied()
}
