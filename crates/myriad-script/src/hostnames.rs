//! Host names with an optional wildcard at one side: `*.example.com`, `.example.com`, `www.example.*`.

use std::cmp::Ordering;

use smallvec::SmallVec;

/// Host name that is stored inline if it is short, so that a lookup accesses one cache line less.
type InlineName = SmallVec<[u8; 24]>;

/// Map from names to values, with the search order of nginx's `server_name` and `map`: exact name, then the longest
/// name `*.…`, then the longest name `….*`. The caller tries regular expressions afterwards.
#[derive(Debug, Clone)]
pub struct Hostnames<V> {
    exact: Vec<(InlineName, V)>,
    /// Names `*.example.com`, without the star and its dot.
    leading: Vec<(InlineName, V)>,
    /// Names `www.example.*`, without the dot and the star.
    trailing: Vec<(InlineName, V)>,
}

impl<V> Default for Hostnames<V> {
    fn default() -> Hostnames<V> {
        Hostnames { exact: Vec::new(), leading: Vec::new(), trailing: Vec::new() }
    }
}

/// Reason why a name cannot be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostnameError {
    /// The map already contains the name.
    Conflict,
    /// The name consists of a wildcard only, has several stars, or has a star that is not its whole first or last label.
    Invalid,
}

impl<V: Clone> Hostnames<V> {
    /// Adds a name that is compared as it is (ignoring letter case), even if it contains a star.
    pub fn insert_exact(&mut self, name: &str, value: V) -> Result<(), HostnameError> {
        insert(&mut self.exact, name, value)
    }

    /// Adds a name that may have a wildcard at one side. `.example.com` stands for `example.com` and `*.example.com`.
    pub fn insert(&mut self, name: &str, value: V) -> Result<(), HostnameError> {
        if let Some(domain) = name.strip_prefix('.') {
            check_plain(domain)?;
            insert(&mut self.exact, domain, value.clone())?;
            return insert(&mut self.leading, domain, value);
        }
        if let Some(domain) = name.strip_prefix("*.") {
            check_plain(domain)?;
            return insert(&mut self.leading, domain, value);
        }
        if let Some(start) = name.strip_suffix(".*") {
            check_plain(start)?;
            return insert(&mut self.trailing, start, value);
        }
        if name.contains('*') {
            return Err(HostnameError::Invalid);
        }
        insert(&mut self.exact, name, value)
    }

    /// Returns whether the map has no names.
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.leading.is_empty() && self.trailing.is_empty()
    }

    /// Returns the value for `name`, which must be in lower case; `None` if no exact or wildcard name matches.
    pub fn find(&self, name: &[u8]) -> Option<&V> {
        if let Some(value) = get(&self.exact, name) {
            return Some(value);
        }
        // From left to right, each dot yields a shorter suffix, so the first match is the longest.
        if !self.leading.is_empty()
            && let Some(value) = dots(name).find_map(|dot| get(&self.leading, &name[dot + 1..]))
        {
            return Some(value);
        }
        if self.trailing.is_empty() {
            return None;
        }
        dots(name).rev().find_map(|dot| get(&self.trailing, &name[..dot]))
    }
}

/// Iterates over the positions of the dots, except one at the start.
fn dots(name: &[u8]) -> impl DoubleEndedIterator<Item = usize> + '_ {
    name.iter().enumerate().filter(|&(at, &byte)| byte == b'.' && at > 0).map(|(at, _)| at)
}

fn check_plain(name: &str) -> Result<(), HostnameError> {
    if name.is_empty() || name.contains('*') { Err(HostnameError::Invalid) } else { Ok(()) }
}

fn insert<V>(sorted: &mut Vec<(InlineName, V)>, name: &str, value: V) -> Result<(), HostnameError> {
    let name: InlineName = name.bytes().map(|byte| byte.to_ascii_lowercase()).collect();
    match sorted.binary_search_by(|(known, _)| order(known, &name)) {
        Ok(_) => Err(HostnameError::Conflict),
        Err(at) => {
            sorted.insert(at, (name, value));
            Ok(())
        }
    }
}

/// Orders names by length, then by bytes, so that most comparisons do not read the names.
fn order(known: &[u8], name: &[u8]) -> Ordering {
    known.len().cmp(&name.len()).then_with(|| if name.is_empty() { Ordering::Equal } else { known.cmp(name) })
}

fn get<'v, V>(sorted: &'v [(InlineName, V)], name: &[u8]) -> Option<&'v V> {
    let at = sorted.binary_search_by(|(known, _)| order(known, name)).ok()?;
    Some(&sorted[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_wins_over_wildcards_and_longer_wildcards_over_shorter() {
        let mut names = Hostnames::default();
        for name in
            ["*.example.com", "*.eu.example.com", "www.example.com", "www.*", ".dotted.org", "mail.x.*"]
        {
            names.insert(name, name.to_owned()).unwrap();
        }
        let find = |name: &str| names.find(name.as_bytes()).map(String::as_str);
        assert_eq!(find("www.example.com"), Some("www.example.com"));
        assert_eq!(find("a.b.example.com"), Some("*.example.com"));
        assert_eq!(find("a.eu.example.com"), Some("*.eu.example.com"));
        assert_eq!(find("example.com"), None);
        assert_eq!(find("dotted.org"), Some(".dotted.org"));
        assert_eq!(find("a.dotted.org"), Some(".dotted.org"));
        assert_eq!(find("www.anything.net"), Some("www.*"));
        assert_eq!(find("mail.x.org"), Some("mail.x.*"));
        assert_eq!(find(".example.com"), None);
        assert_eq!(find(""), None);
    }

    #[test]
    fn stars_elsewhere_and_repeated_names_are_refused() {
        let mut names = Hostnames::default();
        for name in ["*", "a.*.b", "*a.com", "*.", ".", "*.a.*", "."] {
            assert_eq!(names.insert(name, ()), Err(HostnameError::Invalid), "{name}");
        }
        names.insert("A.com", ()).unwrap();
        assert_eq!(names.insert("a.COM", ()), Err(HostnameError::Conflict));
    }
}
