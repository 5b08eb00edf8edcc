//! Selection of the virtual server for a host (nginx's `server_name`).

use std::collections::HashMap;

use crate::{EvalError, Frame, Regex};
use foldhash::fast::RandomState;

/// Number of a server, assigned by the embedder.
type ServerId = u32;

/// Server names of a listening socket, with the number of the server of each.
#[derive(Default)]
pub struct ServerNames {
    exact: HashMap<Box<[u8]>, ServerId, RandomState>,
    /// Names `*.example.com`, stored as `.example.com`; the longest first.
    suffixes: Vec<(Box<[u8]>, ServerId)>,
    /// Names `www.example.*`, stored as `www.example.`; the longest first.
    prefixes: Vec<(Box<[u8]>, ServerId)>,
    regexes: Vec<(Regex, ServerId)>,
}

impl ServerNames {
    /// Adds an exact name. Returns false, without adding it, if a server already has it.
    pub fn add_exact(&mut self, name: &[u8], server: ServerId) -> bool {
        if self.exact.contains_key(name) {
            return false;
        }
        self.exact.insert(name.into(), server);
        true
    }

    /// Adds the name `*.example.com`, given as `.example.com`; ignored if it already exists.
    pub fn add_suffix(&mut self, suffix: &[u8], server: ServerId) {
        add_longest_first(&mut self.suffixes, suffix, server);
    }

    /// Adds the name `www.example.*`, given as `www.example.`; ignored if it already exists.
    pub fn add_prefix(&mut self, prefix: &[u8], server: ServerId) {
        add_longest_first(&mut self.prefixes, prefix, server);
    }

    /// Adds a regex name. These are tried last, in the order in which they were added.
    pub fn add_regex(&mut self, regex: Regex, server: ServerId) {
        self.regexes.push((regex, server));
    }

    /// Returns the server for a host, which must be in lower case and without port; `None` if no name matches. A
    /// matching regex stores its captures in the frame. As in nginx, no regex is tried for an empty host (such as that
    /// of an HTTP/1.0 request without `Host`).
    pub fn find(&self, host: &[u8], frame: &mut Frame) -> Result<Option<ServerId>, EvalError> {
        if let Some(&server) = self.exact.get(host) {
            return Ok(Some(server));
        }
        let suffix =
            self.suffixes.iter().find(|(suffix, _)| host.len() > suffix.len() && host.ends_with(suffix));
        if let Some(&(_, server)) = suffix {
            return Ok(Some(server));
        }
        let prefix =
            self.prefixes.iter().find(|(prefix, _)| host.len() > prefix.len() && host.starts_with(prefix));
        if let Some(&(_, server)) = prefix {
            return Ok(Some(server));
        }
        if host.is_empty() {
            return Ok(None);
        }
        for (regex, server) in &self.regexes {
            if regex.matches(host, frame)? {
                return Ok(Some(*server));
            }
        }
        Ok(None)
    }
}

fn add_longest_first(list: &mut Vec<(Box<[u8]>, ServerId)>, text: &[u8], server: ServerId) {
    if list.iter().any(|(known, _)| &**known == text) {
        return;
    }
    let at = list.partition_point(|(known, _)| known.len() >= text.len());
    list.insert(at, (text.into(), server));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_then_longest_wildcards_decide() {
        let mut names = ServerNames::default();
        names.add_suffix(b".example.com", 1);
        names.add_suffix(b".a.example.com", 2);
        names.add_prefix(b"www.", 3);
        names.add_exact(b"b.example.com", 4);
        let mut frame = Frame::new();
        let mut find = |host: &[u8]| names.find(host, &mut frame).unwrap();
        assert_eq!(find(b"b.example.com"), Some(4));
        assert_eq!(find(b"x.a.example.com"), Some(2));
        assert_eq!(find(b"www.example.com"), Some(1));
        assert_eq!(find(b"www.other.org"), Some(3));
        assert_eq!(find(b".example.com"), None);
        assert_eq!(find(b"elsewhere.net"), None);
    }

    #[test]
    fn an_empty_host_matches_no_regex() {
        let mut names = ServerNames::default();
        names.add_regex(Regex::without_captures("^.*$").unwrap(), 1);
        let mut frame = Frame::new();
        assert_eq!(names.find(b"a", &mut frame).unwrap(), Some(1));
        assert_eq!(names.find(b"", &mut frame).unwrap(), None);
        names.add_exact(b"", 2);
        assert_eq!(names.find(b"", &mut frame).unwrap(), Some(2));
    }
}
