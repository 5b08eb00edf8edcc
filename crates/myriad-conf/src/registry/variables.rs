//! Every variable of nginx's HTTP modules, with how it fares here.
//!
//! The sources of their values stand in `myriad-serve/src/exchange/variables/names.rs`; a test there holds the two lists
//! against each other. A name that ends with `_` stands for all that begin with it.

use super::{NOT_YET, Status};

/// A variable that nginx, or Myriad, makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name without the `$`.
    pub name: &'static str,
    /// nginx's module, as its manual names it.
    pub module: &'static str,
    /// How it fares here.
    pub status: Status,
}

const NO_MODULE: &str = "Myriad does not have this module";
const INTERNAL: &str = "nginx uses it inside and does not document it";

/// Module, status, names separated by spaces. A name with a note of its own has a line of its own.
const GROUPS: &[(&str, Status, &str)] = &[
    (
        "core",
        Status::Same,
        "arg_ args binary_remote_addr body_bytes_sent bytes_sent connection connection_requests connection_time \
         content_length content_type cookie_ document_root document_uri host hostname http_ https is_args limit_rate \
         msec nginx_version pid pipe query_string realpath_root remote_addr remote_port remote_user request \
         request_body request_body_file request_completion request_filename request_id request_length request_method request_time request_uri scheme \
         sent_http_ sent_trailer_ server_addr server_name server_port server_protocol status time_iso8601 time_local \
         uri",
    ),
    (
        "core",
        Status::Same,
        "proxy_protocol_addr proxy_protocol_port proxy_protocol_server_addr proxy_protocol_server_port \
         proxy_protocol_tlv_",
    ),
    ("core", Status::Same, "is_request_port request_port"),
    ("core", Status::Same, "tcpinfo_rtt tcpinfo_rttvar tcpinfo_snd_cwnd tcpinfo_rcv_space"),
    ("browser", Status::Refused(NO_MODULE), "msie modern_browser ancient_browser"),
    ("fastcgi", Status::Same, "fastcgi_script_name fastcgi_path_info"),
    (
        "geoip",
        Status::Refused(NO_MODULE),
        "geoip_country_code geoip_country_code3 geoip_country_name geoip_org geoip_city_continent_code \
         geoip_city_country_code geoip_city_country_code3 geoip_city_country_name geoip_region geoip_region_name \
         geoip_city geoip_postal_code geoip_latitude geoip_longitude geoip_dma_code geoip_area_code",
    ),
    ("grpc", Status::Refused(INTERNAL), "grpc_internal_trailers"),
    ("brotli", Status::Same, "brotli_ratio"),
    ("gzip", Status::Same, "gzip_ratio"),
    ("limit_conn", Status::Same, "limit_conn_status"),
    ("limit_req", Status::Same, "limit_req_status"),
    ("zstd", Status::Same, "zstd_ratio"),
    ("memcached", Status::Refused(NO_MODULE), "memcached_key"),
    ("proxy", Status::Same, "proxy_host proxy_port proxy_add_x_forwarded_for"),
    ("proxy", Status::Refused(NOT_YET), "proxy_add_via"),
    ("proxy", Status::Refused(INTERNAL), "proxy_internal_body_length proxy_internal_chunked"),
    ("proxy", Status::Own, "proxy_internal_uri proxy_internal_scheme"),
    ("realip", Status::Same, "realip_remote_addr realip_remote_port"),
    ("referer", Status::Same, "invalid_referer"),
    ("secure_link", Status::Refused(NO_MODULE), "secure_link secure_link_expires"),
    ("slice", Status::Same, "slice_range"),
    ("ssi", Status::Same, "date_local date_gmt"),
    (
        "ssl",
        Status::Same,
        "ssl_protocol ssl_cipher ssl_curve ssl_session_reused ssl_server_name ssl_alpn_protocol \
         ssl_ciphers ssl_curves ssl_sigalg ssl_sigalgs ssl_early_data ssl_client_cert ssl_client_raw_cert \
         ssl_client_escaped_cert ssl_client_s_dn ssl_client_i_dn ssl_client_s_dn_legacy ssl_client_i_dn_legacy \
         ssl_client_serial ssl_client_fingerprint ssl_client_verify ssl_client_v_start ssl_client_v_end \
         ssl_client_v_remain ssl_client_sigalg",
    ),
    (
        "ssl",
        Status::Differs(
            "a number of the session's that stays the same when it is resumed, in TLS 1.3 too; over HTTP/3 one of the connection's",
        ),
        "ssl_session_id",
    ),
    (
        "ssl",
        Status::Differs("empty, as in nginx with a library that has no encrypted hellos"),
        "ssl_ech_status ssl_ech_outer_server_name",
    ),
    (
        "stub_status",
        Status::Same,
        "connections_active connections_reading connections_writing connections_waiting",
    ),
    (
        "upstream",
        Status::Same,
        "upstream_addr upstream_status upstream_connect_time upstream_header_time upstream_response_time \
         upstream_bytes_received upstream_bytes_sent upstream_cache_status \
         upstream_cache_last_modified upstream_cache_etag upstream_http_ upstream_cookie_",
    ),
    ("upstream", Status::Refused(NOT_YET), "upstream_trailer_"),
    (
        "upstream",
        Status::Differs("over FastCGI the body's length alone; nginx counts the protocol's records with it"),
        "upstream_response_length",
    ),
    ("core", Status::Own, "device_class"),
    ("upstream", Status::Own, "upstream_cache_key upstream_cache_age"),
    ("userid", Status::Refused(NO_MODULE), "uid_got uid_set uid_reset"),
    ("v2", Status::Same, "http2"),
    ("v3", Status::Same, "http3"),
];

/// Every variable, by module.
pub fn variables() -> impl Iterator<Item = Variable> {
    GROUPS.iter().flat_map(|&(module, status, names)| {
        names.split_whitespace().map(move |name| Variable { name, module, status })
    })
}

/// The variable behind a name, `http_` for `http_user_agent`.
pub fn variable(name: &str) -> Option<Variable> {
    let exact = variables().find(|known| known.name == name);
    let prefixed = || variables().find(|known| known.name.ends_with('_') && name.starts_with(known.name));
    exact.or_else(prefixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_is_listed_twice() {
        let mut names: Vec<&str> = variables().map(|variable| variable.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn a_name_finds_itself_before_its_prefix() {
        assert_eq!(variable("http_user_agent").map(|found| found.name), Some("http_"));
        assert_eq!(variable("http2").map(|found| found.name), Some("http2"));
        assert_eq!(variable("upstream_cache_status").map(|found| found.name), Some("upstream_cache_status"));
        assert_eq!(variable("nothing"), None);
    }
}
