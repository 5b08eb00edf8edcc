//! Seconds since the epoch as a date of the Gregorian calendar, in UTC, and back.

const DAY: u64 = 86_400;
/// The last second of the year 9999.
const LAST: u64 = 253_402_300_799;

/// A point in time, year 1970 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Civil {
    pub year: usize,
    /// 1 to 12.
    pub month: usize,
    /// 1 to 31.
    pub day: usize,
    pub hour: usize,
    pub minute: usize,
    pub second: usize,
    /// 0 is Sunday.
    pub weekday: usize,
}

impl Civil {
    /// The date of `seconds` since the epoch, at most the last second of the year 9999.
    ///
    /// Years are counted from the first of March, so that the leap day is the last of its year, and in cycles of 400
    /// years, which have 146,097 days.
    pub(super) fn of(seconds: u64) -> Self {
        let seconds = seconds.min(LAST);
        let (days, rest) = ((seconds / DAY) as usize, (seconds % DAY) as usize);
        // 719,468 days lie between the first of March of the year 0 and the epoch.
        let since_march_zero = days + 719_468;
        let (cycle, day_of_cycle) = (since_march_zero / 146_097, since_march_zero % 146_097);
        let leap_days = day_of_cycle / 1460 + day_of_cycle / 146_096;
        let year_of_cycle = (day_of_cycle + day_of_cycle / 36_524 - leap_days) / 365;
        let day_of_year = day_of_cycle - (year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100);
        // Months from March have 153 days in each five.
        let month_from_march = (day_of_year * 5 + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Self {
            year: cycle * 400 + year_of_cycle + usize::from(month <= 2),
            month,
            day: day_of_year - (month_from_march * 153 + 2) / 5 + 1,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
            weekday: (days + 4) % 7,
        }
    }
}

/// The days from the epoch to a date; `None` where the month has no such day, or before 1970 or after 9999.
pub(super) fn days_to(year: usize, month: usize, day: usize) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    if day == 0 || day > month_days(year, month) {
        return None;
    }
    let march_year = if month <= 2 { year - 1 } else { year };
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let days_of_years = march_year * 365 + march_year / 4 - march_year / 100 + march_year / 400;
    Some((days_of_years + (month_from_march * 153 + 2) / 5 + day - 1 - 719_468) as u64)
}

fn month_days(year: usize, month: usize) -> usize {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
