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
const REMOVED: &str = "nginx itself removed it";
const COMMERCIAL: &str = "it belongs to nginx's commercial version";
const THIRD_PARTY: &str = "it belongs to a module that is not part of nginx";
const NO_SCRIPTS: &str = "it runs no scripts: compute values with map, set and rewrite, and let auth_request ask a program of yours";
const NO_PROGRAMS: &str =
    "it starts no programs: start yours beside it, and pass requests on with proxy_pass";
const NO_FIREWALL: &str = "it does not judge what requests contain: pass them with proxy_pass through a firewall that runs by itself, or \
                           refuse some with map, deny and limit_req";
const NO_CHANNELS: &str =
    "it keeps no messages for subscribers: pass these requests with proxy_pass to a server that does";
const NO_STORE: &str = "it keeps answers itself: use proxy_cache, fastcgi_cache, uwsgi_cache or scgi_cache";
const NO_PROGRESS: &str =
    "a page can follow its upload itself: browsers tell scripts how much they sent (upload.onprogress)";
const NO_FORMS: &str = "it leaves uploads to the program behind: use proxy_pass or fastcgi_pass, and bound them with client_max_body_size";
const NO_PAM: &str =
    "it does not ask the system for passwords: use auth_basic, or auth_request to a program that asks";
const NO_FAIR: &str = "use least_conn";
const NO_SUBS: &str = "use sub_filter";
const NO_PAGESPEED: &str = "it does not rewrite pages: what makes them can make them small, and gzip, brotli and the cache do the rest";
const NO_RTMP: &str = "it is no server of streams: run one beside it, pass its port on in a stream block, and serve what it writes as files";
const NO_MAIL: &str =
    "it does not speak protocols of mail: pass their ports on in a stream block to a server that does";

/// Module, reason, names separated by spaces.
const GROUPS: &[(&str, &str, &str)] = &[
    ("devpoll", OTHER_SYSTEM, "devpoll_changes devpoll_events"),
    ("eventport", OTHER_SYSTEM, "eventport_events"),
    ("iocp", OTHER_SYSTEM, "iocp_threads post_acceptex acceptex_read"),
    ("kqueue", OTHER_SYSTEM, "kqueue_changes kqueue_events"),
    ("event_openssl", NOT_YET, "ssl_engine"),
    ("browser", NO_MODULE, "modern_browser ancient_browser modern_browser_value ancient_browser_value"),
    ("degradation", NO_MODULE, "degradation degrade"),
    ("ssl", NO_ECH, "ssl_ech_file"),
    ("uwsgi", NO_MODULE, "uwsgi_string"),
    (
        "xslt",
        NO_MODULE,
        "xml_entities xml_external_entities xslt_stylesheet xslt_param xslt_string_param xslt_types \
         xslt_last_modified",
    ),
    ("perl", NO_SCRIPTS, "perl_modules perl_require perl perl_set"),
    ("core", NOT_YET, "client_body_early_read"),
    (
        "mail",
        NO_MAIL,
        "mail auth_http auth_http_timeout auth_http_header auth_http_pass_client_cert protocol timeout \
         max_errors imap_client_buffer imap_capabilities imap_auth pop3_capabilities pop3_auth proxy \
         proxy_buffer proxy_pass_error_message xclient proxy_smtp_auth \
         smtp_client_buffer smtp_greeting_delay smtp_capabilities smtp_auth starttls",
    ),
    ("google_perftools", NO_MODULE, "google_perftools_profiles"),
    ("stream", NOT_YET, "proxy_downstream_buffer proxy_upstream_buffer"),
    ("stream", THIRD_PARTY, "mqtt mqtt_preread mqtt_set_connect mqtt_buffers"),
    (
        "removed",
        REMOVED,
        "spdy_chunk_size spdy_headers_comp limit_zone satisfy_any open_file_cache_retest optimize_server_names",
    ),
    (
        "commercial",
        COMMERCIAL,
        "ssl_key_log proxy_ssl_key_log grpc_ssl_key_log uwsgi_ssl_key_log status status_format ntlm auth_jwt \
         auth_jwt_claim_set auth_jwt_header_set auth_jwt_key_file auth_jwt_key_request auth_jwt_leeway \
         auth_jwt_type auth_jwt_require auth_jwt_key_cache auth_oidc oidc_provider auth_require f4f \
         f4f_buffer_size hls hls_buffers hls_forward_args hls_fragment hls_mp4_buffer_size \
         hls_mp4_max_buffer_size internal_redirect keyval keyval_zone mgmt num_map session_log \
         session_log_format session_log_zone slow_start sticky_cookie_insert upstream_conf zone_sync \
         zone_sync_server",
    ),
    (
        "lua",
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
    ("passenger", NO_PROGRAMS, "passenger_enabled passenger_root passenger_ruby"),
    (
        "modsecurity, naxsi",
        NO_FIREWALL,
        "modsecurity modsecurity_rules modsecurity_rules_file modsecurity_rules_remote modsecurity_transaction_id \
         modsecurity_use_error_log naxsi naxsi_extended testcookie",
    ),
    ("nchan", NO_CHANNELS, "nchan_publisher nchan_subscriber nchan_pubsub push_publisher push_subscriber"),
    ("push_stream", NO_CHANNELS, "push_stream_publisher push_stream_subscriber"),
    (
        "memc, redis, srcache",
        NO_STORE,
        "memc_pass redis_pass redis2_query redis2_pass srcache_fetch srcache_store",
    ),
    ("upload_progress", NO_PROGRESS, "upload_progress track_uploads report_uploads"),
    ("upload", NO_FORMS, "upload_pass upload_store"),
    ("auth_pam", NO_PAM, "auth_pam auth_pam_service_name auth_pam_set_pam_env"),
    ("upstream_fair", NO_FAIR, "fair"),
    (
        "substitutions",
        NO_SUBS,
        "subs_filter subs_filter_types subs_filter_bypass subs_buffers subs_line_buffer_size",
    ),
    ("pagespeed", NO_PAGESPEED, "pagespeed pagespeed_file_cache_path concat"),
    ("rtmp", NO_RTMP, "rtmp rtmp_stat rtmp_stat_stylesheet rtmp_control rtmp_auto_push"),
    (
        "third party",
        THIRD_PARTY,
        "echo_foreach_split echo_end echo_subrequest echo_subrequest_async echo_read_request_body \
         echo_request_body echo_abort_parent echo_before_body echo_after_body headers_more \
         vhost_traffic_status_limit_traffic vhost_traffic_status_limit_traffic_by_set_key \
         vhost_traffic_status_measure_status_codes vhost_traffic_status_set_by_filter rds_json xss_get",
    ),
];

/// Reason, beginnings of names separated by spaces, for modules that have many: no directive of Myriad begins so.
const BEGINNINGS: &[(&str, &str)] = &[
    (NO_SCRIPTS, "lua_ js_"),
    (NO_PROGRAMS, "passenger_"),
    (NO_FIREWALL, "modsecurity_ naxsi_ testcookie_"),
    (NO_CHANNELS, "nchan_ push_"),
    (NO_STORE, "memc_ redis_ redis2_ srcache_"),
    (NO_PROGRESS, "upload_progress"),
    (NO_FORMS, "upload_"),
    (NO_PAGESPEED, "pagespeed_"),
    (NO_RTMP, "rtmp_"),
];

/// Ends of names, of Lua's many directives.
const ENDS: &[&str] = &["_by_lua", "_by_lua_block", "_by_lua_file"];

/// Every name of the table.
pub(crate) fn all() -> impl Iterator<Item = KnownDirective> {
    GROUPS.iter().flat_map(|&(module, reason, names)| {
        names.split_whitespace().map(move |name| KnownDirective { name, module, reason })
    })
}

/// Why a directive of this name is refused, if it is known.
pub(crate) fn known(name: &str) -> Option<&'static str> {
    static BY_NAME: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| all().map(|directive| (directive.name, directive.reason)).collect());
    by_name.get(name).copied().or_else(|| of_family(name))
}

/// The same of a name that the table lacks, by how it begins or ends.
fn of_family(name: &str) -> Option<&'static str> {
    let named = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    let begins = || {
        BEGINNINGS.iter().find(|(_, beginnings)| {
            beginnings.split_whitespace().any(|beginning| name.starts_with(beginning))
        })
    };
    if !named {
        return None;
    }
    let ends = || ENDS.iter().any(|end| name.ends_with(end)).then_some(NO_SCRIPTS);
    begins().map(|(reason, _)| *reason).or_else(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_of_names_are_refused_with_their_remedy() {
        assert_eq!(known("memc_connect_timeout"), Some(NO_STORE));
        assert_eq!(known("upload_progress_json_output"), Some(NO_PROGRESS));
        assert_eq!(known("upload_cleanup"), Some(NO_FORMS));
        assert_eq!(known("balancer_by_lua_block"), Some(NO_SCRIPTS));
        assert_eq!(known("js_main/handler.js"), None, "no name of a directive");
        assert_eq!(known("memcache"), None);
    }

    #[test]
    fn no_family_hides_a_name_of_the_table() {
        for directive in all() {
            assert!(
                of_family(directive.name).is_none_or(|reason| reason == directive.reason),
                "{}",
                directive.name
            );
        }
    }
}
