//! End-of-support dates of PHP, MariaDB and MySQL as of November 2026 (php.net/supported-versions, mariadb.org/about,
//! dev.mysql.com). The support of versions that are not listed is unknown.

/// Last day of support of a program version: year, month, day.
type SupportEnd = (u32, u32, u32);

const PHP: [((u32, u32), SupportEnd); 10] = [
    ((7, 2), (2020, 11, 30)),
    ((7, 3), (2021, 12, 6)),
    ((7, 4), (2022, 11, 28)),
    ((8, 0), (2023, 11, 26)),
    ((8, 1), (2025, 12, 31)),
    ((8, 2), (2026, 12, 31)),
    ((8, 3), (2027, 12, 31)),
    ((8, 4), (2028, 12, 31)),
    ((8, 5), (2029, 12, 31)),
    ((7, 1), (2019, 12, 1)),
];
const MARIADB: [((u32, u32), SupportEnd); 9] = [
    ((10, 3), (2023, 5, 25)),
    ((10, 4), (2024, 6, 18)),
    ((10, 5), (2025, 6, 24)),
    ((10, 6), (2026, 7, 6)),
    ((10, 11), (2028, 2, 16)),
    ((11, 1), (2024, 8, 21)),
    ((11, 2), (2024, 11, 21)),
    ((11, 4), (2029, 5, 29)),
    ((11, 8), (2028, 6, 4)),
];
const MYSQL: [((u32, u32), SupportEnd); 4] =
    [((5, 6), (2021, 2, 5)), ((5, 7), (2023, 10, 21)), ((8, 0), (2026, 4, 30)), ((8, 4), (2032, 4, 30))];

/// Programs with known end-of-support dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Php,
    MariaDb,
    MySql,
}

/// Support status of a program version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SupportStatus {
    /// The version is no longer supported; the date is its last day (`YYYY-MM-DD`).
    Ended(String),
    /// Support continues until the end of this day (`YYYY-MM-DD`).
    Until(String),
    /// The version is not listed.
    Unknown,
}

pub(crate) fn support(program: Program, version: &str, now_s: u64) -> SupportStatus {
    let Some(version) = parse(version) else { return SupportStatus::Unknown };
    let table: &[((u32, u32), SupportEnd)] = match program {
        Program::Php => &PHP,
        Program::MariaDb => &MARIADB,
        Program::MySql => &MYSQL,
    };
    let Some((_, (year, month, day))) = table.iter().find(|(known, _)| *known == version) else {
        return SupportStatus::Unknown;
    };
    let date = format!("{year}-{month:02}-{day:02}");
    if now_s > seconds(*year, *month, *day) { SupportStatus::Ended(date) } else { SupportStatus::Until(date) }
}

/// Parses the major and minor version at the start of a text such as `8.2.36`; `None` if it does not start with two
/// numbers.
pub(crate) fn parse(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Returns the end of a day of the Gregorian calendar (0:00 UTC of the next day), in seconds since the Unix epoch.
fn seconds(year: u32, month: u32, day: u32) -> u64 {
    let (year, month) = if month <= 2 {
        (u64::from(year) - 1, u64::from(month) + 9)
    } else {
        (u64::from(year), u64::from(month) - 3)
    };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + u64::from(day) - 1;
    (days - 719_468 + 1) * 86_400
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn support_ends_with_its_day() {
        assert_eq!(seconds(1970, 1, 1), 86_400);
        assert_eq!(seconds(2026, 12, 31), 1_798_761_600);
        let at = |now_s| support(Program::Php, "8.2.36", now_s);
        assert_eq!(at(1_798_761_600), SupportStatus::Until("2026-12-31".to_owned()));
        assert_eq!(at(1_798_761_601), SupportStatus::Ended("2026-12-31".to_owned()));
        assert_eq!(
            support(Program::MariaDb, "10.11.19-MariaDB-0+deb12u1", 1_790_000_000),
            SupportStatus::Until("2028-02-16".to_owned())
        );
        assert_eq!(
            support(Program::MySql, "5.7.44", 1_790_000_000),
            SupportStatus::Ended("2023-10-21".to_owned())
        );
        for unknown in ["", "x", "9", "99.1"] {
            assert_eq!(support(Program::Php, unknown, 0), SupportStatus::Unknown);
        }
    }
}
