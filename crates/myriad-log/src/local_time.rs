//! Local time zone for logs, `$time_local` and `expires @…`, read once from `TZ` or `/etc/localtime` (RFC 9636).

use std::cell::Cell;
use std::path::Path;
use std::sync::OnceLock;

use myriad_base::calendar::TimeZone;

/// 15 minutes in seconds. Offsets change only at multiples of it, so a cached offset is valid until the next multiple.
const QUARTER_S: u64 = 900;

thread_local! {
    static LATEST: Cell<(u64, i32)> = const { Cell::new((u64::MAX, 0)) };
}

/// Returns the local offset in minutes east of UTC at `now_s` (seconds since the Unix epoch).
pub fn offset_minutes(now_s: u64) -> i32 {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    let quarter = now_s / QUARTER_S;
    let (known, offset) = LATEST.get();
    if known == quarter {
        return offset;
    }
    let offset = ZONE.get_or_init(of_system).offset_s(now_s.cast_signed()) / 60;
    LATEST.set((quarter, offset));
    offset
}

/// Returns the time zone that `TZ` names, or UTC if it names no known zone. If `TZ` is not set or empty, returns the
/// time zone in `/etc/localtime`, or UTC if this file cannot be read.
fn of_system() -> TimeZone {
    match std::env::var("TZ") {
        Ok(name) if !name.is_empty() => named(name.trim_start_matches(':')),
        _ => of_file(Path::new("/etc/localtime")).unwrap_or_default(),
    }
}

/// Returns the time zone for `name`: a file below `/usr/share/zoneinfo`, an absolute path of a file, or a rule such as
/// `CET-1CEST,M3.5.0,M10.5.0/3`. Returns UTC if `name` is none of these.
fn named(name: &str) -> TimeZone {
    let file = of_file(&Path::new("/usr/share/zoneinfo").join(name));
    file.or_else(|| TimeZone::from_posix_rule(name)).unwrap_or_default()
}

fn of_file(path: &Path) -> Option<TimeZone> {
    TimeZone::from_tzif(&std::fs::read(path).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::LogTestFolder;

    #[test]
    fn a_zone_that_is_not_known_is_utc() {
        assert_eq!(named("Nowhere/Land").offset_s(1_774_746_000), 0);
    }

    #[test]
    fn a_zone_is_named_by_a_rule_or_by_the_path_of_its_file() {
        assert_eq!(named("CET-1CEST,M3.5.0,M10.5.0/3").offset_s(1_774_746_000), 7200);
        let mut file = b"TZif2".to_vec();
        file.resize(44, 0);
        file.extend_from_slice(b"TZif2");
        file.resize(44 + 36, 0);
        for count in [1u32, 0] {
            file.extend_from_slice(&count.to_be_bytes());
        }
        file.extend_from_slice(&[0, 0, 0x0e, 0x10, 0, 0]);
        file.extend_from_slice(b"\n<+05>-5\n");
        let folder = LogTestFolder::new("zone-file");
        std::fs::write(folder.path("zone"), file).expect("a file");
        assert_eq!(named(folder.path("zone").to_str().expect("a name")).offset_s(0), 18_000);
    }

    #[test]
    fn a_file_that_is_no_zone_is_utc() {
        let folder = LogTestFolder::new("zone-text");
        std::fs::write(folder.path("zone"), "CET-1").expect("a file");
        assert_eq!(named(folder.path("zone").to_str().expect("a name")).offset_s(0), 0);
    }

    #[test]
    fn cached_offset_of_quarter_hour_matches_time_zone() {
        let zone = of_system();
        // Alternates between quarters of an hour, so that most calls do not find their quarter in the cache.
        for at in [1_774_745_999, 1_774_746_000, 1_774_746_899, 1_774_746_900, 1_774_745_999, 0] {
            assert_eq!(offset_minutes(at), zone.offset_s(at.cast_signed()) / 60, "{at}");
        }
    }
}
