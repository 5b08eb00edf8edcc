//! Whether a stored page may be served.

use crate::{CacheStatus, Lifetime, Rules};

/// The facts of a page that is stored under a key.
#[derive(Clone, Copy, Debug)]
pub struct StoredFacts {
    /// How long it is of use.
    pub lifetime: Lifetime,
    /// Whether the page has an `ETag` of the origin's or a `Last-Modified`, so that the origin can confirm it.
    pub validators: bool,
    /// Whether it was marked as invalid (RFC 9111 §4.4): it has to be fetched before it is shown again, and may stand in for
    /// a fetch that fails.
    pub invalid: bool,
}

/// How a refresh failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// No connection, or one that broke.
    Error,
    /// The origin took too long.
    Timeout,
    /// An empty or unreadable answer.
    InvalidHeader,
    /// An answer of this status.
    Http(u16),
    /// None was asked for: this server keeps requests from its origin for now, and would answer with this status.
    NotAsked(u16),
}

/// The verdict on a stored page.
///
/// ```text
///   fresh, not invalid -----------------------------------> Serve(Hit)
///   expired, not invalid
///           -- another request refreshes, stale allowed --> Serve(Updating)
///           -- nobody does, background update allowed ----> ServeStaleAndRefresh
///           -- else --------------------------------------> Fetch --- fails, stale allowed --> Serve(Stale)
///                                                                 `-- fails ------------------> PassFailure
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Serve it.
    Serve(CacheStatus),
    /// Serve it as [`CacheStatus::Stale`] and refresh it in the background (`*_cache_background_update`).
    ServeStaleAndRefresh,
    /// Fetch anew, or wait for who does; the status is [`CacheStatus::Expired`] if this request gets the answer.
    Fetch {
        /// Ask the origin to confirm what is stored (`*_cache_revalidate`, RFC 9111 §4.3.1).
        conditional: bool,
    },
    /// The refresh failed and the page must not stand in: the visitor sees the failure.
    PassFailure,
}

/// Judges a stored page at `now` (ms since the epoch).
///
/// `updating` tells whether another request is refreshing it; `failure` how a refresh by this request ended, if it did.
pub fn reuse(
    stored: &StoredFacts,
    rules: &Rules,
    now: u64,
    updating: bool,
    failure: Option<Failure>,
) -> Reuse {
    if now < stored.lifetime.fresh_until && !stored.invalid {
        return Reuse::Serve(CacheStatus::Hit);
    }
    if let Some(failure) = failure {
        let served = may_serve_on_failure(&stored.lifetime, rules, now, failure);
        return if served { Reuse::Serve(CacheStatus::Stale) } else { Reuse::PassFailure };
    }
    if !stored.invalid && may_serve_while_updating(&stored.lifetime, rules, now) {
        if updating {
            return Reuse::Serve(CacheStatus::Updating);
        }
        if rules.background_update {
            return Reuse::ServeStaleAndRefresh;
        }
    }
    Reuse::Fetch { conditional: rules.revalidate && stored.validators }
}

/// `*_cache_use_stale updating`, or the origin's own `stale-while-revalidate` (RFC 5861 §3).
fn may_serve_while_updating(lifetime: &Lifetime, rules: &Rules, now: u64) -> bool {
    let by_rule = rules.use_stale.updating && within(lifetime, rules.grace.refresh_ms, now);
    !lifetime.must_revalidate && (by_rule || now < lifetime.stale_updating_until)
}

/// `*_cache_use_stale error | timeout | …`, or the origin's own `stale-if-error`. That speaks of 500, 502, 503 and 504 and
/// of failures that amount to them (RFC 5861 §4); nginx heeds it for failures alone, and leaves statuses to its
/// directive.
fn may_serve_on_failure(lifetime: &Lifetime, rules: &Rules, now: u64, failure: Failure) -> bool {
    let by_rule = match failure {
        Failure::Error => rules.use_stale.error,
        Failure::Timeout => rules.use_stale.timeout,
        Failure::InvalidHeader => rules.use_stale.invalid_header,
        Failure::Http(status) => rules.use_stale.on_status(status),
        // Ours: whoever has the page stand in for an origin that fails, or is slow, wants it here too.
        Failure::NotAsked(status) => {
            rules.use_stale.error || rules.use_stale.timeout || rules.use_stale.on_status(status)
        }
    };
    let by_origin = match failure {
        Failure::Http(status) => rules.rfc9111 && matches!(status, 500 | 502..=504),
        _ => true,
    };
    !lifetime.must_revalidate
        && ((by_rule && within(lifetime, rules.grace.failure_ms, now))
            || (by_origin && now < lifetime.stale_error_until))
}

fn within(lifetime: &Lifetime, grace_ms: u64, now: u64) -> bool {
    now < lifetime.fresh_until.saturating_add(grace_ms)
}

#[cfg(test)]
mod tests;
