//! Compiled `valid_referers`, and the check of a `Referer` against it.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use myriad_http::uri::after_scheme;
use myriad_script::{EvalError, Frame, Regex};
use smallvec::SmallVec;

/// Maximum length of a referer's host, in bytes, as in nginx; a longer host is invalid.
const LONGEST_HOST: usize = 256;
/// Minimum length of a referer URL, in bytes, as in nginx: `http://i.ru`. A shorter one counts as `blocked`.
const SHORTEST_URL: usize = 11;

/// Prefix that the path of a valid referer URL must have; `None` for any path.
type PathPrefix = Option<Box<[u8]>>;
/// Hosts in lower case, each with its valid path prefixes.
type HostPaths = HashMap<Box<[u8]>, Vec<PathPrefix>, RandomState>;

/// Compiled `valid_referers` of a level.
#[derive(Default)]
pub(super) struct ValidReferers {
    /// `none`: true if a request without `Referer` is valid.
    pub none: bool,
    /// `blocked`: true if a `Referer` that is not a URL of at least [`SHORTEST_URL`] bytes is valid.
    pub blocked: bool,
    exact: HostPaths,
    /// Hosts with a leading wildcard: `.example.com` for `*.example.com`.
    suffixes: HostPaths,
    /// Hosts with a trailing wildcard: `www.example.` for `www.example.*`.
    prefixes: HostPaths,
    /// Regexes of server names, matched against the host.
    hosts: Vec<Regex>,
    /// Regexes matched against the URL after the scheme.
    urls: Vec<Regex>,
}

impl ValidReferers {
    /// Adds a valid host, which may contain a wildcard or a leading dot, and its path prefix; an empty `path` permits
    /// any path.
    pub(super) fn add(&mut self, host: &[u8], path: &[u8]) {
        let host = host.to_ascii_lowercase();
        let path = || (!path.is_empty()).then(|| path.into());
        let put = |hosts: &mut HostPaths, key: &[u8]| hosts.entry(key.into()).or_default().push(path());
        if let Some(suffix) = host.strip_prefix(b"*").filter(|rest| rest.starts_with(b".")) {
            put(&mut self.suffixes, suffix);
        } else if let Some(bare) = host.strip_prefix(b".") {
            put(&mut self.suffixes, &host);
            put(&mut self.exact, bare);
        } else if let Some(prefix) = host.strip_suffix(b"*").filter(|rest| rest.ends_with(b".")) {
            put(&mut self.prefixes, prefix);
        } else {
            put(&mut self.exact, &host);
        }
    }

    /// Adds a regex that the host of a valid referer matches.
    pub(super) fn add_host_regex(&mut self, regex: Regex) {
        self.hosts.push(regex);
    }

    /// Adds a regex that a valid referer matches after its scheme (`http://`).
    pub(super) fn add_url_regex(&mut self, regex: Regex) {
        self.urls.push(regex);
    }

    /// Returns true if no host or regex was added: nginx rejects `none` and `blocked` alone.
    pub(super) fn lists_no_site(&self) -> bool {
        self.exact.is_empty()
            && self.suffixes.is_empty()
            && self.prefixes.is_empty()
            && self.hosts.is_empty()
            && self.urls.is_empty()
    }

    /// Returns whether a request with this `Referer` is valid; `referer` is `None` for a request without it. If the
    /// host of the URL is listed, only the path prefixes of this host decide; otherwise the URL is valid if a regex
    /// matches. A host of more than 256 bytes is invalid. Regex captures are stored in `frame`. Returns an error if a
    /// regex fails.
    pub(super) fn is_valid(&self, referer: Option<&[u8]>, frame: &mut Frame) -> Result<bool, EvalError> {
        let Some(referer) = referer else { return Ok(self.none) };
        let url = after_scheme(referer).filter(|_| referer.len() >= SHORTEST_URL);
        let Some(url) = url else { return Ok(self.blocked) };
        let end = url.iter().position(|byte| matches!(byte, b'/' | b':')).unwrap_or(url.len());
        let host = url[..end].to_ascii_lowercase();
        if host.len() > LONGEST_HOST {
            return Ok(false);
        }
        if let Some(paths) = self.paths_of_host(&host) {
            let path = url.iter().position(|byte| *byte == b'/').map_or(&b""[..], |at| &url[at..]);
            let begins = |prefix: &PathPrefix| prefix.as_ref().is_none_or(|prefix| path.starts_with(prefix));
            return Ok(paths.iter().any(begins));
        }
        for regex in &self.hosts {
            if regex.matches(&host, frame)? {
                return Ok(true);
            }
        }
        for regex in &self.urls {
            if regex.matches(url, frame)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the path prefixes of a host: of the exact host, otherwise of the longest leading wildcard, otherwise of
    /// the longest trailing wildcard, as for server names. Returns `None` if the host is not listed.
    fn paths_of_host(&self, host: &[u8]) -> Option<&Vec<PathPrefix>> {
        let dots: SmallVec<[usize; 8]> =
            host.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at).collect();
        let suffix = || dots.iter().find_map(|at| self.suffixes.get(&host[*at..]));
        let prefix = || dots.iter().rev().find_map(|at| self.prefixes.get(&host[..=*at]));
        self.exact.get(host).or_else(suffix).or_else(prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid(referers: &ValidReferers, referer: &str) -> bool {
        referers.is_valid(Some(referer.as_bytes()), &mut Frame::new()).unwrap()
    }

    #[test]
    fn hosts_wildcards_and_paths_are_valid_as_written() {
        let mut referers = ValidReferers::default();
        referers.add(b"www.Example.org", b"/uri");
        referers.add(b"*.example.com", b"");
        referers.add(b".example.net", b"");
        referers.add(b"shop.*", b"");
        for good in [
            "http://www.example.org/uri",
            "HTTPS://WWW.example.org:8080/urii",
            "http://a.b.example.com",
            "http://example.net/",
            "http://x.example.net",
            "http://shop.anything.de/x",
            "http://shop.:80/",
            "http://.example.com",
        ] {
            assert!(valid(&referers, good), "{good}");
        }
        for bad in [
            "http://www.example.org",
            "http://www.example.org/uRi",
            "http://example.com",
            "http://notexample.com",
            "http://evil.org/www.example.org/uri",
            "www.example.org/uri",
            "http:///uri",
            "",
        ] {
            assert!(!valid(&referers, bad), "{bad}");
        }
    }

    #[test]
    fn what_is_no_url_is_blocked_and_what_is_not_there_is_none() {
        let mut referers = ValidReferers { blocked: true, ..ValidReferers::default() };
        referers.add(b"example.org", b"");
        assert!(
            valid(&referers, "") && valid(&referers, "http://su") && valid(&referers, "masked-by-a-firewall")
        );
        assert!(!valid(&referers, "http://example.com"));
        assert!(!referers.is_valid(None, &mut Frame::new()).unwrap());
        referers.none = true;
        assert!(referers.is_valid(None, &mut Frame::new()).unwrap());
    }

    #[test]
    fn host_of_any_length_is_no_trouble() {
        let mut referers = ValidReferers::default();
        referers.add(b"example.*", b"");
        assert!(!valid(&referers, &format!("http://example.{}", "a".repeat(300))));
        assert!(valid(&referers, &format!("http://example.{}", "a".repeat(200))));
        assert!(!valid(&referers, &format!("http://{}", ".".repeat(5000))));
    }
}
