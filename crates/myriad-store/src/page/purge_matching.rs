//! Rules of purges as functions of a page. They are evaluated for each page, at look-ups and in the background, if the
//! pages cannot be found by a label.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::PurgePredicate;
use myriad_policy::PurgeTarget;
use myriad_script::Regex;

use crate::page::PageMeta;

/// Maximum number of pages for which the regular expression of a purge may exceed its execution limits. After that, it
/// matches every page.
const MAX_FAILURES: u32 = 8;

/// Returns a function that determines whether a purge covers a page.
///
/// # Errors
/// Returns the reason if a pattern is not a valid regular expression.
pub fn purge_predicate(what: &PurgeTarget) -> Result<PurgePredicate<PageMeta>, String> {
    Ok(match what.clone() {
        PurgeTarget::Url { .. } | PurgeTarget::Tags(_) => {
            let wanted = [what.addresses(), what.labels()].concat();
            Box::new(move |_, page| {
                let mut bears = false;
                page.marks().labels(&mut |label| bears |= wanted.contains(&label));
                bears
            })
        }
        PurgeTarget::Keys(keys) => Box::new(move |key, _| keys.iter().any(|wanted| **wanted == *key)),
        PurgeTarget::Wildcard(wildcard) => Box::new(move |_, page| wildcard.covers(&page.marks().subject())),
        PurgeTarget::Regex { host, pattern } => {
            let regex = BoundedRegex::new(&pattern)?;
            Box::new(move |_, page| {
                let of_host = host.as_deref().is_none_or(|host| page.marks().host() == host);
                of_host && regex.matches(page.marks().target())
            })
        }
        PurgeTarget::TagRegex(pattern) => {
            let regex = BoundedRegex::new(&pattern)?;
            Box::new(move |_, page| {
                page.marks().has_truncated_tags() || page.marks().tags().any(|name| regex.matches(name))
            })
        }
        PurgeTarget::KeyPrefix(prefix) => Box::new(move |key, _| key.starts_with(&prefix)),
        PurgeTarget::Host(host) => Box::new(move |_, page| page.marks().host() == &*host),
        PurgeTarget::All => Box::new(|_, _| true),
    })
}

/// Regular expression of a purge request, with limits on its execution.
///
/// A page for which it exceeds the limits counts as matched, which costs at most one unnecessary fetch. A regular
/// expression that exceeds them for [`MAX_FAILURES`] pages is not executed any more, so that no pattern blocks a
/// worker.
struct BoundedRegex {
    regex: Regex,
    failures: AtomicU32,
}

impl BoundedRegex {
    fn new(pattern: &str) -> Result<Self, String> {
        let regex = Regex::of_request(pattern).map_err(|error| error.to_string())?;
        Ok(Self { regex, failures: AtomicU32::new(0) })
    }

    fn matches(&self, subject: &[u8]) -> bool {
        if self.failures.load(Relaxed) >= MAX_FAILURES {
            return true;
        }
        self.regex.is_match(subject).unwrap_or_else(|_| {
            self.failures.fetch_add(1, Relaxed);
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_that_never_ends_is_given_up() {
        let regex = BoundedRegex::new("^(a+)+$").unwrap();
        let long = [&[b'a'; 4000][..], b"b"].concat();
        // Without limits, this would take 2^4000 steps.
        assert!((0..100_000).all(|_| regex.matches(&long)));
        assert_eq!(regex.failures.load(Relaxed), MAX_FAILURES);
    }

    #[test]
    fn invalid_regex_is_rejected_with_reason() {
        let error = BoundedRegex::new("/(").err().unwrap();
        assert!(error.contains("parenthes"), "{error}");
    }
}
