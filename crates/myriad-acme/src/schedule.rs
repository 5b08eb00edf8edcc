//! When a certificate is renewed, and when what failed is tried again: functions of times and chance.

use crate::issuer::CertificateOrder;

/// A span of time, seconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its begin.
    pub start_s: u64,
    /// Its end, not before its begin.
    pub end_s: u64,
}

impl Window {
    /// The moment that `chance` (0 to 1) picks in it: so that not all servers of the world come at once.
    pub fn pick(self, chance: f64) -> u64 {
        let length = self.end_s.saturating_sub(self.start_s);
        self.start_s + (length as f64 * chance.clamp(0.0, 1.0)) as u64
    }
}

const DAY_S: u64 = 86_400;
/// A certificate that lives shorter is renewed at half its life, not at two thirds.
const SHORT_LIFE_S: u64 = 10 * DAY_S;
/// First pause after a failure.
const FIRST_PAUSE_S: u64 = 60;
/// Longest pause after failures: twice a day is polite, and enough to be back within a day of the repair.
const LONGEST_PAUSE_S: u64 = 12 * 3600;
/// An authority may ask for a pause this long, and no longer.
const LONGEST_REQUEST_S: u64 = 7 * DAY_S;
/// However short certificates live: two orders for one are so far apart.
pub const LEAST_INTERVAL_S: u64 = 10;

/// When a certificate with this validity is renewed, if its authority has no wish of its own: when two thirds of its
/// life are over, half for a short one, give or take 2 %.
pub fn renewal_window(not_before_s: u64, not_after_s: u64) -> Window {
    let life = not_after_s.saturating_sub(not_before_s);
    let age = if life > SHORT_LIFE_S { life / 3 * 2 } else { life / 2 };
    let spread = life / 50;
    Window { start_s: not_before_s + age.saturating_sub(spread), end_s: not_before_s + age + spread }
}

/// Seconds to wait after so many failures in a row (at least one): a minute, five times as long each time, twelve hours
/// at most; a tenth is left to chance. What the authority asks for comes first, within a week.
pub fn pause_s(failures: u32, asked_s: Option<u64>, chance: f64) -> u64 {
    let factor = 5u64.saturating_pow(failures.saturating_sub(1).min(10));
    let pause = FIRST_PAUSE_S.saturating_mul(factor).min(LONGEST_PAUSE_S);
    let pause = pause.max(asked_s.unwrap_or(0).min(LONGEST_REQUEST_S));
    pause + (pause as f64 / 10.0 * chance.clamp(0.0, 1.0)) as u64
}

/// Seconds after which renewal information is asked for again (RFC 9773 section 4.3.2): what the authority says, from a
/// minute to a day; six hours where it says nothing.
pub fn information_interval_s(asked_s: Option<u64>) -> u64 {
    asked_s.unwrap_or(6 * 3600).clamp(60, DAY_S)
}

/// A duration for people: `45 s`, `12 min`, `5 h`, `60 days`.
pub fn span(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / DAY_S),
    }
}

/// Orders that ask for the same certificate, each once, in their order.
pub fn without_repeats(orders: Vec<CertificateOrder>) -> Vec<CertificateOrder> {
    let mut unique: Vec<CertificateOrder> = Vec::new();
    for order in orders {
        if !unique.contains(&order) {
            unique.push(order);
        }
    }
    unique
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
        assert_eq!(renewal_window(50, 50), Window { start_s: 50, end_s: 50 });
        // A certificate that ends before it begins is due at once.
        assert_eq!(renewal_window(50, 20).end_s, 50);
    }

    #[test]
    fn chance_stays_within_the_window() {
        let window = Window { start_s: 100, end_s: 200 };
        assert_eq!([0.0, 0.5, 1.0, 7.0, -1.0].map(|chance| window.pick(chance)), [100, 150, 200, 200, 100]);
        assert_eq!(Window { start_s: 9, end_s: 3 }.pick(0.7), 9);
    }

    #[test]
    fn pauses_grow_to_a_bound_and_heed_the_authority() {
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
    fn spans_are_told_in_their_largest_unit() {
        assert_eq!([5, 300, 7500, 5_184_000].map(span), ["5 s", "5 min", "2 h", "60 days"]);
    }
}
