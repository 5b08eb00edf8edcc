//! Dates in custom formats (`strftime` of C, in the C locale).

use crate::calendar::civil::{CivilTime, DAYS, MONTHS, days_from_epoch};
use crate::calendar::log_time::to_local_seconds;

const DAY_NAMES: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Offset and name of a time zone at a moment.
#[derive(Clone, Copy, Debug)]
pub struct ZoneOffset<'a> {
    /// Offset of the zone in minutes east of UTC.
    pub minutes: i32,
    /// Name of the zone, for `%Z`.
    pub name: &'a str,
}

/// Returns a name for a zone without one, from its offset in minutes east of UTC: `UTC` for 0, otherwise digits as in
/// `+0100`.
pub fn offset_name(minutes: i32) -> String {
    let sign = if minutes < 0 { '-' } else { '+' };
    match minutes.unsigned_abs() {
        0 => "UTC".to_owned(),
        minutes => format!("{sign}{:02}{:02}", minutes / 60, minutes % 60),
    }
}

/// Appends `seconds` since the Unix epoch to `out`, as local time at `offset`, in a format for `strftime`. Unknown
/// conversions and other text of the format are copied.
pub fn write_time(format: &[u8], seconds: u64, offset: ZoneOffset<'_>, out: &mut Vec<u8>) {
    let moment = FormattedTime {
        seconds,
        offset,
        time: CivilTime::from_unsigned_seconds(to_local_seconds(seconds, offset.minutes)),
    };
    let mut rest = format;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        out.extend_from_slice(&rest[..at]);
        // The modifiers `%E` and `%O` have no effect in the C locale.
        let modified = matches!(rest.get(at + 1), Some(b'E' | b'O')) && rest.len() > at + 2;
        let length = if modified { 3 } else { 2 };
        let Some(&conversion) = rest.get(at + length - 1) else {
            out.push(b'%');
            return;
        };
        if !moment.convert(conversion, out) {
            out.extend_from_slice(&rest[at..at + length]);
        }
        rest = &rest[at + length..];
    }
    out.extend_from_slice(rest);
}

struct FormattedTime<'a> {
    seconds: u64,
    offset: ZoneOffset<'a>,
    time: CivilTime,
}

impl FormattedTime<'_> {
    fn convert(&self, conversion: u8, out: &mut Vec<u8>) -> bool {
        let time = &self.time;
        let text = match conversion {
            b'a' => String::from_utf8_lossy(DAYS[time.weekday]).into_owned(),
            b'A' => DAY_NAMES[time.weekday].to_owned(),
            b'b' | b'h' => String::from_utf8_lossy(MONTHS[time.month - 1]).into_owned(),
            b'B' => MONTH_NAMES[time.month - 1].to_owned(),
            b'C' => format!("{:02}", time.year / 100),
            b'd' => format!("{:02}", time.day),
            b'e' => format!("{:2}", time.day),
            b'H' => format!("{:02}", time.hour),
            b'I' => format!("{:02}", self.hour_of_twelve()),
            b'k' => format!("{:2}", time.hour),
            b'l' => format!("{:2}", self.hour_of_twelve()),
            b'j' => format!("{:03}", self.day_of_year()),
            b'm' => format!("{:02}", time.month),
            b'M' => format!("{:02}", time.minute),
            b'n' => "\n".to_owned(),
            b'p' => if time.hour < 12 { "AM" } else { "PM" }.to_owned(),
            b'P' => if time.hour < 12 { "am" } else { "pm" }.to_owned(),
            b's' => self.seconds.to_string(),
            b'S' => format!("{:02}", time.second),
            b't' => "\t".to_owned(),
            b'u' => (if time.weekday == 0 { 7 } else { time.weekday }).to_string(),
            b'w' => time.weekday.to_string(),
            b'y' => format!("{:02}", time.year % 100),
            b'Y' => time.year.to_string(),
            b'z' => self.numeric_offset(),
            b'Z' => self.offset.name.to_owned(),
            b'%' => "%".to_owned(),
            other => return self.convert_week(other, out) || self.convert_composite(other, out),
        };
        out.extend_from_slice(text.as_bytes());
        true
    }

    /// Appends the result of a conversion that combines several others, such as `%F`. Returns false and appends nothing
    /// for other conversions.
    fn convert_composite(&self, conversion: u8, out: &mut Vec<u8>) -> bool {
        let format: &[u8] = match conversion {
            b'c' => b"%a %b %e %H:%M:%S %Y",
            b'D' | b'x' => b"%m/%d/%y",
            b'F' => b"%Y-%m-%d",
            b'r' => b"%I:%M:%S %p",
            b'R' => b"%H:%M",
            b'T' | b'X' => b"%H:%M:%S",
            b'+' => b"%a %b %e %H:%M:%S %Z %Y",
            _ => return false,
        };
        write_time(format, self.seconds, self.offset, out);
        true
    }

    /// Appends the number of the week, or the year of the ISO 8601 week. Returns false and appends nothing for other
    /// conversions.
    fn convert_week(&self, conversion: u8, out: &mut Vec<u8>) -> bool {
        let day = self.day_of_year() - 1;
        let text = match conversion {
            b'U' => format!("{:02}", (day + 7 - self.time.weekday) / 7),
            b'W' => format!("{:02}", (day + 7 - (self.time.weekday + 6) % 7) / 7),
            b'V' => format!("{:02}", self.iso_week().1),
            b'G' => self.iso_week().0.to_string(),
            b'g' => format!("{:02}", self.iso_week().0 % 100),
            _ => return false,
        };
        out.extend_from_slice(text.as_bytes());
        true
    }

    fn hour_of_twelve(&self) -> usize {
        match self.time.hour % 12 {
            0 => 12,
            hour => hour,
        }
    }

    /// Returns the day of the year, 1 to 366.
    fn day_of_year(&self) -> usize {
        let first = days_from_epoch(self.time.year, 1, 1).unwrap_or(0);
        let today = days_from_epoch(self.time.year, self.time.month, self.time.day).unwrap_or(first);
        (today - first) as usize + 1
    }

    /// Returns the ISO 8601 year and week. The first week of a year contains its first Thursday.
    fn iso_week(&self) -> (usize, usize) {
        let from_monday = (self.time.weekday + 6) % 7;
        let week = (self.day_of_year() + 9 - from_monday) / 7;
        let year = self.time.year;
        match week {
            0 => (year - 1, weeks_in(year - 1)),
            week if week > weeks_in(year) => (year + 1, 1),
            week => (year, week),
        }
    }

    /// Formats the offset as `+0130`.
    fn numeric_offset(&self) -> String {
        let minutes = self.offset.minutes;
        let sign = if minutes < 0 { '-' } else { '+' };
        format!("{sign}{:02}{:02}", minutes.abs() / 60, minutes.abs() % 60)
    }
}

/// Returns the number of weeks of a year: 53 if 1 January or 31 December is a Thursday.
fn weeks_in(year: usize) -> usize {
    let weekday = |year: usize, month: usize, day: usize| {
        days_from_epoch(year, month, day).map_or(0, |days| (days as usize + 4) % 7)
    };
    if weekday(year, 1, 1) == 4 || weekday(year, 12, 31) == 4 { 53 } else { 52 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: &str, seconds: u64, minutes: i32, name: &str) -> String {
        let mut out = Vec::new();
        write_time(format.as_bytes(), seconds, ZoneOffset { minutes, name }, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_conversion_is_what_c_makes_of_it() {
        // 2026-11-21 05:06:07 UTC, a Saturday.
        let now = 1_795_237_567;
        let utc = |format: &str| written(format, now, 0, "GMT");
        assert_eq!(utc("%A, %d-%b-%Y %H:%M:%S %Z"), "Saturday, 21-Nov-2026 05:06:07 GMT");
        assert_eq!(utc("%a %B %C %e|%I %k %l %j %m %p %P"), "Sat November 20 21|05  5  5 325 11 AM am");
        assert_eq!(utc("%s %u %w %y %z %% %n%t."), "1795237567 6 6 26 +0000 % \n\t.");
        assert_eq!(
            utc("%c|%D|%x|%F|%r|%R|%T|%X"),
            "Sat Nov 21 05:06:07 2026|11/21/26|11/21/26|2026-11-21|05:06:07 AM|05:06|05:06:07|05:06:07"
        );
        assert_eq!(utc("%U %W %V %G %g %Ey %Od %h"), "46 46 47 2026 26 26 21 Nov");
        assert_eq!(written("%H:%M %z %Z", now, -210, "NST"), "01:36 -0330 NST");
    }

    #[test]
    fn weeks_of_the_turn_of_a_year_are_those_of_iso_8601() {
        let week = |days: u64| written("%G-%V %U %W", days * 86_400, 0, "");
        assert_eq!(week(0), "1970-01 00 00");
        // 2021-01-01, a Friday; 2024-12-30, a Monday; 2027-01-03, a Sunday.
        assert_eq!(week(18_628), "2020-53 00 00");
        assert_eq!(week(20_087), "2025-01 52 53");
        assert_eq!(week(20_821), "2026-53 01 00");
    }

    #[test]
    fn what_is_no_conversion_stays() {
        assert_eq!(written("100% %Q %", 0, 0, ""), "100% %Q %");
        assert_eq!(written("%E", 0, 0, ""), "%E");
        assert_eq!(written("", 0, 0, ""), "");
    }
}
