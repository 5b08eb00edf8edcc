//! Response fields by which an origin controls only accelerators: `X-Accel-Expires`, and if the configuration announces
//! support for them, `X-LiteSpeed-Cache-Control` and `Surrogate-Control` (W3C Edge Architecture 1.0 §2.3). The first of
//! them with a usable directive applies. `Cache-Control` and `Expires` then do not define the validity, but `private`
//! still prevents storing.

use myriad_base::digits::decimal;
use myriad_http::cache_control::CacheControl;
use myriad_http::{Fields, Known};

use crate::validity::{ValiditySource, positive, x_accel_expires};
use crate::{CachePolicy, StoreRefusal};

/// Returns the time until which a response is fresh (ms since the epoch) by the first field for accelerators that
/// defines a validity, such as `Surrogate-Control`, and that field as the source; or the reason why the response is not
/// stored. `None` if no such field defines a validity.
pub(crate) fn fresh_until(
    fields: &Fields,
    rules: &CachePolicy,
    now: u64,
) -> Option<Result<(u64, ValiditySource), StoreRefusal>> {
    if let Some(until) = x_accel_expires(fields, rules, now) {
        return Some(until.map(|until| (until, ValiditySource::XAccelExpires)));
    }
    let (control, refusal) = match litespeed(fields, rules) {
        Some(control) => (control, StoreRefusal::LiteSpeedCacheControl),
        None => (surrogate(fields, rules)?, StoreRefusal::SurrogateControl),
    };
    if control.no_store {
        return Some(Err(refusal));
    }
    let valid = positive(control.max_age?.saturating_mul(1000), refusal);
    Some(valid.map(|valid| (now.saturating_add(valid), ValiditySource::Accelerator)))
}

/// Returns for how long after its validity a response may be served stale according to `Surrogate-Control`, in ms: the
/// `+600` of `max-age=60+600`. Returns 0 without it, or if the field is not announced.
pub(crate) fn stale_ms(fields: &Fields, rules: &CachePolicy) -> u64 {
    surrogate(fields, rules).map_or(0, |said| said.stale.saturating_mul(1000))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct AcceleratorControl {
    no_store: bool,
    /// `max-age` (or `s-maxage`) of the field for accelerators, in seconds; `None` if it has neither.
    max_age: Option<u64>,
    /// Time after `max-age` during which stale responses are allowed, in seconds; 0 if the field sets none.
    stale: u64,
}

fn litespeed(fields: &Fields, rules: &CachePolicy) -> Option<AcceleratorControl> {
    if !rules.announced.litespeed || !fields.has(Known::XLiteSpeedCacheControl) {
        return None;
    }
    let control = CacheControl::parse(fields.known_all(Known::XLiteSpeedCacheControl));
    let no_store = control.no_store || control.no_cache;
    let control = AcceleratorControl { no_store, max_age: control.s_maxage.or(control.max_age), stale: 0 };
    (no_store || control.max_age.is_some()).then_some(control)
}

fn surrogate(fields: &Fields, rules: &CachePolicy) -> Option<AcceleratorControl> {
    let token = rules.announced.surrogate.as_deref()?;
    let (mut of_all, mut own) = (AcceleratorControl::default(), AcceleratorControl::default());
    for directive in
        fields.known_all(Known::SurrogateControl).flat_map(|value| value.split(|byte| *byte == b','))
    {
        let (directive, target) = match directive.iter().position(|byte| *byte == b';') {
            Some(at) => (&directive[..at], Some(directive[at + 1..].trim_ascii())),
            None => (directive, None),
        };
        match target {
            None => of_all.add(directive.trim_ascii()),
            Some(target) if target.eq_ignore_ascii_case(token) => own.add(directive.trim_ascii()),
            Some(_) => {}
        }
    }
    let own = own.has_directive().then_some(own);
    own.or_else(|| of_all.has_directive().then_some(of_all))
}

impl AcceleratorControl {
    fn add(&mut self, directive: &[u8]) {
        if directive.eq_ignore_ascii_case(b"no-store") {
            self.no_store = true;
        } else if let Some((name, value)) = directive.split_at_checked(8)
            && name.eq_ignore_ascii_case(b"max-age=")
        {
            let (fresh, stale) = match value.iter().position(|byte| *byte == b'+') {
                Some(at) => (&value[..at], &value[at + 1..]),
                None => (value, &b"0"[..]),
            };
            // A response with an invalid number is not fresh (RFC 9111 §4.2.1).
            self.max_age = Some(number(fresh).unwrap_or(0));
            self.stale = number(stale).unwrap_or(0);
        }
    }

    fn has_directive(self) -> bool {
        self.no_store || self.max_age.is_some()
    }
}

fn number(text: &[u8]) -> Option<u64> {
    decimal(text.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnnouncedSupport;

    fn rules() -> CachePolicy {
        let announced = AnnouncedSupport { surrogate: Some((*b"myriad").into()), litespeed: true };
        CachePolicy { announced, ..CachePolicy::default() }
    }

    fn validity_of(rules: &CachePolicy, list: &[(&str, &str)]) -> Option<Result<u64, StoreRefusal>> {
        let fields: Fields = list.iter().copied().collect();
        fresh_until(&fields, rules, 1_000).map(|until| until.map(|(until, _)| until - 1_000))
    }

    #[test]
    fn no_value_is_too_odd_to_be_read() {
        let words = [
            "max-age",
            "=",
            "+",
            ";",
            ",",
            "no-store",
            "myriad",
            "\"",
            " ",
            "18446744073709551615",
            "60",
            "\u{ff}",
        ];
        for seed in 0..5_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let value: String =
                (0..random.usize(0..12)).map(|_| words[random.usize(0..words.len())]).collect();
            for name in ["Surrogate-Control", "X-LiteSpeed-Cache-Control"] {
                let fields: Fields = [(name, value.as_str())].into_iter().collect();
                let now = random.u64(..);
                let until = fresh_until(&fields, &rules(), now);
                assert!(
                    until.is_none_or(|said| said.is_err() || said.is_ok_and(|(until, _)| until >= now)),
                    "{seed}"
                );
                let _ = stale_ms(&fields, &rules());
            }
        }
    }

    #[test]
    fn surrogate_control_applies_only_to_announced_surrogates() {
        let of = |value: &str| {
            validity_of(&rules(), &[("Surrogate-Control", value), ("Cache-Control", "no-store")])
        };
        assert_eq!(of("max-age=60"), Some(Ok(60_000)));
        assert_eq!(of("content=\"ESI/1.0\", Max-Age=60+600"), Some(Ok(60_000)));
        assert_eq!(of("no-store"), Some(Err(StoreRefusal::SurrogateControl)));
        assert_eq!(of("no-store, max-age=60"), Some(Err(StoreRefusal::SurrogateControl)));
        assert_eq!(of("max-age=0"), Some(Err(StoreRefusal::SurrogateControl)));
        assert_eq!(of("max-age=soon"), Some(Err(StoreRefusal::SurrogateControl)));
        assert_eq!(of("max-age=60, max-age=5;myriad, no-store;abc"), Some(Ok(5_000)));
        assert_eq!(of("no-store;abc"), None);
        assert_eq!(of("no-store-remote, content=\"x\""), None);
        assert_eq!(validity_of(&CachePolicy::default(), &[("Surrogate-Control", "no-store")]), None);
        let fields: Fields = [("Surrogate-Control", "max-age=60+600")].into_iter().collect();
        assert_eq!(stale_ms(&fields, &rules()), 600_000);
    }

    #[test]
    fn litespeed_s_word_comes_before_it_and_nginx_s_before_both() {
        let litespeed = ("X-LiteSpeed-Cache-Control", "public,max-age=604800");
        let surrogate = ("Surrogate-Control", "max-age=60");
        assert_eq!(validity_of(&rules(), &[surrogate, litespeed]), Some(Ok(604_800_000)));
        assert_eq!(validity_of(&rules(), &[surrogate, litespeed, ("X-Accel-Expires", "5")]), Some(Ok(5_000)));
        let refused = ("X-LiteSpeed-Cache-Control", "no-cache");
        assert_eq!(validity_of(&rules(), &[refused]), Some(Err(StoreRefusal::LiteSpeedCacheControl)));
        assert_eq!(validity_of(&CachePolicy::default(), &[litespeed]), None);
    }
}
