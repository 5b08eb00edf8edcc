//! POSIX rule of a time zone, such as `CET-1CEST,M3.5.0,M10.5.0/3` (RFC 9636 section 3.3.1).

use crate::calendar::civil::{CYCLE_S, CivilTime, DAY_S, days_from_epoch, is_leap, month_days};
use crate::digits::decimal;

/// Standard offset of a zone, and its summer time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ZoneRule {
    /// Offset of standard time in seconds east of UTC.
    standard: i32,
    summer: Option<SummerTime>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct SummerTime {
    offset: i32,
    begins: YearlyTransition,
    ends: YearlyTransition,
}

/// Yearly change to or from summer time: a day, and the local time in seconds from its start, which may be negative or
/// longer than a day.
#[derive(Clone, Copy, Debug, PartialEq)]
struct YearlyTransition {
    day: TransitionDay,
    second: i32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum TransitionDay {
    /// `Mm.w.d`: the `w`th weekday `d` of the month; week 5 is the last.
    Weekday { month: usize, week: i64, weekday: i64 },
    /// `Jn`: day 1 to 365; 29 February is not counted.
    Julian(i64),
    /// `n`: day 0 to 365; 29 February is counted.
    Ordinal(i64),
}

impl ZoneRule {
    /// Parses a rule; `None` if it is invalid.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut rest = skip_zone_name(text)?;
        let standard = -parse_time(&mut rest)?;
        if rest.is_empty() {
            return Some(Self { standard, summer: None });
        }
        rest = skip_zone_name(rest)?;
        let offset = if rest.starts_with(',') { standard + 3600 } else { -parse_time(&mut rest)? };
        let mut changes = rest.strip_prefix(',')?.split(',');
        let (begins, ends) =
            (YearlyTransition::parse(changes.next()?)?, YearlyTransition::parse(changes.next()?)?);
        Some(Self { standard, summer: Some(SummerTime { offset, begins, ends }) })
    }

    /// Returns the offset in seconds east of UTC at `now_s` (seconds since the Unix epoch).
    pub(super) fn offset_s(&self, now_s: i64) -> i32 {
        let Some(summer) = &self.summer else { return self.standard };
        // The calendar repeats, so each time has an equivalent in the years 1970 to 2369, for which the calculation
        // cannot overflow.
        let now_s = now_s.rem_euclid(CYCLE_S);
        let year = CivilTime::from_epoch_seconds(now_s + i64::from(self.standard)).year;
        let begins = summer.begins.second_in_year(year) - i64::from(self.standard);
        let ends = summer.ends.second_in_year(year) - i64::from(summer.offset);
        let in_summer =
            if begins < ends { (begins..ends).contains(&now_s) } else { !(ends..begins).contains(&now_s) };
        if in_summer { summer.offset } else { self.standard }
    }
}

/// Skips the name of a zone (at least three letters, or any text in angle brackets) and returns the text after it;
/// `None` if `text` does not start with a name.
fn skip_zone_name(text: &str) -> Option<&str> {
    if let Some(quoted) = text.strip_prefix('<') {
        return quoted.split_once('>').map(|(_, rest)| rest);
    }
    let rest = text.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    (text.len() - rest.len() >= 3).then_some(rest)
}

/// Removes a time `[+-]hh[:mm[:ss]]` from the start of `text` and returns it in seconds; `None` if it is invalid. A
/// part may be up to 167.
fn parse_time(text: &mut &str) -> Option<i32> {
    let end =
        text.find(|letter: char| !(letter.is_ascii_digit() || "+-:".contains(letter))).unwrap_or(text.len());
    let (own, rest) = text.split_at(end);
    *text = rest;
    let (sign, digits) = match own.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, own.strip_prefix('+').unwrap_or(own)),
    };
    let mut seconds = 0;
    let mut unit = 3600;
    for part in digits.split(':') {
        seconds += decimal::<i32>(part).filter(|part| (0..=167).contains(part))? * unit;
        unit /= 60;
    }
    Some(sign * seconds)
}

impl YearlyTransition {
    fn parse(text: &str) -> Option<Self> {
        let (day, mut at) = text.split_once('/').unwrap_or((text, "2"));
        let number = |text: &str, most: i64| decimal(text).filter(|number| (0..=most).contains(number));
        let day = if let Some(weekday) = day.strip_prefix('M') {
            let mut parts = weekday.split('.');
            let month = number(parts.next()?, 12).filter(|month| *month > 0)? as usize;
            let week = number(parts.next()?, 5).filter(|week| *week > 0)?;
            TransitionDay::Weekday { month, week, weekday: number(parts.next()?, 6)? }
        } else if let Some(julian) = day.strip_prefix('J') {
            TransitionDay::Julian(number(julian, 365)?)
        } else {
            TransitionDay::Ordinal(number(day, 365)?)
        };
        Some(Self { day, second: parse_time(&mut at)? })
    }

    /// Returns the time of the transition in `year`, in seconds since the Unix epoch, as if local time were UTC.
    fn second_in_year(self, year: usize) -> i64 {
        let first_of = |month| days_from_epoch(year, month, 1).unwrap_or_default();
        let day = match self.day {
            TransitionDay::Ordinal(day) => first_of(1) + day,
            TransitionDay::Julian(day) => first_of(1) + day - 1 + i64::from(is_leap(year) && day >= 60),
            TransitionDay::Weekday { month, week, weekday } => {
                let first = first_of(month);
                let end = first + month_days(year, month) as i64;
                // The epoch was a Thursday.
                let to_weekday = (weekday - (first + 4)).rem_euclid(7);
                let day = first + to_weekday + (week - 1) * 7;
                if day < end { day } else { day - 7 }
            }
        };
        day * DAY_S + i64::from(self.second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn southern_summers_span_the_new_year() {
        let rule = ZoneRule::parse("AEST-10AEDT,M10.1.0,M4.1.0/3").expect("a rule");
        // 2026-01-15, 2026-07-15 and 2026-12-15.
        let offsets = [1_768_435_200, 1_784_073_600, 1_797_292_800].map(|at| rule.offset_s(at));
        assert_eq!(offsets, [39_600, 36_000, 39_600]);
    }

    #[test]
    fn all_forms_of_names_offsets_and_days_are_read() {
        assert_eq!(ZoneRule::parse("UTC0").expect("a rule").offset_s(0), 0);
        assert_eq!(ZoneRule::parse("<+0530>-5:30").expect("a rule").offset_s(0), 19_800);
        assert_eq!(
            ZoneRule::parse("<-03>3<-02>,M3.5.0/-2,M10.5.0/-1").expect("a rule").offset_s(1_768_435_200),
            -10_800
        );
        let days = ZoneRule::parse("AAA0BBB,J60,300/1").expect("a rule");
        // 1 March of a leap year and of another year, at 02:00.
        assert_eq!(
            [1_709_258_399, 1_709_258_400, 1_772_330_400].map(|at| days.offset_s(at)),
            [0, 3600, 3600]
        );
        for text in ["", "A0", "UTC", "CET-1CEST", "CET-1CEST,M13.1.0,M1.1.0", "CET-999"] {
            assert_eq!(ZoneRule::parse(text), None, "{text}");
        }
    }

    #[test]
    fn years_that_are_absurdly_far_are_found_at_once_and_like_near_ones() {
        for rule in ["CET-1CEST,M3.5.0,M10.5.0/3", "AEST-10AEDT,M10.1.0,M4.1.0/3", "AAA0BBB,J60,300/1"] {
            let rule = ZoneRule::parse(rule).expect("a rule");
            for near in [1_774_745_999, 1_774_746_000, 1_792_890_000, 1_797_292_800] {
                for cycles in [-1, 1, 2, 20, 1_000_000, i64::MAX / CYCLE_S - 1, -(i64::MAX / CYCLE_S)] {
                    let far = near + cycles * CYCLE_S;
                    assert_eq!(rule.offset_s(far), rule.offset_s(near), "{rule:?} at {far}");
                }
            }
            for at in [i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX] {
                assert!([rule.standard, rule.summer.expect("a summer").offset].contains(&rule.offset_s(at)));
            }
        }
    }

    /// Asserts that the offset changes exactly at the second `at`.
    fn assert_changes(rule: &str, at: i64, from: i32, to: i32) {
        let rule = ZoneRule::parse(rule).expect("a rule");
        assert_eq!([at - 1, at].map(|at| rule.offset_s(at)), [from, to], "{rule:?} at {at}");
    }

    #[test]
    fn summer_begins_and_ends_at_its_very_second() {
        // 2026-03-08 02:00 and 2026-11-01 02:00 in New York.
        assert_changes("EST5EDT,M3.2.0,M11.1.0", 1_772_953_200, -18_000, -14_400);
        assert_changes("EST5EDT,M3.2.0,M11.1.0", 1_793_512_800, -14_400, -18_000);
    }

    #[test]
    fn a_summer_of_half_an_hour_spans_the_new_year() {
        let lord_howe = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0";
        assert_changes(lord_howe, 1_775_314_800, 39_600, 37_800);
        assert_changes(lord_howe, 1_791_041_400, 37_800, 39_600);
        let rule = ZoneRule::parse(lord_howe).expect("a rule");
        // Last second of 2025 and first second of 2026, in UTC and in the zone.
        for new_year in [1_767_225_600, 1_767_225_600 - 39_600, 1_767_225_600 - 37_800] {
            assert_eq!([new_year - 1, new_year].map(|at| rule.offset_s(at)), [39_600; 2]);
        }
    }

    #[test]
    fn winter_may_be_what_is_written_as_summer() {
        // In Ireland, summer time is the standard time.
        assert_changes("IST-1GMT0,M10.5.0,M3.5.0/1", 1_774_746_000, 0, 3600);
        assert_changes("IST-1GMT0,M10.5.0,M3.5.0/1", 1_792_890_000, 3600, 0);
    }

    #[test]
    fn a_change_may_be_hours_before_or_after_its_day() {
        // Nuuk: one hour before the start of the Sunday. Jerusalem: hour 26 of the Thursday.
        assert_changes("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1_774_746_000, -7200, -3600);
        assert_changes("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1_792_890_000, -3600, -7200);
        assert_changes("IST-2IDT,M3.4.4/26,M10.5.0", 1_774_569_600, 7200, 10_800);
    }

    #[test]
    fn a_change_at_midnight_is_on_its_own_day() {
        assert_changes("EET-2EEST,M3.5.0/0,M10.5.0/0", 1_774_735_200, 7200, 10_800);
        assert_changes("EET-2EEST,M3.5.0/0,M10.5.0/0", 1_792_875_600, 10_800, 7200);
    }

    #[test]
    fn the_fifth_week_is_the_last_of_months_that_have_four_too() {
        // 2024-02-25, 2026-02-22 and 2026-12-27.
        assert_changes("CET-1CEST,M2.5.0,M12.5.0", 1_708_822_800, 3600, 7200);
        assert_changes("CET-1CEST,M2.5.0,M12.5.0", 1_771_722_000, 3600, 7200);
        assert_changes("CET-1CEST,M2.5.0,M12.5.0", 1_798_329_600, 7200, 3600);
    }

    #[test]
    fn the_leap_day_is_counted_by_numbers_and_not_by_julian_days() {
        // From 2024-02-29 02:00 to 2024-03-01 01:00; in 2026, day 59 is 1 March.
        assert_changes("STD0DST,59,60", 1_709_172_000, 0, 3600);
        assert_changes("STD0DST,59,60", 1_709_254_800, 3600, 0);
        assert_changes("STD0DST,59,60", 1_772_330_400, 0, 3600);
        // From 28 February 02:00, in every year.
        assert_changes("STD0DST,J59,J60", 1_709_085_600, 0, 3600);
        assert_changes("STD0DST,J59,J60", 1_772_244_000, 0, 3600);
        assert_changes("STD0DST,J59,J60", 1_772_326_800, 3600, 0);
    }

    #[test]
    fn summer_may_last_from_the_last_hour_of_a_year_to_the_next() {
        assert_changes("AAA0BBB,J365/23,J1/1", 1_767_222_000, 0, 3600);
        assert_changes("AAA0BBB,J365/23,J1/1", 1_767_225_600, 3600, 0);
    }

    #[test]
    fn times_have_minutes_seconds_and_signs() {
        let offset = |text| ZoneRule::parse(text).map(|rule| rule.offset_s(0));
        assert_eq!(offset("LMT-0:53:28"), Some(3208));
        assert_eq!(offset("LMT+1:02:03"), Some(-3723));
        assert_eq!(offset("<+14>-14"), Some(50_400));
        assert_eq!(offset("<-12>12"), Some(-43_200));
    }

    #[test]
    fn mutated_rules_are_read_or_refused() {
        let seeds =
            ["CET-1CEST,M3.5.0,M10.5.0/3", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "AAA0BBB,J365/23,59/-167"];
        let letters: Vec<char> = "0123456789+-:,./<>MJAé\0".chars().collect();
        for seed in 0..20_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut text: Vec<char> = random.choice(seeds).expect("a seed").chars().collect();
            for _ in 0..random.usize(1..5) {
                let at = random.usize(..text.len());
                match random.u8(..3) {
                    0 => text[at] = letters[random.usize(..letters.len())],
                    1 => text.insert(at, letters[random.usize(..letters.len())]),
                    _ => drop(text.remove(at)),
                }
            }
            let text: String = text.into_iter().collect();
            for at in [0, 1_774_746_000, i64::from(u32::MAX)] {
                let offset = ZoneRule::parse(&text).map_or(0, |rule| rule.offset_s(at));
                assert!(offset.abs() <= 168 * 3600 + 3600, "{text}: {offset}");
            }
        }
    }
}
