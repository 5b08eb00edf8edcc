//! Output of `-v` and `-V`: the version of this binary, and the modules of nginx that it supports.

use std::fmt::Write;

use myriad_conf::registry::{BUILD_FEATURES, DirectiveRow, DirectiveStatus};
use myriad_serve::registry;

/// Release of nginx that determines the supported configuration language. Tools compare this version with the one that
/// they require.
const NGINX_LEVEL: &str = "1.31.4";

/// Options of nginx's `configure` for libraries and mechanisms that this binary has.
const PRESENT: &[&str] = &["--with-pcre", "--with-pcre-jit", "--with-threads", "--with-debug"];

/// HTTP modules that nginx builds by default, each with the directive that identifies it.
const DEFAULT: &[(&str, &str)] = &[
    ("charset", "charset"),
    ("gzip", "gzip"),
    ("ssi", "ssi"),
    ("userid", "userid"),
    ("access", "allow"),
    ("auth_basic", "auth_basic"),
    ("mirror", "mirror"),
    ("autoindex", "autoindex"),
    ("geo", "geo"),
    ("map", "map"),
    ("split_clients", "split_clients"),
    ("referer", "valid_referers"),
    ("rewrite", "rewrite"),
    ("proxy", "proxy_pass"),
    ("fastcgi", "fastcgi_pass"),
    ("uwsgi", "uwsgi_pass"),
    ("scgi", "scgi_pass"),
    ("grpc", "grpc_pass"),
    ("memcached", "memcached_pass"),
    ("limit_conn", "limit_conn"),
    ("limit_req", "limit_req"),
    ("empty_gif", "empty_gif"),
    ("browser", "modern_browser"),
    ("upstream_hash", "hash"),
    ("upstream_ip_hash", "ip_hash"),
    ("upstream_least_conn", "least_conn"),
    ("upstream_least_time", "least_time"),
    ("upstream_random", "random"),
    ("upstream_keepalive", "keepalive"),
    ("upstream_zone", "zone"),
    ("upstream_sticky", "sticky"),
    ("tunnel", "tunnel_pass"),
];

/// HTTP modules that nginx builds only on request, each with the directive that identifies it.
const OPTIONAL: &[(&str, &str)] = &[
    ("realip", "set_real_ip_from"),
    ("addition", "add_before_body"),
    ("sub", "sub_filter"),
    ("dav", "dav_methods"),
    ("flv", "flv"),
    ("mp4", "mp4"),
    ("image_filter", "image_filter"),
    ("gunzip", "gunzip"),
    ("gzip_static", "gzip_static"),
    ("auth_request", "auth_request"),
    ("random_index", "random_index"),
    ("secure_link", "secure_link"),
    ("slice", "slice"),
    ("stub_status", "stub_status"),
    ("ssl", "ssl_certificate"),
    ("v2", "http2"),
    ("v3", "http3"),
];

/// Stream modules that nginx builds by default, each with the directive that identifies it.
const STREAM_DEFAULT: &[(&str, &str)] = &[
    ("limit_conn", "limit_conn"),
    ("access", "allow"),
    ("geo", "geo"),
    ("map", "map"),
    ("split_clients", "split_clients"),
    ("return", "return"),
    ("pass", "pass"),
    ("set", "set"),
    ("upstream_hash", "hash"),
    ("upstream_least_conn", "least_conn"),
    ("upstream_least_time", "least_time"),
    ("upstream_random", "random"),
    ("upstream_zone", "zone"),
];

/// Stream modules that nginx builds only on request, each with the directive that identifies it.
const STREAM_OPTIONAL: &[(&str, &str)] =
    &[("ssl", "ssl_certificate"), ("realip", "set_real_ip_from"), ("ssl_preread", "ssl_preread")];

/// Returns the output of `-v`, or of `-V` if `configure` is true.
pub fn text(configure: bool) -> String {
    let mut text = format!("myriad version: myriad/{}\n", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(text, "nginx version: nginx/{NGINX_LEVEL}");
    if configure {
        if is_here(&registry().rows(), "ssl_certificate") {
            // Tools search this line to find out whether TLS is supported.
            text.push_str(
                "built with OpenSSL 3.5.0 (compatible TLS behavior; the implementation is rustls)\n",
            );
            text.push_str("TLS SNI support enabled\n");
        }
        let _ = writeln!(text, "features: {}", features());
        let _ = writeln!(text, "configure arguments: {}", arguments(&registry().rows()).join(" "));
    }
    text
}

/// Returns the names of the optional features in this build, then in parentheses the names of the missing ones.
fn features() -> String {
    let names = |is_compiled: bool| -> Vec<_> {
        let features = BUILD_FEATURES.iter().filter(|feature| feature.is_compiled == is_compiled);
        features.map(|feature| feature.name).collect()
    };
    let (compiled, missing) = (names(true), names(false));
    match (compiled.is_empty(), missing.is_empty()) {
        (_, true) => compiled.join(" "),
        (true, false) => format!("none (without {})", missing.join(" ")),
        (false, false) => format!("{} (without {})", compiled.join(" "), missing.join(" ")),
    }
}

/// Returns the arguments with which the `configure` of nginx would build the same modules.
fn arguments(rows: &[DirectiveRow]) -> Vec<String> {
    let with = OPTIONAL.iter().filter(|(_, directive)| is_here(rows, directive));
    let without = DEFAULT.iter().filter(|(_, directive)| !is_here(rows, directive));
    let has_streams = is_here(rows, "stream");
    let stream = has_streams.then_some(&"--with-stream");
    let present = PRESENT.iter().chain(stream).map(|&argument| argument.to_owned());
    let of_streams = |modules: &'static [(&str, &str)]| modules.iter().filter(move |_| has_streams);
    let with_stream = of_streams(STREAM_OPTIONAL).filter(|(_, directive)| is_in_streams(rows, directive));
    let without_stream = of_streams(STREAM_DEFAULT).filter(|(_, directive)| !is_in_streams(rows, directive));
    present
        .chain(with_stream.map(|(module, _)| format!("--with-stream_{module}_module")))
        .chain(without_stream.map(|(module, _)| format!("--without-stream_{module}_module")))
        .chain(with.map(|(module, _)| format!("--with-http_{module}_module")))
        .chain(without.map(|(module, _)| format!("--without-http_{module}_module")))
        .collect()
}

/// Returns whether a directive is implemented, or accepted without effect.
fn is_here(rows: &[DirectiveRow], directive: &str) -> bool {
    rows.iter().any(|row| row.name == directive && is_obeyed(row.status))
}

/// Returns whether a directive is implemented, or accepted without effect, within `stream`.
fn is_in_streams(rows: &[DirectiveRow], directive: &str) -> bool {
    let named = rows.iter().filter(|row| row.name == directive && row.contexts.contains("stream"));
    named.into_iter().any(|row| is_obeyed(row.status))
}

fn is_obeyed(status: DirectiveStatus) -> bool {
    matches!(status, DirectiveStatus::Same | DirectiveStatus::Differs(_) | DirectiveStatus::NoEffect(_))
}

#[cfg(test)]
mod tests {
    use myriad_conf::registry::BuildFeature;

    use super::*;

    #[test]
    fn own_version_comes_first_then_the_level_of_the_language() {
        let lines: Vec<_> = text(true).lines().map(str::to_owned).collect();
        assert!(lines[0].starts_with("myriad version: myriad/"));
        assert_eq!(lines[1], "nginx version: nginx/1.31.4");
        assert!(lines[2].starts_with("built with OpenSSL 3.5.0 "));
        assert_eq!(lines[3], "TLS SNI support enabled");
        assert!(lines[4].starts_with("features: "));
        assert!(lines[5].starts_with("configure arguments: --with-pcre "));
    }

    #[test]
    fn every_optional_feature_is_listed_once() {
        let features = features();
        for feature in BUILD_FEATURES {
            assert_eq!(features.matches(feature.name).count(), 1, "{features}");
            let is_compiled = features.split(" (without ").next().unwrap().contains(feature.name);
            assert_eq!(is_compiled, feature.is_compiled, "{features}");
        }
    }

    #[test]
    fn implemented_modules_are_not_listed_as_missing() {
        let printed = arguments(&registry().rows());
        let without = |module: &str| printed.contains(&format!("--without-http_{module}_module"));
        for here in
            ["rewrite", "access", "map", "fastcgi", "gzip", "geo", "split_clients", "charset", "proxy"]
        {
            assert!(!without(here), "{here}");
        }
        for here in ["uwsgi", "scgi"] {
            assert!(!without(here), "{here}");
        }
        for here in ["hash", "ip_hash", "least_conn", "random", "keepalive", "zone", "sticky"] {
            assert!(!without(&format!("upstream_{here}")), "{here}");
        }
        for here in ["memcached", "grpc"] {
            assert!(!without(here), "{here}");
        }
        assert!(printed.contains(&"--with-http_gzip_static_module".to_owned()));
        assert!(printed.contains(&"--with-http_ssl_module".to_owned()));
        assert!(printed.contains(&"--with-http_v2_module".to_owned()));
        let has_http3 = BuildFeature::missing("http3").is_none();
        assert_eq!(printed.contains(&"--with-http_v3_module".to_owned()), has_http3);
    }

    #[test]
    fn every_module_is_recognised_by_a_directive_that_the_registry_knows() {
        let rows = registry().rows();
        for (module, directive) in DEFAULT.iter().chain(OPTIONAL) {
            let is_missing = BuildFeature::missing_for_directive(directive).is_some();
            assert!(rows.iter().any(|row| row.name == *directive) != is_missing, "{directive} of {module}");
        }
    }

    #[test]
    fn what_the_registry_lifts_changes_the_list_by_itself() {
        let mut rows = registry().rows();
        let ssi = rows.iter_mut().find(|row| row.name == "ssi").expect("a row");
        ssi.status = DirectiveStatus::Same;
        assert!(!arguments(&rows).contains(&"--without-http_ssi_module".to_owned()));
    }
}
