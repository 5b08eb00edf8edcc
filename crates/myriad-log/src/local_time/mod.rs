//! The local time zone, for the logs, `$time_local` and `expires @…`: read once from `TZ` or `/etc/localtime` (RFC 9636).

mod rule;
mod table;

use std::cell::Cell;
use std::sync::OnceLock;

use rule::Rule;
use table::Table;

/// Offsets change at a quarter of an hour, so what holds at a second holds to the end of its quarter.
const QUARTER_S: u64 = 900;

thread_local! {
    static LATEST: Cell<(u64, i32)> = const { Cell::new((u64::MAX, 0)) };
}

/// Minutes east of UTC at `now_s`, seconds since the epoch.
pub fn offset_minutes(now_s: u64) -> i32 {
    static ZONE: OnceLock<Zone> = OnceLock::new();
    let quarter = now_s / QUARTER_S;
    let (known, offset) = LATEST.get();
    if known == quarter {
        return offset;
    }
    let offset = ZONE.get_or_init(Zone::read).offset_s(now_s.cast_signed()) / 60;
    LATEST.set((quarter, offset));
    offset
}

/// A time zone.
#[derive(Default)]
struct Zone {
    table: Table,
    /// What holds after the last entry of the table.
    rule: Option<Rule>,
}

impl Zone {
    fn read() -> Self {
        match std::env::var("TZ") {
            Ok(name) if !name.is_empty() => Self::named(name.trim_start_matches(':')),
            _ => {
                std::fs::read("/etc/localtime").ok().and_then(|file| Self::of_file(&file)).unwrap_or_default()
            }
        }
    }

    /// A file below `/usr/share/zoneinfo`, an absolute path, or a rule written out (`CET-1CEST,M3.5.0,M10.5.0/3`).
    fn named(name: &str) -> Self {
        let file = std::fs::read(std::path::Path::new("/usr/share/zoneinfo").join(name));
        file.ok()
            .and_then(|file| Self::of_file(&file))
            .or_else(|| Rule::parse(name).map(|rule| Self { rule: Some(rule), ..Self::default() }))
            .unwrap_or_default()
    }

    fn of_file(file: &[u8]) -> Option<Self> {
        let (table, footer) = Table::parse(file)?;
        let rule = std::str::from_utf8(footer).ok().and_then(Rule::parse);
        Some(Self { table, rule })
    }

    fn offset_s(&self, now_s: i64) -> i32 {
        match &self.rule {
            Some(rule) if self.table.ends_before(now_s) => rule.offset_s(now_s),
            _ => self.table.offset_s(now_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn summer_time_comes_and_goes_while_the_server_runs() {
        let zone = Zone::named("CET-1CEST,M3.5.0,M10.5.0/3");
        // 2026-03-29 01:00 UTC and 2026-10-25 01:00 UTC.
        assert_eq!(zone.offset_s(1_774_745_999), 3600);
        assert_eq!(zone.offset_s(1_774_746_000), 7200);
        assert_eq!(zone.offset_s(1_792_889_999), 7200);
        assert_eq!(zone.offset_s(1_792_890_000), 3600);
    }

    #[test]
    fn a_zone_that_is_not_known_is_utc() {
        assert_eq!(Zone::named("Nowhere/Land").offset_s(1_774_746_000), 0);
    }

    /// A zone in a file: UTC until `at`, an hour more from then on, then what the rule says.
    fn zone_file(name: &str, at: i64, rule: &str) -> (Folder, Zone) {
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
        let folder = Folder::new(name);
        std::fs::write(folder.path("zone"), file).expect("a file");
        let zone = Zone::named(folder.path("zone").to_str().expect("a name"));
        (folder, zone)
    }

    #[test]
    fn the_rule_of_a_file_holds_from_the_end_of_its_table_on() {
        let (_folder, zone) = zone_file("zone-rule", 1_774_746_000, "<+05>-5");
        assert_eq!(zone.offset_s(1_774_745_999), 0);
        // The last entry ends the table: the rule says what holds from it on.
        assert_eq!(zone.offset_s(1_774_746_000), 18_000);
        assert_eq!(zone.offset_s(4_000_000_000), 18_000);
    }

    #[test]
    fn the_last_entry_holds_for_ever_without_a_rule() {
        for (name, rule) in [("zone-none", ""), ("zone-broken", "CET-1CEST")] {
            let (_folder, zone) = zone_file(name, 1_774_746_000, rule);
            assert_eq!(
                [1_774_745_999, 1_774_746_000, 4_000_000_000].map(|at| zone.offset_s(at)),
                [0, 3600, 3600]
            );
        }
    }

    #[test]
    fn a_file_that_is_no_zone_is_utc() {
        let folder = Folder::new("zone-text");
        std::fs::write(folder.path("zone"), "CET-1").expect("a file");
        assert_eq!(Zone::named(folder.path("zone").to_str().expect("a name")).offset_s(0), 0);
    }

    #[test]
    fn what_is_remembered_of_a_quarter_is_what_the_zone_says() {
        let zone = Zone::read();
        // Back and forth over quarters, so that each answer but some is of another quarter than the one before it.
        for at in [1_774_745_999, 1_774_746_000, 1_774_746_899, 1_774_746_900, 1_774_745_999, 0] {
            assert_eq!(offset_minutes(at), zone.offset_s(at.cast_signed()) / 60, "{at}");
        }
    }
}
