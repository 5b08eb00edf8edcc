use super::*;
use crate::{Grace, UseStale, ValiditySource};

const FRESH_UNTIL: u64 = 1_000_000;

fn stored(updating: u64, error: u64) -> StoredFacts {
    let lifetime = Lifetime {
        fresh_until: FRESH_UNTIL,
        stale_updating_until: FRESH_UNTIL + updating,
        stale_error_until: FRESH_UNTIL + error,
        must_revalidate: false,
        valid_ms: 1000,
        source: ValiditySource::CacheValid,
        born: None,
    };
    StoredFacts { lifetime, validators: true, invalid: false, is_purged: false }
}

const FAILURES: [RefreshFailure; 12] = [
    RefreshFailure::Error,
    RefreshFailure::Timeout,
    RefreshFailure::InvalidHeader,
    RefreshFailure::Http(500),
    RefreshFailure::Http(501),
    RefreshFailure::Http(502),
    RefreshFailure::Http(503),
    RefreshFailure::Http(504),
    RefreshFailure::Http(403),
    RefreshFailure::Http(404),
    RefreshFailure::Http(429),
    RefreshFailure::Http(200),
];

fn any_rules(random: &mut fastrand::Rng) -> CachePolicy {
    let mut flag = || random.bool();
    CachePolicy {
        use_stale: UseStale {
            error: flag(),
            timeout: flag(),
            invalid_header: flag(),
            updating: flag(),
            http_500: flag(),
            http_502: flag(),
            http_503: flag(),
            http_504: flag(),
            http_403: flag(),
            http_404: flag(),
            http_429: flag(),
        },
        background_update: flag(),
        revalidate: flag(),
        grace: Grace {
            refresh_ms: if flag() { u64::MAX } else { 3000 },
            failure_ms: if flag() { u64::MAX } else { 5000 },
        },
        ..CachePolicy::default()
    }
}

#[test]
fn a_fresh_page_is_a_hit_whatever_else_is_so() {
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let rules = any_rules(&mut random);
        let failure = random.bool().then(|| FAILURES[random.usize(..12)]);
        let now = random.u64(0..FRESH_UNTIL);
        let verdict = reuse(&stored(0, 0), &rules, now, random.bool(), failure);
        assert_eq!(verdict, Reuse::Serve(CacheStatus::Hit), "seed {seed}");
    }
}

#[test]
fn an_expired_page_without_leave_to_serve_stale_is_fetched() {
    let rules = CachePolicy { background_update: true, ..CachePolicy::default() };
    for updating in [false, true] {
        let verdict = reuse(&stored(0, 0), &rules, FRESH_UNTIL, updating, None);
        assert_eq!(verdict, Reuse::Fetch { conditional: false });
    }
    let rules = CachePolicy { revalidate: true, ..CachePolicy::default() };
    assert_eq!(reuse(&stored(0, 0), &rules, FRESH_UNTIL, false, None), Reuse::Fetch { conditional: true });
    let bare = StoredFacts { validators: false, ..stored(0, 0) };
    assert_eq!(reuse(&bare, &rules, FRESH_UNTIL, false, None), Reuse::Fetch { conditional: false });
}

#[test]
fn while_one_request_refreshes_the_others_get_the_stale_page() {
    let use_stale = UseStale { updating: true, ..UseStale::default() };
    let rules = CachePolicy { use_stale, ..CachePolicy::default() };
    let far = FRESH_UNTIL + Grace::default().refresh_ms - 1;
    assert_eq!(reuse(&stored(0, 0), &rules, far, true, None), Reuse::Serve(CacheStatus::Updating));
    assert_eq!(reuse(&stored(0, 0), &rules, far, false, None), Reuse::Fetch { conditional: false });
    let background = CachePolicy { background_update: true, ..rules };
    assert_eq!(reuse(&stored(0, 0), &background, far, false, None), Reuse::ServeStaleAndRefresh);
    assert_eq!(reuse(&stored(0, 0), &background, far, true, None), Reuse::Serve(CacheStatus::Updating));
}

#[test]
fn stale_page_is_served_for_grace_during_refresh_and_longer_on_failure() {
    let grace = Grace { refresh_ms: 4000, failure_ms: 9000 };
    let use_stale = UseStale { updating: true, error: true, ..UseStale::default() };
    let rules = CachePolicy { use_stale, background_update: true, grace, ..CachePolicy::default() };
    let at = |late, facts: &StoredFacts, failure| reuse(facts, &rules, FRESH_UNTIL + late, false, failure);
    let plain = stored(0, 0);
    assert_eq!(at(3999, &plain, None), Reuse::ServeStaleAndRefresh);
    assert_eq!(at(4000, &plain, None), Reuse::Fetch { conditional: false }, "the visitor waits");
    assert_eq!(reuse(&plain, &rules, FRESH_UNTIL + 4000, true, None), Reuse::Fetch { conditional: false });
    assert_eq!(at(8999, &plain, Some(RefreshFailure::Error)), Reuse::Serve(CacheStatus::Stale));
    assert_eq!(at(9000, &plain, Some(RefreshFailure::Error)), Reuse::PassFailure);
    assert_eq!(at(5999, &stored(6000, 6000), None), Reuse::ServeStaleAndRefresh, "the origin's own word");
}

#[test]
fn validity_that_the_application_defines_exactly_is_not_extended() {
    let use_stale = UseStale { updating: true, ..UseStale::default() };
    for (source, adaptive_min_ms, served) in [
        (ValiditySource::XAccelExpires, None, true),
        (ValiditySource::XAccelExpires, Some(60_000), false),
        (ValiditySource::Adaptive, Some(60_000), false),
        (ValiditySource::CacheValid, Some(60_000), true),
    ] {
        let rules =
            CachePolicy { use_stale, background_update: true, adaptive_min_ms, ..CachePolicy::default() };
        let mut page = stored(0, 0);
        page.lifetime.source = source;
        let verdict = reuse(&page, &rules, FRESH_UNTIL, false, None);
        assert_eq!(verdict == Reuse::ServeStaleAndRefresh, served, "{source:?} {adaptive_min_ms:?}");
        page.is_purged = true;
        let verdict = reuse(&page, &rules, FRESH_UNTIL, false, None);
        assert_eq!(verdict, Reuse::ServeStaleAndRefresh, "a soft purge permits this");
    }
}

#[test]
fn what_is_invalid_is_fetched_before_it_is_shown_and_stands_in_for_a_failure() {
    let rules =
        CachePolicy { use_stale: UseStale::FAILURES, background_update: true, ..CachePolicy::default() };
    let invalid = StoredFacts { invalid: true, ..stored(6000, 6000) };
    for now in [FRESH_UNTIL - 1, FRESH_UNTIL, FRESH_UNTIL + 100] {
        for updating in [false, true] {
            let verdict = reuse(&invalid, &rules, now, updating, None);
            assert_eq!(verdict, Reuse::Fetch { conditional: false }, "{now}");
        }
        let failed = reuse(&invalid, &rules, now, false, Some(RefreshFailure::Timeout));
        assert_eq!(failed, Reuse::Serve(CacheStatus::Stale));
    }
}

#[test]
fn the_origins_own_stale_windows_work_without_use_stale_and_end() {
    let rules = CachePolicy { background_update: true, rfc9111: true, ..CachePolicy::default() };
    let facts = stored(100, 300);
    assert_eq!(reuse(&facts, &rules, FRESH_UNTIL + 99, false, None), Reuse::ServeStaleAndRefresh);
    assert_eq!(reuse(&facts, &rules, FRESH_UNTIL + 100, false, None), Reuse::Fetch { conditional: false });
    for failure in FAILURES {
        let covered = !matches!(failure, RefreshFailure::Http(501 | 403 | 404 | 429 | 200));
        let expected = if covered { Reuse::Serve(CacheStatus::Stale) } else { Reuse::PassFailure };
        assert_eq!(reuse(&facts, &rules, FRESH_UNTIL + 299, false, Some(failure)), expected, "{failure:?}");
        assert_eq!(reuse(&facts, &rules, FRESH_UNTIL + 300, false, Some(failure)), Reuse::PassFailure);
        let as_nginx = CachePolicy { rfc9111: false, ..rules.clone() };
        let covered = !matches!(failure, RefreshFailure::Http(_));
        let expected = if covered { Reuse::Serve(CacheStatus::Stale) } else { Reuse::PassFailure };
        assert_eq!(
            reuse(&facts, &as_nginx, FRESH_UNTIL + 299, false, Some(failure)),
            expected,
            "{failure:?}"
        );
    }
}

#[test]
fn each_failure_needs_its_own_use_stale_and_the_grace() {
    type Set = fn(&mut UseStale);
    let rows: [(RefreshFailure, Set); 10] = [
        (RefreshFailure::Error, |u| u.error = true),
        (RefreshFailure::Timeout, |u| u.timeout = true),
        (RefreshFailure::InvalidHeader, |u| u.invalid_header = true),
        (RefreshFailure::Http(500), |u| u.http_500 = true),
        (RefreshFailure::Http(502), |u| u.http_502 = true),
        (RefreshFailure::Http(503), |u| u.http_503 = true),
        (RefreshFailure::Http(504), |u| u.http_504 = true),
        (RefreshFailure::Http(403), |u| u.http_403 = true),
        (RefreshFailure::Http(404), |u| u.http_404 = true),
        (RefreshFailure::Http(429), |u| u.http_429 = true),
    ];
    for (covered, set) in rows {
        let grace = Grace { failure_ms: 5000, ..Grace::default() };
        let mut rules = CachePolicy { grace, ..CachePolicy::default() };
        set(&mut rules.use_stale);
        for failure in FAILURES {
            let expected =
                if failure == covered { Reuse::Serve(CacheStatus::Stale) } else { Reuse::PassFailure };
            let at = |now| reuse(&stored(0, 0), &rules, now, false, Some(failure));
            assert_eq!(at(FRESH_UNTIL + 4999), expected, "{covered:?} {failure:?}");
            assert_eq!(at(FRESH_UNTIL + 5000), Reuse::PassFailure, "{covered:?} {failure:?}");
        }
    }
}

#[test]
fn must_revalidate_never_serves_stale() {
    for seed in 0..500 {
        let mut random = fastrand::Rng::with_seed(seed);
        let rules = any_rules(&mut random);
        let mut facts = stored(random.u64(0..10_000), random.u64(0..10_000));
        facts.lifetime.must_revalidate = true;
        let failure = random.bool().then(|| FAILURES[random.usize(..12)]);
        let verdict = reuse(&facts, &rules, FRESH_UNTIL + random.u64(0..10_000), random.bool(), failure);
        assert!(matches!(verdict, Reuse::Fetch { .. } | Reuse::PassFailure), "seed {seed}: {verdict:?}");
    }
}

/// Returns the time, in ms since the epoch, after which no rule allows this page to be served or validated; `u64::MAX`
/// under `*_cache_revalidate`.
fn useful_until(lifetime: &Lifetime, rules: &CachePolicy) -> u64 {
    let by_origin = lifetime.stale_error_until.max(lifetime.stale_updating_until);
    let only_updating = UseStale { updating: true, ..UseStale::default() };
    let grace_ms = match rules.use_stale {
        _ if rules.revalidate => u64::MAX,
        stale if stale == UseStale::default() => 0,
        stale if stale == only_updating => rules.grace.refresh_ms,
        UseStale { updating: true, .. } => rules.grace.refresh_ms.max(rules.grace.failure_ms),
        _ => rules.grace.failure_ms,
    };
    lifetime.fresh_until.saturating_add(grace_ms).max(by_origin)
}

#[test]
fn a_page_past_its_useful_time_is_never_served() {
    for seed in 0..2000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let rules = any_rules(&mut random);
        let mut facts = stored(random.u64(0..10_000), random.u64(0..10_000));
        // As guaranteed by `admit`: an error window is never shorter than an updating window.
        facts.lifetime.stale_error_until =
            facts.lifetime.stale_error_until.max(facts.lifetime.stale_updating_until);
        facts.lifetime.must_revalidate = random.bool();
        let useful = useful_until(&facts.lifetime, &rules);
        assert!(useful >= FRESH_UNTIL);
        let now = useful.saturating_add(random.u64(0..5000));
        if now == u64::MAX {
            continue;
        }
        let failure = random.bool().then(|| FAILURES[random.usize(..12)]);
        let verdict = reuse(&facts, &rules, now, random.bool(), failure);
        assert!(matches!(verdict, Reuse::Fetch { .. } | Reuse::PassFailure), "seed {seed}: {verdict:?}");
    }
}
