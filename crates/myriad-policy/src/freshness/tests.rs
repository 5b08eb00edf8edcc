use super::*;
use crate::{IgnoreHeaders, StatusMatch, ValidFor};

/// 2026-11-21 02:00:00 UTC, in ms since the epoch.
const NOW: u64 = 1_795_226_400_000;

fn judged(fields: &[(&str, &str)], rules: &CachePolicy) -> Result<Freshness, StoreRefusal> {
    freshness(200, &fields.iter().copied().collect(), rules, NOW, 0)
}

fn valid(fields: &[(&str, &str)], rules: &CachePolicy) -> Result<(u64, ValiditySource), StoreRefusal> {
    judged(fields, rules).map(|freshness| (freshness.valid_ms, freshness.source))
}

/// Returns rules with `*_cache_valid 200 10s`.
fn ten_seconds() -> CachePolicy {
    CachePolicy {
        valid: vec![ValidFor { status: StatusMatch::Code(200), ms: 10_000 }],
        ..CachePolicy::default()
    }
}

const HOUR_AHEAD: &str = "Sat, 21 Nov 2026 03:00:00 GMT";
const HOUR_AGO: &str = "Sat, 21 Nov 2026 01:00:00 GMT";

#[test]
fn the_order_is_accelerator_then_cache_control_then_expires_then_cache_valid() {
    let all =
        [("X-Accel-Expires", "7"), ("Cache-Control", "max-age=20, s-maxage=30"), ("Expires", HOUR_AHEAD)];
    let rules = ten_seconds();
    assert_eq!(valid(&all, &rules), Ok((7_000, ValiditySource::XAccelExpires)));
    assert_eq!(valid(&all[1..], &rules), Ok((30_000, ValiditySource::SMaxage)));
    assert_eq!(
        valid(&[("Cache-Control", "max-age=20"), all[2]], &rules),
        Ok((20_000, ValiditySource::MaxAge))
    );
    assert_eq!(
        valid(&[("Cache-Control", "public"), all[2]], &rules),
        Ok((3_600_000, ValiditySource::Expires))
    );
    assert_eq!(valid(&[], &rules), Ok((10_000, ValiditySource::CacheValid)));
    assert_eq!(valid(&[], &CachePolicy::default()), Err(StoreRefusal::NoValidity));
}

#[test]
fn what_the_configuration_holds_valid_ends_on_a_tick_and_what_the_origin_does_on_its_moment() {
    let until = |fields: &[(&str, &str)], now: u64| {
        let judged = freshness(200, &fields.iter().copied().collect(), &ten_seconds(), now, 0);
        judged.map(|freshness| (freshness.fresh_until - now, freshness.valid_ms)).unwrap()
    };
    for late in 0..TICK_MS {
        let (left, valid_ms) = until(&[], NOW + late);
        assert!((10_000..10_000 + TICK_MS).contains(&left) && (NOW + late + left).is_multiple_of(TICK_MS));
        assert_eq!(valid_ms, 10_000);
        assert_eq!(until(&[("Cache-Control", "max-age=10")], NOW + late), (10_000, 10_000));
    }
}

#[test]
fn each_ignored_field_leaves_the_word_to_the_next() {
    let fields = [("X-Accel-Expires", "0"), ("Cache-Control", "no-store, no-cache"), ("Expires", HOUR_AGO)];
    let mut rules = ten_seconds();
    assert_eq!(valid(&fields, &rules), Err(StoreRefusal::XAccelExpires));
    rules.ignore.x_accel_expires = true;
    assert_eq!(valid(&fields, &rules), Err(StoreRefusal::CacheControl));
    rules.ignore.cache_control = true;
    assert_eq!(valid(&fields, &rules), Err(StoreRefusal::Expired));
    rules.ignore.expires = true;
    assert_eq!(valid(&fields, &rules), Ok((10_000, ValiditySource::CacheValid)));
}

#[test]
fn the_accelerators_time_is_seconds_or_an_absolute_time_and_overrides_no_cache() {
    let rules = ten_seconds();
    let with =
        |value: &str| valid(&[("X-Accel-Expires", value), ("Cache-Control", "no-cache, no-store")], &rules);
    assert_eq!(with("60"), Ok((60_000, ValiditySource::XAccelExpires)));
    assert_eq!(with(&format!("@{}", NOW / 1000 + 5)), Ok((5_000, ValiditySource::XAccelExpires)));
    assert_eq!(with("0"), Err(StoreRefusal::XAccelExpires));
    let over = ("X-Accel-Expires", &*format!("@{}", NOW / 1000 - 1));
    assert_eq!(valid(&[over], &rules), Ok((0, ValiditySource::XAccelExpires)), "stored, and expired");
    assert_eq!(judged(&[over], &rules).unwrap().fresh_until, NOW - 1000);
    // Invalid numbers are ignored.
    for nonsense in ["", "-1", "off", "1.5", "@", "@x", "+1"] {
        assert_eq!(with(nonsense), Err(StoreRefusal::CacheControl), "{nonsense:?}");
    }
    assert_eq!(with(&"9".repeat(40)), Ok((u64::MAX - NOW, ValiditySource::XAccelExpires)));
}

#[test]
fn what_forbids_storing_does_so_in_every_spelling() {
    for value in [
        "no-store",
        "No-Cache",
        "max-age=60, private",
        "private=\"x\", max-age=60",
        "no-cache=\"set-cookie\"",
    ] {
        assert_eq!(
            valid(&[("Cache-Control", value)], &ten_seconds()),
            Err(StoreRefusal::CacheControl),
            "{value}"
        );
    }
    let lines = [("Cache-Control", "max-age=60"), ("Cache-Control", "no-store")];
    assert_eq!(valid(&lines, &ten_seconds()), Err(StoreRefusal::CacheControl));
}

#[test]
fn a_time_that_is_over_is_not_stored_even_with_cache_valid() {
    for (name, value) in [
        ("Cache-Control", "max-age=0"),
        ("Cache-Control", "max-age=60, s-maxage=0"),
        ("Expires", HOUR_AGO),
        ("Expires", "Thu, 19 Nov 1981 08:52:00 GMT"),
        ("Expires", "0"),
        ("Expires", "tomorrow"),
    ] {
        assert_eq!(valid(&[(name, value)], &ten_seconds()), Err(StoreRefusal::Expired), "{name}: {value}");
    }
}

#[test]
fn a_cache_valid_of_zero_forbids() {
    let rules =
        CachePolicy { valid: vec![ValidFor { status: StatusMatch::Any, ms: 0 }], ..CachePolicy::default() };
    assert_eq!(valid(&[], &rules), Err(StoreRefusal::NoValidity));
}

#[test]
fn stale_windows_are_read_and_a_refresh_window_also_covers_its_failure() {
    let windows = |value: &str| {
        let freshness = judged(&[("Cache-Control", value)], &ten_seconds()).unwrap();
        (freshness.stale_while_revalidate_ms, freshness.stale_if_error_ms)
    };
    assert_eq!(windows("max-age=1"), (0, 0));
    assert_eq!(windows("max-age=1, stale-while-revalidate=5"), (5_000, 5_000));
    assert_eq!(windows("max-age=1, stale-if-error=9"), (0, 9_000));
    assert_eq!(windows("max-age=1, stale-while-revalidate=5, stale-if-error=9"), (5_000, 9_000));
    // Also if the accelerator's field defines the validity, as in nginx.
    let fields = [("X-Accel-Expires", "3"), ("Cache-Control", "stale-if-error=9")];
    assert_eq!(judged(&fields, &ten_seconds()).unwrap().stale_if_error_ms, 9_000);
}

#[test]
fn age_dates_targets_and_must_revalidate_do_not_count_by_themselves() {
    let aged =
        [("Cache-Control", "max-age=60, must-revalidate"), ("Age", "20"), ("CDN-Cache-Control", "no-store")];
    assert_eq!(valid(&aged, &ten_seconds()), Ok((60_000, ValiditySource::MaxAge)));
    assert!(!judged(&aged, &ten_seconds()).unwrap().must_revalidate);
    let skewed = [("Date", HOUR_AGO), ("Expires", HOUR_AHEAD)];
    assert_eq!(valid(&skewed, &ten_seconds()), Ok((3_600_000, ValiditySource::Expires)));
    assert_eq!(valid(&[("Last-Modified", HOUR_AGO)], &CachePolicy::default()), Err(StoreRefusal::NoValidity));
}

/// Returns random fields that an origin may send, mostly valid.
fn any_fields(random: &mut fastrand::Rng) -> Fields {
    let mut fields = Fields::new();
    let seconds = random.u32(0..5000);
    let choices = [
        ("X-Accel-Expires", format!("{seconds}")),
        ("X-Accel-Expires", format!("@{}", NOW / 1000 + u64::from(seconds) - 2000)),
        ("Cache-Control", format!("max-age={seconds}")),
        ("Cache-Control", format!("s-maxage={seconds}, stale-if-error=9")),
        ("Cache-Control", "public".to_owned()),
        ("Expires", HOUR_AHEAD.to_owned()),
        ("Age", format!("{}", seconds / 2)),
        ("Date", HOUR_AGO.to_owned()),
        ("Last-Modified", HOUR_AGO.to_owned()),
    ];
    for (name, value) in &choices {
        if random.u8(0..3) == 0 {
            fields.push(name.as_bytes(), value.as_bytes());
        }
    }
    fields
}

#[test]
fn an_answer_is_never_fresh_for_longer_when_it_arrives_later() {
    for seed in 0..5000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let fields = any_fields(&mut random);
        let rules = CachePolicy { rfc9111: random.bool(), ..ten_seconds() };
        // `*_cache_valid` excludes heuristics, which do grow with the time of arrival.
        let later = NOW + random.u64(0..10_000_000);
        let until = |now| freshness(200, &fields, &rules, now, 0).map_or(0, |freshness| freshness.valid_ms);
        assert!(until(later) <= until(NOW), "seed {seed}: {fields:?}");
    }
}

#[test]
fn a_validity_is_zero_only_for_what_may_be_over_and_more_seconds_never_mean_less() {
    for seed in 0..2000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let rules = CachePolicy {
            rfc9111: random.bool(),
            ignore: IgnoreHeaders {
                expires: random.bool(),
                x_accel_expires: random.bool(),
                ..Default::default()
            },
            ..ten_seconds()
        };
        let rest = any_fields(&mut random);
        if rest.has(Known::CacheControl) {
            continue;
        }
        let mut before = 0;
        for seconds in [0u64, 1, 10, 3600, u64::from(u32::MAX), u64::MAX] {
            let mut fields = rest.clone();
            fields.push(b"Cache-Control", format!("max-age={seconds}").as_bytes());
            let verdict = freshness(200, &fields, &rules, NOW, 0);
            let may_be_over =
                |freshness: Freshness| rules.rfc9111 || freshness.source == ValiditySource::XAccelExpires;
            assert!(
                verdict.is_err() || verdict.is_ok_and(|f| f.valid_ms > 0 || may_be_over(f)),
                "seed {seed}"
            );
            let valid = verdict.map_or(0, |freshness| freshness.valid_ms);
            assert!(valid >= before, "seed {seed}: {seconds}");
            before = valid;
        }
    }
}
