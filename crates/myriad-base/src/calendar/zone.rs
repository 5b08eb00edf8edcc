//! Time zones: offsets from UTC at given times.

mod rule;
mod table;

use rule::ZoneRule;
use table::TransitionTable;

/// Time zone: a table of offsets, and a rule for times after the table. The default is UTC.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeZone {
    table: TransitionTable,
    /// Rule that applies from the last entry of the table on; `None` if the offset of that entry remains.
    rule: Option<ZoneRule>,
}

impl TimeZone {
    /// Parses a TZif file of version 2 or later (RFC 9636); `None` if the table is invalid. An invalid rule in it is
    /// ignored.
    pub fn from_tzif(file: &[u8]) -> Option<Self> {
        let (table, footer) = TransitionTable::parse(file)?;
        let rule = std::str::from_utf8(footer).ok().and_then(ZoneRule::parse);
        Some(Self { table, rule })
    }

    /// Parses a POSIX rule such as `CET-1CEST,M3.5.0,M10.5.0/3`; `None` if it is invalid.
    pub fn from_posix_rule(text: &str) -> Option<Self> {
        ZoneRule::parse(text).map(|rule| Self { rule: Some(rule), ..Self::default() })
    }

    /// Returns the offset in seconds east of UTC at `now_s` (seconds since the Unix epoch).
    pub fn offset_s(&self, now_s: i64) -> i32 {
        match &self.rule {
            Some(rule) if self.table.ends_before(now_s) => rule.offset_s(now_s),
            _ => self.table.offset_s(now_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summer_time_comes_and_goes_while_the_server_runs() {
        let zone = TimeZone::from_posix_rule("CET-1CEST,M3.5.0,M10.5.0/3").expect("a rule");
        // 2026-03-29 01:00 UTC and 2026-10-25 01:00 UTC.
        assert_eq!(zone.offset_s(1_774_745_999), 3600);
        assert_eq!(zone.offset_s(1_774_746_000), 7200);
        assert_eq!(zone.offset_s(1_792_889_999), 7200);
        assert_eq!(zone.offset_s(1_792_890_000), 3600);
    }

    /// Creates a zone from a TZif file: UTC before `at`, one entry with an offset of one hour at `at`, and the rule
    /// `rule` for later times.
    fn zone_file(at: i64, rule: &str) -> TimeZone {
        let mut file = b"TZif2".to_vec();
        file.resize(44, 0);
        file.extend_from_slice(b"TZif2");
        file.resize(44 + 32, 0);
        for count in [1u32, 2, 4] {
            file.extend_from_slice(&count.to_be_bytes());
        }
        file.extend_from_slice(&at.to_be_bytes());
        file.push(1);
        file.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0x0e, 0x10, 1, 0]);
        file.extend_from_slice(format!("ABC\0\n{rule}\n").as_bytes());
        TimeZone::from_tzif(&file).expect("a zone")
    }

    #[test]
    fn the_rule_of_a_file_holds_from_the_end_of_its_table_on() {
        let zone = zone_file(1_774_746_000, "<+05>-5");
        assert_eq!(zone.offset_s(1_774_745_999), 0);
        // The last entry is reached; from then on the rule applies.
        assert_eq!(zone.offset_s(1_774_746_000), 18_000);
        assert_eq!(zone.offset_s(4_000_000_000), 18_000);
    }

    #[test]
    fn the_last_entry_holds_for_ever_without_a_rule() {
        for rule in ["", "CET-1CEST"] {
            let zone = zone_file(1_774_746_000, rule);
            assert_eq!(
                [1_774_745_999, 1_774_746_000, 4_000_000_000].map(|at| zone.offset_s(at)),
                [0, 3600, 3600]
            );
        }
    }
}
