//! Conversion between seconds since the epoch and dates of the Gregorian calendar, in UTC.

pub(crate) const DAY_S: i64 = 86_400;
/// Number of days after which the calendar repeats with the same weekdays: 400 years.
const CYCLE_DAYS: i64 = 146_097;
pub(crate) const CYCLE_S: i64 = CYCLE_DAYS * DAY_S;
/// Number of days from 1 March of the year 0 to the Unix epoch.
const EPOCH: i64 = 719_468;
/// First second of the year 0 in UTC, in seconds since the Unix epoch. `LAST` is the last second of the year 9999.
const FIRST: i64 = -62_167_219_200;
const LAST: i64 = 253_402_300_799;

pub(crate) const DAYS: [&[u8; 3]; 7] = [b"Sun", b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat"];
pub(crate) const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// Date and time in the Gregorian calendar, in the years 0 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CivilTime {
    /// Year of the Gregorian calendar, 0 to 9999.
    pub year: usize,
    /// Month, 1 to 12.
    pub month: usize,
    /// Day of the month, 1 to 31.
    pub day: usize,
    /// Hour, 0 to 23.
    pub hour: usize,
    /// Minute, 0 to 59.
    pub minute: usize,
    /// Second, 0 to 59.
    pub second: usize,
    /// Day of the week; 0 is Sunday.
    pub weekday: usize,
}

impl CivilTime {
    /// Returns the UTC date and time of `seconds` since the Unix epoch. Times before the year 0 are clamped to its
    /// first second, times after the year 9999 to its last second.
    ///
    /// The calculation starts years on 1 March, so that the leap day is the last day of a year, and uses cycles of 400
    /// years.
    pub fn from_epoch_seconds(seconds: i64) -> Self {
        let seconds = seconds.clamp(FIRST, LAST);
        let (days, rest) = (seconds.div_euclid(DAY_S), seconds.rem_euclid(DAY_S) as usize);
        // Shifted by one cycle, so that January and February of the year 0 are not negative.
        let since_march_zero = (days + EPOCH + CYCLE_DAYS) as usize;
        let cycle_days = CYCLE_DAYS as usize;
        let (cycle, day_of_cycle) = (since_march_zero / cycle_days, since_march_zero % cycle_days);
        let leap_days = day_of_cycle / 1460 + day_of_cycle / 146_096;
        let year_of_cycle = (day_of_cycle + day_of_cycle / 36_524 - leap_days) / 365;
        let day_of_year = day_of_cycle - (year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100);
        // From March on, each five months have 153 days.
        let month_from_march = (day_of_year * 5 + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Self {
            year: cycle * 400 + year_of_cycle + usize::from(month <= 2) - 400,
            month,
            day: day_of_year - (month_from_march * 153 + 2) / 5 + 1,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
            // 1 March of the year 0 was a Wednesday.
            weekday: (since_march_zero + 3) % 7,
        }
    }

    /// Returns the UTC date and time of `seconds` since the Unix epoch; times after the year 9999 are clamped to its
    /// last second.
    pub(crate) fn from_unsigned_seconds(seconds: u64) -> Self {
        Self::from_epoch_seconds(seconds.min(LAST as u64) as i64)
    }
}

/// Returns the number of days from the Unix epoch to a date, negative for an earlier date; `None` if the date is
/// invalid or after the year 9999.
#[inline]
pub(crate) fn days_from_epoch(year: usize, month: usize, day: usize) -> Option<i64> {
    if year > 9999 || !(1..=12).contains(&month) || day == 0 || day > month_days(year, month) {
        return None;
    }
    // Shifted by one cycle, as in `from_epoch_seconds`.
    let march_year = year + 400 - usize::from(month <= 2);
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let days_of_years = march_year * 365 + march_year / 4 - march_year / 100 + march_year / 400;
    Some((days_of_years + (month_from_march * 153 + 2) / 5 + day - 1) as i64 - EPOCH - CYCLE_DAYS)
}

/// Returns the seconds from the Unix epoch to a UTC date and time, negative for an earlier time; `None` if it is
/// invalid or after the year 9999. The second may be 60.
#[inline]
pub(crate) fn seconds_from_epoch(
    [year, month, day]: [usize; 3],
    [hour, minute, second]: [usize; 3],
) -> Option<i64> {
    let is_time = hour < 24 && minute < 60 && second <= 60;
    let days = days_from_epoch(year, month, day).filter(|_| is_time)?;
    Some(days * DAY_S + (hour * 3600 + minute * 60 + second) as i64)
}

pub(crate) fn is_leap(year: usize) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

pub(crate) fn month_days(year: usize, month: usize) -> usize {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Parses a decimal number of one to four digits, without a sign; `None` for any other text.
#[inline]
pub(crate) fn parse_number(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() || digits.len() > 4 {
        return None;
    }
    let digit = |digit: &u8| digit.is_ascii_digit().then(|| usize::from(digit - b'0'));
    digits.iter().try_fold(0, |number, next| Some(number * 10 + digit(next)?))
}

/// Overwrites the bytes from `at` with `text`.
pub(crate) fn overwrite_at(out: &mut [u8], at: usize, text: &[u8]) {
    out[at..at + text.len()].copy_from_slice(text);
}

/// Returns the last two decimal digits of `number`.
pub(crate) fn two_digits(number: usize) -> [u8; 2] {
    [number / 10 % 10, number % 10].map(|digit| b'0' + digit as u8)
}

pub(crate) fn four_digits(number: usize) -> [u8; 4] {
    let ([a, b], [c, d]) = (two_digits(number / 100), two_digits(number));
    [a, b, c, d]
}

/// Formats the time of day as `08:49:37`.
pub(crate) fn format_clock(time: CivilTime) -> [u8; 8] {
    let mut out = *b"08:49:37";
    overwrite_at(&mut out, 0, &two_digits(time.hour));
    overwrite_at(&mut out, 3, &two_digits(time.minute));
    overwrite_at(&mut out, 6, &two_digits(time.second));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_last_days_of_all_months_are_themselves_again() {
        let mut days = FIRST / DAY_S;
        for year in 0..=9999 {
            for month in 1..=12 {
                let length = month_days(year, month);
                for (day, days) in [(1, days), (length, days + length as i64 - 1)] {
                    assert_eq!(days_from_epoch(year, month, day), Some(days));
                    let civil = CivilTime::from_epoch_seconds(days * DAY_S + 3661);
                    assert_eq!((civil.year, civil.month, civil.day), (year, month, day));
                    assert_eq!((civil.hour, civil.minute, civil.second), (1, 1, 1));
                    // The epoch was a Thursday.
                    assert_eq!(civil.weekday as i64, (days + 4).rem_euclid(7));
                }
                days += length as i64;
            }
        }
        assert_eq!(days * DAY_S - 1, LAST);
    }

    #[test]
    fn years_begin_and_end_in_all_centuries() {
        for (second, year) in [
            (-1, 1969),
            (0, 1970),
            (31_535_999, 1970),
            (978_307_199, 2000),
            (978_307_200, 2001),
            (4_133_980_799, 2100),
        ] {
            assert_eq!(CivilTime::from_epoch_seconds(second).year, year, "{second}");
        }
    }

    #[test]
    fn what_lies_beyond_the_calendar_is_its_edge() {
        assert_eq!(
            [i64::MIN, FIRST - 1].map(CivilTime::from_epoch_seconds),
            [CivilTime::from_epoch_seconds(FIRST); 2]
        );
        assert_eq!(
            [i64::MAX, LAST + 1].map(CivilTime::from_epoch_seconds),
            [CivilTime::from_epoch_seconds(LAST); 2]
        );
        assert_eq!(CivilTime::from_unsigned_seconds(u64::MAX), CivilTime::from_epoch_seconds(LAST));
    }

    #[test]
    fn there_are_no_other_days_and_times() {
        let no_days = [
            [2025, 2, 29],
            [1900, 2, 29],
            [2026, 13, 1],
            [2026, 0, 1],
            [2026, 4, 31],
            [2026, 1, 0],
            [10_000, 1, 1],
        ];
        for date in no_days {
            assert_eq!(seconds_from_epoch(date, [0, 0, 0]), None, "{date:?}");
        }
        for time in [[24, 0, 0], [0, 60, 0], [0, 0, 61]] {
            assert_eq!(seconds_from_epoch([2026, 1, 1], time), None, "{time:?}");
        }
        assert_eq!(seconds_from_epoch([1970, 1, 1], [0, 0, 0]), Some(0));
        assert_eq!(seconds_from_epoch([2000, 2, 29], [12, 0, 0]), Some(951_825_600));
        assert_eq!(seconds_from_epoch([2016, 12, 31], [23, 59, 60]), Some(1_483_228_800));
    }
}
