//! Names with wildcards at one end: `*.example.com`, `.example.com`, `www.example.*`.

use std::cmp::Ordering;

use smallvec::SmallVec;

/// A name, beside its value where it is short: a look-up then touches one line of memory less.
type Name = SmallVec<[u8; 24]>;

/// Names to values, searched as nginx does for `server_name` and `map`: exact, then the longest `*.` name, then the
/// longest `.*` name. Regular expressions come after these and are the caller's.
#[derive(Debug, Clone)]
pub struct Hostnames<V> {
    exact: Vec<(Name, V)>,
    /// What stands behind the star of `*.example.com`, without the dot.
    leading: Vec<(Name, V)>,
    /// What stands before the star of `www.example.*`, without the dot.
    trailing: Vec<(Name, V)>,
}

impl<V> Default for Hostnames<V> {
    fn default() -> Hostnames<V> {
        Hostnames { exact: Vec::new(), leading: Vec::new(), trailing: Vec::new() }
    }
}

/// Why a name cannot be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedHostname {
    /// The name was there already.
    Conflict,
    /// The name is empty, or holds a star elsewhere than alone at one end.
    Invalid,
}

impl<V: Clone> Hostnames<V> {
    /// Adds a name that is compared as it is, but for letter case.
    pub fn insert_exact(&mut self, name: &str, value: V) -> Result<(), RefusedHostname> {
        insert(&mut self.exact, name, value)
    }

    /// Adds a name that may hold a wildcard at one end.
    pub fn insert(&mut self, name: &str, value: V) -> Result<(), RefusedHostname> {
        if let Some(domain) = name.strip_prefix('.') {
            plain(domain)?;
            insert(&mut self.exact, domain, value.clone())?;
            return insert(&mut self.leading, domain, value);
        }
        if let Some(domain) = name.strip_prefix("*.") {
            plain(domain)?;
            return insert(&mut self.leading, domain, value);
        }
        if let Some(start) = name.strip_suffix(".*") {
            plain(start)?;
            return insert(&mut self.trailing, start, value);
        }
        if name.contains('*') {
            return Err(RefusedHostname::Invalid);
        }
        insert(&mut self.exact, name, value)
    }

    /// Whether there is no name at all.
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.leading.is_empty() && self.trailing.is_empty()
    }

    /// Finds the value of a lower-case name.
    pub fn find(&self, name: &[u8]) -> Option<&V> {
        if let Some(value) = get(&self.exact, name) {
            return Some(value);
        }
        // Dots from the left cut off less and less: the first hit is the longest name.
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

/// Places of dots with something before them.
fn dots(name: &[u8]) -> impl DoubleEndedIterator<Item = usize> + '_ {
    name.iter().enumerate().filter(|&(at, &byte)| byte == b'.' && at > 0).map(|(at, _)| at)
}

fn plain(name: &str) -> Result<(), RefusedHostname> {
    if name.is_empty() || name.contains('*') { Err(RefusedHostname::Invalid) } else { Ok(()) }
}

fn insert<V>(sorted: &mut Vec<(Name, V)>, name: &str, value: V) -> Result<(), RefusedHostname> {
    let name: Name = name.bytes().map(|byte| byte.to_ascii_lowercase()).collect();
    match sorted.binary_search_by(|(known, _)| order(known, &name)) {
        Ok(_) => Err(RefusedHostname::Conflict),
        Err(at) => {
            sorted.insert(at, (name, value));
            Ok(())
        }
    }
}

/// Orders names by length first: most comparisons then end without reading the names.
fn order(known: &[u8], name: &[u8]) -> Ordering {
    known.len().cmp(&name.len()).then_with(|| if name.is_empty() { Ordering::Equal } else { known.cmp(name) })
}

fn get<'v, V>(sorted: &'v [(Name, V)], name: &[u8]) -> Option<&'v V> {
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
            assert_eq!(names.insert(name, ()), Err(RefusedHostname::Invalid), "{name}");
        }
        names.insert("A.com", ()).unwrap();
        assert_eq!(names.insert("a.COM", ()), Err(RefusedHostname::Conflict));
    }
}
