//! URLs of pages that commands request.

use myriad_base::digits::decimal;
use myriad_http::uri::escape_target;

/// URL of a page: scheme, host, path and query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebTarget {
    /// True for an https URL, false for an http URL.
    pub tls: bool,
    /// Host, with the port unless it is the default of the scheme: the value of `Host`.
    pub authority: String,
    /// Path and query, without a fragment.
    pub path: String,
}

impl WebTarget {
    /// Parses `http://host[:port]/path?query`; without a scheme, `http` is assumed. Returns an error text for the user.
    pub fn parse(url: &str) -> Result<Self, String> {
        let refused =
            |why: &str| format!("\"{url}\" {why}; write http://example.com/ or https://example.com/");
        let (tls, rest) = if let Some(rest) = url.strip_prefix("https://") {
            (true, rest)
        } else if let Some(rest) = url.strip_prefix("http://") {
            (false, rest)
        } else if url.contains("://") {
            return Err(refused("does not start with http:// or https://"));
        } else {
            (false, url)
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let path = path.split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
        if authority.is_empty() || !authority.bytes().all(is_name) {
            return Err(refused("contains no host"));
        }
        let target = Self { tls, authority: authority.to_ascii_lowercase(), path: escape_target(&path) };
        if target.port().is_none() {
            return Err(refused("contains an invalid port"));
        }
        Ok(Self { authority: target.without_usual_port(), ..target })
    }

    /// Returns the URL of `path` on the same site. Percent-encodes characters that a URL must not contain.
    #[must_use]
    pub fn with_path(&self, path: &str) -> Self {
        Self { path: escape_target(path), ..self.clone() }
    }

    /// Returns the host without its port; an IPv6 address is returned with its brackets.
    pub fn host(&self) -> &str {
        let is_v6_alone = self.authority.ends_with(']');
        match self.authority.rsplit_once(':') {
            Some((host, _)) if !is_v6_alone => host,
            _ => &self.authority,
        }
    }

    /// Returns the port; `None` if it is invalid.
    fn port(&self) -> Option<u16> {
        match self.authority.get(self.host().len()..) {
            None | Some("") => Some(if self.tls { 443 } else { 80 }),
            Some(port) => decimal(port.strip_prefix(':')?).filter(|port| *port > 0),
        }
    }

    /// Returns the loopback address with the port of the URL.
    pub fn loopback_address(&self) -> String {
        format!("127.0.0.1:{}", self.port().unwrap_or(80))
    }

    fn without_usual_port(&self) -> String {
        let usual = if self.tls { ":443" } else { ":80" };
        let bare = self.authority.strip_suffix(usual).filter(|bare| !bare.is_empty() && !bare.ends_with(':'));
        bare.unwrap_or(&self.authority).to_owned()
    }
}

impl std::fmt::Display for WebTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}{}", if self.tls { "https" } else { "http" }, self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_visitors_name_them() {
        for (url, written, here) in [
            ("http://a.test", "http://a.test/", "127.0.0.1:80"),
            ("a.test:8080/x?y=1#z", "http://a.test:8080/x?y=1", "127.0.0.1:8080"),
            ("https://A.test:443?x", "https://a.test/?x", "127.0.0.1:443"),
            ("http://[::1]:81/a b\u{e9}", "http://[::1]:81/a%20b%C3%A9", "127.0.0.1:81"),
            ("http://[::1]/", "http://[::1]/", "127.0.0.1:80"),
        ] {
            let target = WebTarget::parse(url).expect(url);
            assert_eq!(
                (target.to_string().as_str(), target.loopback_address().as_str()),
                (written, here),
                "{url}"
            );
        }
        for bad in [
            "",
            "ftp://a/",
            "http:///x",
            "http://a:0/",
            "http://a:99999/",
            "http://a:b/",
            "http://a b/",
            "http://a\r\nX: y/",
        ] {
            assert!(WebTarget::parse(bad).expect_err(bad).contains("write http://"), "{bad}");
        }
        assert_eq!(WebTarget::parse("http://[::1]:81/").expect("v6").host(), "[::1]");
    }
}
