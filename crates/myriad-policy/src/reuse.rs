//! Decides whether a stored page may be served.

use crate::{CachePolicy, CacheStatus, Lifetime, ValiditySource};

/// Facts about a stored page that decide whether it is served.
#[derive(Clone, Copy, Debug)]
pub struct StoredFacts {
    /// Validity and stale periods of the page.
    pub lifetime: Lifetime,
    /// True if the page has an `ETag` of the origin or a `Last-Modified`, so that the origin can validate it.
    pub validators: bool,
    /// True if the page was invalidated (RFC 9111 §4.4), or by a soft purge whose time is unknown: it must be fetched
    /// before it is served again, but may still be served if that fetch fails.
    pub invalid: bool,
    /// True if the page expired because of a soft purge, before its validity was over.
    pub is_purged: bool,
}

/// Cause of a failed refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefreshFailure {
    /// The connection failed or could not be opened, or the fetch failed for a reason not listed here.
    Error,
    /// The origin timed out.
    Timeout,
    /// The origin sent an empty or invalid response.
    InvalidHeader,
    /// The origin responded with this status.
    Http(u16),
    /// No request was sent, because this server currently limits requests to its origin; the client would receive this
    /// status.
    NotAsked(u16),
}

/// Decision whether a stored page is served to a request, or fetched again.
///
/// ```text
///   fresh, not invalid -----------------------------------> Serve(Hit)
///   expired, not invalid, stale allowed
///           -- another request refreshes -----------------> Serve(Updating)
///           -- no refresh, background update allowed -----> ServeStaleAndRefresh
///   else -------------------------------------------------> Fetch --- fails, stale allowed --> Serve(Stale)
///                                                                 `-- fails ------------------> PassFailure
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Serve the stored page, and report this cache status.
    Serve(CacheStatus),
    /// Serve the page as [`CacheStatus::Stale`] and refresh it in the background (`*_cache_background_update`).
    ServeStaleAndRefresh,
    /// Fetch the page, or wait for the request that already fetches it. If this request receives the origin's response,
    /// its status is [`CacheStatus::Expired`], or after a 304 [`CacheStatus::Revalidated`].
    Fetch {
        /// True if a conditional request is sent to validate the stored page (`*_cache_revalidate`, RFC 9111 §4.3.1).
        conditional: bool,
    },
    /// The refresh failed and the stored page must not be served: the client receives the failure.
    PassFailure,
}

/// Decides whether a stored page is served at `now` (ms since the epoch).
///
/// `updating` is true if another request is refreshing the page. `failure` is `Some` if this request tried to refresh
/// the page and failed.
pub fn reuse(
    stored: &StoredFacts,
    rules: &CachePolicy,
    now: u64,
    updating: bool,
    failure: Option<RefreshFailure>,
) -> Reuse {
    if now < stored.lifetime.fresh_until && !stored.invalid {
        return Reuse::Serve(CacheStatus::Hit);
    }
    if let Some(failure) = failure {
        let served = may_serve_on_failure(&stored.lifetime, rules, now, failure);
        return if served { Reuse::Serve(CacheStatus::Stale) } else { Reuse::PassFailure };
    }
    if !stored.invalid && may_serve_while_updating(stored, rules, now) {
        if updating {
            return Reuse::Serve(CacheStatus::Updating);
        }
        if rules.background_update {
            return Reuse::ServeStaleAndRefresh;
        }
    }
    Reuse::Fetch { conditional: rules.revalidate && stored.validators }
}

/// Returns whether the page may be served during a refresh: by `*_cache_use_stale updating` or by the origin's
/// `stale-while-revalidate` (RFC 5861 §3), but never with `must_revalidate`. An adaptive validity is the maximum age of
/// unnoticed changes, and with `*_cache_adaptive` a shorter `X-Accel-Expires` is the time at which the content changes,
/// so the directive does not extend them; frequently requested pages are refreshed before they expire. After a soft
/// purge, the directive applies to every page.
fn may_serve_while_updating(stored: &StoredFacts, rules: &CachePolicy, now: u64) -> bool {
    let lifetime = &stored.lifetime;
    let is_exact = !stored.is_purged
        && match lifetime.source {
            ValiditySource::Adaptive => true,
            ValiditySource::XAccelExpires => rules.adaptive_min_ms.is_some(),
            _ => false,
        };
    let by_rule = rules.use_stale.updating && !is_exact && within(lifetime, rules.grace.refresh_ms, now);
    !lifetime.must_revalidate && (by_rule || now < lifetime.stale_updating_until)
}

/// Returns whether the page may be served after a failed refresh, but never with `must_revalidate`: by
/// `*_cache_use_stale error | timeout | …`, or by the origin's `stale-if-error`, which also covers the statuses 500,
/// 502, 503 and 504 (RFC 5861 §4) under `cache_rfc9111`. As in nginx, statuses are otherwise only configured by the
/// directive.
fn may_serve_on_failure(lifetime: &Lifetime, rules: &CachePolicy, now: u64, failure: RefreshFailure) -> bool {
    let by_rule = match failure {
        RefreshFailure::Error => rules.use_stale.error,
        RefreshFailure::Timeout => rules.use_stale.timeout,
        RefreshFailure::InvalidHeader => rules.use_stale.invalid_header,
        RefreshFailure::Http(status) => rules.use_stale.on_status(status),
        // Specific to Myriad: a configuration that allows stale pages for failing or slow origins also allows them
        // here.
        RefreshFailure::NotAsked(status) => {
            rules.use_stale.error || rules.use_stale.timeout || rules.use_stale.on_status(status)
        }
    };
    let by_origin = match failure {
        RefreshFailure::Http(status) => rules.rfc9111 && matches!(status, 500 | 502..=504),
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
