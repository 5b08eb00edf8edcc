//! Times of renewals of ACME certificates and of retries, computed from the time and a random number.

/// Period in which a certificate should be renewed, in seconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenewalWindow {
    /// Start of the window, in seconds since the Unix epoch.
    pub start_s: u64,
    /// End of the window in seconds since the Unix epoch, not before its start.
    pub end_s: u64,
}

impl RenewalWindow {
    /// Returns a time in the window: the start for a `chance` of 0, the end for 1. Random values spread the renewals of
    /// many servers.
    pub fn pick(self, chance: f64) -> u64 {
        let length = self.end_s.saturating_sub(self.start_s);
        self.start_s + (length as f64 * chance.clamp(0.0, 1.0)) as u64
    }
}

/// Length of a day in seconds.
const DAY_S: u64 = 86_400;
/// Lifetime in seconds up to which a certificate is renewed after half of it instead of two thirds.
const SHORT_LIFE_S: u64 = 10 * DAY_S;
/// Pause after the first failed order of a certificate, in seconds.
const FIRST_PAUSE_S: u64 = 60;
/// Maximum pause in seconds after failed orders, unless the authority requests a longer one. Two attempts a day limit
/// the load of the authority.
const LONGEST_PAUSE_S: u64 = 12 * 3600;
/// Maximum pause in seconds after a failed order that the authority can request (`Retry-After`).
const LONGEST_REQUEST_S: u64 = 7 * DAY_S;
/// Minimum time in seconds from the issue of a certificate to its first scheduled renewal, even for short lifetimes.
pub const LEAST_INTERVAL_S: u64 = 10;

/// Returns the default renewal window of a certificate, used if the authority suggests none: after 2/3 of its lifetime
/// (1/2 for a short lifetime), plus or minus 2 % of the lifetime.
pub fn renewal_window(not_before_s: u64, not_after_s: u64) -> RenewalWindow {
    let life = not_after_s.saturating_sub(not_before_s);
    let age = if life > SHORT_LIFE_S { life / 3 * 2 } else { life / 2 };
    let spread = life / 50;
    RenewalWindow { start_s: not_before_s + age.saturating_sub(spread), end_s: not_before_s + age + spread }
}

/// Returns the pause in seconds after `failures` consecutive failed orders: 1 minute after the first, multiplied by 5
/// after each further failure, at most 12 hours. A longer pause `asked_s` by the authority is used instead, up to one
/// week. Up to 10 % is added, depending on `chance` (0 to 1).
pub fn pause_s(failures: u32, asked_s: Option<u64>, chance: f64) -> u64 {
    let factor = 5u64.saturating_pow(failures.saturating_sub(1).min(10));
    let pause = FIRST_PAUSE_S.saturating_mul(factor).min(LONGEST_PAUSE_S);
    let pause = pause.max(asked_s.unwrap_or(0).min(LONGEST_REQUEST_S));
    pause + (pause as f64 / 10.0 * chance.clamp(0.0, 1.0)) as u64
}

/// Returns the seconds until the next query for renewal information (RFC 9773 section 4.3.2): the authority's value,
/// limited to 1 minute to 1 day; 6 hours without a value.
pub fn information_interval_s(asked_s: Option<u64>) -> u64 {
    asked_s.unwrap_or(6 * 3600).clamp(60, DAY_S)
}

/// Formats a duration, rounded down, as `45 s`, `12 min`, `5 h` or `60 days`.
pub fn format_duration(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / DAY_S),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lives_are_renewed_at_two_thirds_and_short_ones_at_half() {
        let window = renewal_window(1000, 1000 + 90 * DAY_S);
        assert!(window.start_s >= 1000 + 58 * DAY_S && window.end_s <= 1000 + 62 * DAY_S, "{window:?}");
        let short = renewal_window(0, 6 * DAY_S);
        assert!(short.start_s < 3 * DAY_S && 3 * DAY_S < short.end_s && short.end_s < 4 * DAY_S);
        assert_eq!(renewal_window(50, 50), RenewalWindow { start_s: 50, end_s: 50 });
        // A certificate whose end precedes its start is due immediately.
        assert_eq!(renewal_window(50, 20).end_s, 50);
    }

    #[test]
    fn chance_stays_within_the_window() {
        let window = RenewalWindow { start_s: 100, end_s: 200 };
        assert_eq!([0.0, 0.5, 1.0, 7.0, -1.0].map(|chance| window.pick(chance)), [100, 150, 200, 200, 100]);
        assert_eq!(RenewalWindow { start_s: 9, end_s: 3 }.pick(0.7), 9);
    }

    #[test]
    fn retry_pauses_grow_up_to_limit_and_respect_retry_after() {
        let pauses: Vec<_> = (1..8).map(|failures| pause_s(failures, None, 0.0)).collect();
        assert_eq!(pauses, [60, 300, 1500, 7500, 37_500, 43_200, 43_200]);
        assert_eq!(pause_s(u32::MAX, None, 1.0), 43_200 + 4320);
        assert_eq!(pause_s(1, Some(3600), 0.0), 3600);
        assert_eq!(pause_s(1, Some(u64::MAX), 0.0), LONGEST_REQUEST_S);
        assert_eq!(pause_s(0, None, 0.0), 60);
    }

    #[test]
    fn information_is_asked_for_within_bounds() {
        assert_eq!(
            [None, Some(1), Some(7200), Some(u64::MAX)].map(information_interval_s),
            [21_600, 60, 7200, DAY_S]
        );
    }

    #[test]
    fn durations_are_formatted_in_largest_unit() {
        assert_eq!([5, 300, 7500, 5_184_000].map(format_duration), ["5 s", "5 min", "2 h", "60 days"]);
    }
}
