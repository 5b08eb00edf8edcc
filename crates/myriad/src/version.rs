//! `-v` and `-V`: what this binary is, and which part of nginx's language it speaks.

use std::fmt::Write;

/// The release of nginx whose documented language is spoken; tools compare with it.
const NGINX_LEVEL: &str = "1.31.4";

/// Modules that nginx builds by default and that are not here, as `--without-http_NAME_module`.
const ABSENT: &[&str] = &[
    "charset",
    "ssi",
    "userid",
    "auth_basic",
    "mirror",
    "autoindex",
    "geo",
    "split_clients",
    "referer",
    "proxy",
    "uwsgi",
    "scgi",
    "grpc",
    "memcached",
    "limit_conn",
    "limit_req",
    "empty_gif",
    "browser",
    "upstream_hash",
    "upstream_ip_hash",
    "upstream_least_conn",
    "upstream_least_time",
    "upstream_random",
    "upstream_keepalive",
    "upstream_zone",
    "upstream_sticky",
    "tunnel",
];

/// Modules that nginx builds only when asked and that are here.
const PRESENT: &[&str] = &["--with-pcre", "--with-pcre-jit", "--with-threads"];

/// The text of `-v`; with `configure`, that of `-V`.
pub(crate) fn text(configure: bool) -> String {
    let mut text = format!("myriad version: myriad/{}\n", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(text, "nginx version: nginx/{NGINX_LEVEL}");
    if configure {
        text.push_str("configure arguments:");
        for argument in PRESENT {
            let _ = write!(text, " {argument}");
        }
        for module in ABSENT {
            let _ = write!(text, " --without-http_{module}_module");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_version_comes_first_then_the_level_of_the_language() {
        let lines: Vec<_> = text(true).lines().map(str::to_owned).collect();
        assert!(lines[0].starts_with("myriad version: myriad/"));
        assert_eq!(lines[1], "nginx version: nginx/1.31.4");
        assert!(lines[2].contains("--without-http_ssi_module"));
        for present in ["rewrite", "access", "map", "fastcgi", "gzip"] {
            assert!(!lines[2].contains(&format!("--without-http_{present}_module")), "{present}");
        }
        assert!(!lines[2].contains("--without-pcre") && !lines[2].contains("--without-http-cache"));
    }
}
