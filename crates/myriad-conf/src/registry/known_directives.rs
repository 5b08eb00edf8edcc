//! Directives of nginx, its forks and well-known modules that Myriad does not support; errors name the module, and the
//! reason or an alternative.

use std::{collections::HashMap, sync::OnceLock};

use super::directive::NOT_YET;

/// Directive that is known from nginx or its modules, but not supported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownDirective {
    pub(crate) name: &'static str,
    /// Module or server that has the directive, as named in messages.
    pub(crate) module: &'static str,
    pub(crate) reason: &'static str,
}

const NO_MODULE: &str = "Myriad does not have this module";
const OTHER_SYSTEM: &str = "it applies to another operating system";
const NO_ECH: &str = "rustls does not support Encrypted Client Hello in servers yet";
const REMOVED: &str = "nginx itself removed it";
const COMMERCIAL: &str = "it is part of nginx's commercial version";
const THIRD_PARTY: &str = "it is part of a module that does not belong to nginx";
const NO_SCRIPTS: &str = "Myriad runs no scripts: compute values with map, set and rewrite, and call an external service with auth_request";
const NO_PROGRAMS: &str =
    "Myriad starts no programs: start the program separately, and pass requests to it with proxy_pass";
const NO_FIREWALL: &str = "Myriad does not inspect the content of requests: pass requests with proxy_pass through a separate firewall, or \
     reject some with map, deny and limit_req";
const NO_CHANNELS: &str =
    "Myriad stores no messages for subscribers: pass these requests with proxy_pass to a server that does";
const NO_STORE: &str =
    "Myriad caches responses itself: use proxy_cache, fastcgi_cache, uwsgi_cache or scgi_cache";
const NO_PROGRESS: &str = "browsers report the upload progress to scripts (upload.onprogress)";
const NO_FORMS: &str = "the application must process uploads: use proxy_pass or fastcgi_pass, and limit their size with client_max_body_size";
const NO_PAM: &str =
    "Myriad does not check system passwords: use auth_basic, or auth_request with an external service";
const NO_FAIR: &str = "use least_conn";
const NO_SUBS: &str = "use sub_filter";
const NO_PAGESPEED: &str = "use optimize safe, which makes stored pages smaller and joins their style sheets";
const NO_RTMP: &str = "Myriad is not a streaming server: run one separately, pass its port in a stream block, and serve its output files";
const NO_MAIL: &str =
    "Myriad does not support mail protocols: pass their ports in a stream block to a mail server";
const NO_VOD: &str = "Myriad does not package video: run nginx with this module separately, pass requests with proxy_pass and store \
     the segments with proxy_cache";
const FILES_IN_MEMORY: &str = "Myriad caches files in memory: use open_file_cache, or a proxy_cache in front of a server that reads the slow disk";
const OWN_ACME: &str = "Myriad obtains certificates with acme_issuer NAME { uri URL; } in http and acme_certificate NAME; in the \
     server, which uses ssl_certificate $acme_certificate; and ssl_certificate_key $acme_certificate_key;";
const OWN_STATISTICS: &str =
    "statistics are available with api, metrics (Prometheus) and vhost_traffic_status_display";
const OWN_API: &str = "use api in a location of its own, which returns the statistics as JSON";
const OWN_UPSTREAM_CONF: &str =
    "use zone in the upstream block, and api write=on in a location that only administrators can reach";
const OWN_CHECKS: &str = "use health_check in the location that passes requests to the group";
const OWN_STICKY: &str = "use sticky in the upstream block";
const OWN_HASH: &str = "use hash KEY consistent";
const OWN_RESOLVE: &str = "use resolve of server in the upstream block; to change the group at runtime, add zone to it and use api write=on";
const OWN_OVERLOAD: &str =
    "Myriad limits its own memory with memory_limit, and protects upstream servers with origin_queue";
const OWN_QUEUE: &str = "use max_conns of server and queue in the upstream block, or origin_queue";
const OWN_BALANCING: &str = "remove it: an upstream block uses weighted round robin by default";
const OWN_TRIES: &str = "use proxy_next_upstream_tries, or the same directive for fastcgi, uwsgi or scgi";
const OWN_WHITELIST: &str =
    "use a limit_req_zone key that map or geo sets to an empty value for these clients";
const OWN_MEMORY: &str = "use the command \"myriad memory\"";
const NO_DUBBO: &str =
    "Myriad does not support Dubbo: pass requests with proxy_pass to a gateway that translates them";
const OWN_TUNNEL: &str = "use tunnel_pass with the servers that clients may connect to";
const OWN_MAP: &str = "use map with regular expressions on $http_user_agent";
const OWN_LOAD: &str = "Myriad does not load modules: remove it";
const NO_NTLS: &str = "Myriad does not support TLCP (NTLS)";
const NO_UWSGI_STRING: &str = "Myriad sends only the parameters of uwsgi_param and the request body";
const NO_HTTP3_ORIGINS: &str =
    "Myriad uses HTTP/1.1 and HTTP/2 for upstream connections: use proxy_http_version";

/// Groups of unsupported directives: module, reason, and names separated by spaces.
const GROUPS: &[(&str, &str, &str)] = &[
    ("nginx's module devpoll", OTHER_SYSTEM, "devpoll_changes devpoll_events"),
    ("nginx's module eventport", OTHER_SYSTEM, "eventport_events"),
    ("nginx's module iocp", OTHER_SYSTEM, "iocp_threads post_acceptex acceptex_read"),
    ("nginx's module kqueue", OTHER_SYSTEM, "kqueue_changes kqueue_events"),
    ("nginx's event_openssl", NOT_YET, "ssl_engine"),
    (
        "nginx's module browser",
        NO_MODULE,
        "modern_browser ancient_browser modern_browser_value ancient_browser_value",
    ),
    ("nginx's module degradation", NO_MODULE, "degradation degrade"),
    ("nginx's module ssl", NO_ECH, "ssl_ech_file"),
    ("nginx's module uwsgi", NO_UWSGI_STRING, "uwsgi_string"),
    (
        "nginx's module xslt",
        NO_MODULE,
        "xml_entities xml_external_entities xslt_stylesheet xslt_param xslt_string_param xslt_types \
         xslt_last_modified",
    ),
    ("nginx's module perl", NO_SCRIPTS, "perl_modules perl_require perl perl_set"),
    ("nginx's core", NOT_YET, "client_body_early_read"),
    (
        "nginx's module mail",
        NO_MAIL,
        "mail auth_http auth_http_timeout auth_http_header auth_http_pass_client_cert protocol timeout \
         max_errors imap_client_buffer imap_capabilities imap_auth pop3_capabilities pop3_auth proxy \
         proxy_buffer proxy_pass_error_message xclient proxy_smtp_auth \
         smtp_client_buffer smtp_greeting_delay smtp_capabilities smtp_auth starttls",
    ),
    ("nginx's module google_perftools", NO_MODULE, "google_perftools_profiles"),
    ("nginx's module stream_proxy", NOT_YET, "proxy_downstream_buffer proxy_upstream_buffer"),
    ("NGINX Plus", COMMERCIAL, "mqtt mqtt_preread mqtt_set_connect mqtt_buffers"),
    (
        "old versions of nginx",
        REMOVED,
        "spdy_chunk_size spdy_headers_comp limit_zone satisfy_any open_file_cache_retest optimize_server_names",
    ),
    (
        "NGINX Plus",
        COMMERCIAL,
        "ssl_key_log proxy_ssl_key_log grpc_ssl_key_log uwsgi_ssl_key_log status_format ntlm auth_jwt \
         auth_jwt_claim_set auth_jwt_header_set auth_jwt_key_file auth_jwt_key_request auth_jwt_leeway \
         auth_jwt_type auth_jwt_require auth_jwt_key_cache auth_oidc oidc_provider auth_require f4f \
         f4f_buffer_size hls hls_buffers hls_forward_args hls_fragment hls_mp4_buffer_size \
         hls_mp4_max_buffer_size internal_redirect keyval keyval_zone mgmt num_map session_log \
         session_log_format session_log_zone slow_start zone_sync zone_sync_server",
    ),
    ("NGINX Plus", OWN_API, "status"),
    ("NGINX Plus", OWN_UPSTREAM_CONF, "upstream_conf"),
    ("NGINX Plus", OWN_STICKY, "sticky_cookie_insert"),
    (
        "Angie's module acme",
        OWN_ACME,
        "acme acme_client acme_client_path acme_dns_port acme_hook acme_http_port",
    ),
    (
        "Angie",
        OWN_STATISTICS,
        "api_config_files metric metric_zone metric_complex_zone prometheus prometheus_template",
    ),
    ("Angie", OWN_CHECKS, "upstream_probe upstream_probe_timeout"),
    ("Angie", OWN_STICKY, "sticky_secret sticky_strict"),
    ("Angie", OWN_QUEUE, "backup_switch feedback least_bandwidth response_time_factor bind_conn"),
    (
        "Angie",
        NO_HTTP3_ORIGINS,
        "proxy_http3_hq proxy_http3_max_concurrent_streams proxy_quic_gso proxy_quic_host_key",
    ),
    ("Angie", OWN_RESOLVE, "docker_endpoint docker_max_object_size"),
    ("Angie", NO_MODULE, "auto_redirect rdp_preread wasm_modules"),
    (
        "Tengine's NTLS",
        NO_NTLS,
        "enable_ntls ssl_ntls ssl_sign_certificate ssl_sign_certificate_key ssl_enc_certificate \
                                 ssl_enc_certificate_key proxy_ssl_ntls",
    ),
    (
        "nginx_upstream_check_module and Tengine",
        OWN_CHECKS,
        "check check_keepalive_requests check_http_send check_http_expect_alive check_shm_size check_status \
         check_fastcgi_param",
    ),
    (
        "Tengine's module session_sticky",
        OWN_STICKY,
        "session_sticky session_sticky_hide_cookie session_sticky_header",
    ),
    ("Tengine and ngx_http_consistent_hash", OWN_HASH, "consistent_hash"),
    ("Tengine", OWN_RESOLVE, "dynamic_resolve"),
    ("ngx_http_dyups_module and Tengine", OWN_RESOLVE, "dyups_interface"),
    (
        "Tengine's module concat",
        NO_PAGESPEED,
        "concat concat_max_files concat_unique concat_types concat_delimiter \
                                              concat_ignore_file_error",
    ),
    (
        "Tengine's modules footer and trim_filter",
        NO_SUBS,
        "footer footer_types trim trim_js trim_css trim_types trim_jscss",
    ),
    (
        "Tengine's module reqstat",
        OWN_STATISTICS,
        "req_status req_status_zone req_status_zone_add_indicator req_status_show \
                                                 req_status_show_field req_status_bypass req_status_lazy",
    ),
    ("Tengine's module user_agent", OWN_MAP, "user_agent"),
    ("Tengine's module sysguard", OWN_OVERLOAD, "sysguard"),
    (
        "Tengine's module limit_upstream",
        OWN_QUEUE,
        "limit_upstream_zone limit_upstream_conn limit_upstream_log_level",
    ),
    ("Tengine's dso", OWN_LOAD, "dso dso_load"),
    ("Tengine", NO_MODULE, "server_admin server_info server_tag tfs_pass tfs_upstream xquic_ssl_certificate"),
    ("Tengine", OWN_BALANCING, "iwrr vnswrr"),
    (
        "Tengine",
        OWN_TRIES,
        "proxy_upstream_tries fastcgi_upstream_tries uwsgi_upstream_tries scgi_upstream_tries",
    ),
    ("Tengine", OWN_WHITELIST, "limit_req_whitelist"),
    ("Tengine's module debug_pool", OWN_MEMORY, "debug_pool"),
    ("Tengine's module procs", NO_PROGRAMS, "processes"),
    ("Tengine's module dubbo", NO_DUBBO, "dubbo_pass dubbo_pass_set dubbo_bind multi multi_request_timeout"),
    ("ngx_http_proxy_connect_module", OWN_TUNNEL, "proxy_connect proxy_connect_allow"),
    (
        "lua-nginx-module",
        NO_SCRIPTS,
        "access_by_lua \
         access_by_lua_block access_by_lua_file body_filter_by_lua_block content_by_lua content_by_lua_block \
         content_by_lua_file header_filter_by_lua_block init_by_lua_block init_worker_by_lua_block \
         log_by_lua_block lua_code_cache lua_package_path lua_package_cpath lua_shared_dict \
         lua_ssl_trusted_certificate rewrite_by_lua_block rewrite_by_lua_file set_by_lua set_by_lua_block \
         ssl_certificate_by_lua_block",
    ),
    (
        "njs",
        NO_SCRIPTS,
        "js_import js_content js_set js_access js_body_filter js_header_filter js_path \
         js_preload_object js_var js_periodic js_preread js_filter",
    ),
    ("Phusion Passenger", NO_PROGRAMS, "passenger_enabled passenger_root passenger_ruby"),
    (
        "ModSecurity-nginx, naxsi and testcookie",
        NO_FIREWALL,
        "modsecurity modsecurity_rules modsecurity_rules_file modsecurity_rules_remote modsecurity_transaction_id \
         modsecurity_use_error_log naxsi naxsi_extended testcookie",
    ),
    (
        "nchan and nginx-push-stream-module",
        NO_CHANNELS,
        "nchan_publisher nchan_subscriber nchan_pubsub push_publisher push_subscriber push_stream_publisher \
         push_stream_subscriber",
    ),
    ("srcache-nginx-module", NO_STORE, "srcache_fetch srcache_store"),
    ("memc-nginx-module", NO_STORE, "memc_pass"),
    ("ngx_http_redis and redis2-nginx-module", NO_STORE, "redis_pass redis2_query redis2_pass"),
    ("ngx_slowfs_cache", FILES_IN_MEMORY, "slowfs_cache slowfs_big_file_size slowfs_temp_path"),
    ("nginx-upload-progress-module", NO_PROGRESS, "upload_progress track_uploads report_uploads"),
    ("nginx-upload-module", NO_FORMS, "upload_pass upload_store"),
    ("nginx-vod-module", NO_VOD, "vod"),
    ("ngx_http_auth_pam_module", NO_PAM, "auth_pam auth_pam_service_name auth_pam_set_pam_env"),
    ("nginx-upstream-fair", NO_FAIR, "fair"),
    (
        "ngx_http_substitutions_filter_module",
        NO_SUBS,
        "subs_filter subs_filter_types subs_filter_bypass subs_buffers subs_line_buffer_size",
    ),
    ("ngx_pagespeed", NO_PAGESPEED, "pagespeed pagespeed_file_cache_path"),
    ("nginx-rtmp-module", NO_RTMP, "rtmp rtmp_stat rtmp_stat_stylesheet rtmp_control rtmp_auto_push"),
    (
        "echo-nginx-module",
        THIRD_PARTY,
        "echo_foreach_split echo_end echo_subrequest echo_subrequest_async echo_read_request_body \
         echo_request_body echo_abort_parent echo_before_body echo_after_body",
    ),
    (
        "nginx-module-vts",
        THIRD_PARTY,
        "vhost_traffic_status_limit_traffic vhost_traffic_status_limit_traffic_by_set_key \
         vhost_traffic_status_measure_status_codes vhost_traffic_status_set_by_filter",
    ),
    ("headers-more-nginx-module", THIRD_PARTY, "headers_more"),
    ("rds-json-nginx-module and xss-nginx-module", THIRD_PARTY, "rds_json xss_get"),
];

/// Prefixes of unsupported directives and variables, for modules with many of them: module, reason, and prefixes
/// separated by spaces. Directives of Myriad take precedence, such as `proxy_connect_timeout`.
const BEGINNINGS: &[(&str, &str, &str)] = &[
    ("lua-nginx-module", NO_SCRIPTS, "lua_"),
    ("njs", NO_SCRIPTS, "js_"),
    ("Phusion Passenger", NO_PROGRAMS, "passenger_"),
    ("ModSecurity-nginx, naxsi and testcookie", NO_FIREWALL, "modsecurity_ naxsi_ testcookie_"),
    ("nchan and nginx-push-stream-module", NO_CHANNELS, "nchan_ push_"),
    ("srcache-nginx-module", NO_STORE, "srcache_"),
    ("memc-nginx-module", NO_STORE, "memc_"),
    ("ngx_http_redis and redis2-nginx-module", NO_STORE, "redis_ redis2_"),
    ("ngx_slowfs_cache", FILES_IN_MEMORY, "slowfs_"),
    ("nginx-upload-progress-module", NO_PROGRESS, "upload_progress"),
    ("nginx-upload-module", NO_FORMS, "upload_"),
    ("nginx-vod-module", NO_VOD, "vod_"),
    ("ngx_pagespeed", NO_PAGESPEED, "pagespeed_"),
    ("nginx-rtmp-module", NO_RTMP, "rtmp_"),
    ("Tengine's module sysguard", OWN_OVERLOAD, "sysguard_"),
    ("ngx_http_dyups_module and Tengine", OWN_RESOLVE, "dyups_"),
    ("Tengine", NO_MODULE, "tfs_ xquic_ xudp_"),
    ("Tengine's module dubbo", NO_DUBBO, "dubbo_"),
    ("ngx_http_proxy_connect_module", OWN_TUNNEL, "proxy_connect_"),
    ("Angie", OWN_RESOLVE, "docker_"),
    ("Angie", OWN_CHECKS, "upstream_probe_"),
    ("Angie's module acme", OWN_ACME, "acme_cert_ acme_hook_"),
];

/// Suffixes of the directives of lua-nginx-module, which are not supported.
const ENDS: &[&str] = &["_by_lua", "_by_lua_block", "_by_lua_file"];

/// Iterates over all directives of [`GROUPS`].
pub(crate) fn all() -> impl Iterator<Item = KnownDirective> {
    GROUPS.iter().flat_map(|&(module, reason, names)| {
        names.split_whitespace().map(move |name| KnownDirective { name, module, reason })
    })
}

/// Returns the entry of an unsupported directive by its name, or by its prefix or suffix; `None` if the name is not
/// known.
pub(crate) fn known(name: &str) -> Option<KnownDirective> {
    static BY_NAME: OnceLock<HashMap<&'static str, KnownDirective>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| all().map(|directive| (directive.name, directive)).collect());
    by_name.get(name).copied().or_else(|| of_family(name))
}

/// Returns the module of an unsupported variable by its prefix or suffix, and the reason or alternative; `None` if it
/// is not known.
pub fn module_of_variable(name: &str) -> Option<(&'static str, &'static str)> {
    of_family(name).map(|known| (known.module, known.reason))
}

/// Returns the entry of a name that is not in [`GROUPS`] by its prefix or suffix, with an empty `name`; `None` if none
/// matches.
fn of_family(name: &str) -> Option<KnownDirective> {
    if !name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')) {
        return None;
    }
    let begins = BEGINNINGS.iter().find_map(|&(module, reason, beginnings)| {
        let begins = beginnings.split_whitespace().any(|beginning| name.starts_with(beginning));
        begins.then_some(KnownDirective { name: "", module, reason })
    });
    let ends = || {
        let ends = ENDS.iter().any(|end| name.ends_with(end));
        ends.then_some(KnownDirective { name: "", module: "lua-nginx-module", reason: NO_SCRIPTS })
    };
    begins.or_else(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_of_names_are_refused_with_their_module_and_remedy() {
        let found = |name: &str| known(name).map(|directive| (directive.module, directive.reason));
        assert_eq!(found("memc_connect_timeout"), Some(("memc-nginx-module", NO_STORE)));
        assert_eq!(found("upload_progress_json_output"), Some(("nginx-upload-progress-module", NO_PROGRESS)));
        assert_eq!(found("upload_cleanup"), Some(("nginx-upload-module", NO_FORMS)));
        assert_eq!(found("balancer_by_lua_block"), Some(("lua-nginx-module", NO_SCRIPTS)));
        assert_eq!(found("vod_fallback_upstream_location"), Some(("nginx-vod-module", NO_VOD)));
        assert_eq!(found("slowfs_cache_path"), Some(("ngx_slowfs_cache", FILES_IN_MEMORY)));
        assert_eq!(found("acme_client"), Some(("Angie's module acme", OWN_ACME)));
        assert_eq!(found("dubbo_arg"), Some(("Tengine's module dubbo", NO_DUBBO)));
        assert_eq!(found("iwrr"), Some(("Tengine", OWN_BALANCING)));
        assert_eq!(module_of_variable("acme_cert_key_example"), Some(("Angie's module acme", OWN_ACME)));
        assert_eq!(module_of_variable("slowfs_cache_status"), Some(("ngx_slowfs_cache", FILES_IN_MEMORY)));
        assert_eq!(module_of_variable("acme_certificate"), None);
        assert_eq!(found("js_main/handler.js"), None, "no name of a directive");
        assert_eq!(found("memcache"), None);
    }

    #[test]
    fn replaced_directives_of_nginx_plus_name_the_replacement() {
        let reason = |name: &str| known(name).map_or("", |directive| directive.reason);
        assert!(reason("status").starts_with("use api "));
        assert!(reason("upstream_conf").contains("api write=on"));
        assert_eq!(reason("sticky_cookie_insert"), OWN_STICKY);
    }

    #[test]
    fn no_family_hides_a_name_of_the_table() {
        for directive in all() {
            assert!(
                of_family(directive.name).is_none_or(|family| family.reason == directive.reason),
                "{}",
                directive.name
            );
        }
    }
}
