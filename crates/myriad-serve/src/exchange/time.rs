//! The local time zone's offset, for `$time_local` and `expires @…`.

use std::sync::OnceLock;

/// Minutes east of UTC, read once from `TZ` or `/etc/localtime` at start.
///
/// The offset in force when the process starts; a change of summer time is taken up at the next restart.
pub(crate) fn offset_minutes() -> i32 {
    static OFFSET: OnceLock<i32> = OnceLock::new();
    *OFFSET.get_or_init(|| tz_file().and_then(|bytes| offset_now(&bytes)).unwrap_or(0))
}

fn tz_file() -> Option<Vec<u8>> {
    match std::env::var("TZ") {
        Ok(zone) if !zone.is_empty() && !zone.contains("..") => {
            let zone = zone.trim_start_matches(':');
            std::fs::read(std::path::Path::new("/usr/share/zoneinfo").join(zone)).ok()
        }
        _ => std::fs::read("/etc/localtime").ok(),
    }
}

/// Reads version 2 of the TZif format (RFC 9636 section 3): the type of the last transition before now.
fn offset_now(bytes: &[u8]) -> Option<i32> {
    let now = i64::try_from(myriad_net::clock::now_ms() / 1000).ok()?;
    let first = Counts::read(bytes)?;
    let second_at = 44 + first.length(4);
    let body = bytes.get(second_at..)?;
    let counts = Counts::read(body)?;
    let data = body.get(44..)?;
    let times = data.get(..counts.times * 8)?;
    let kinds = data.get(counts.times * 8..counts.times * 9)?;
    let types = data.get(counts.times * 9..)?;
    let index = times
        .chunks_exact(8)
        .take_while(|time| i64::from_be_bytes((*time).try_into().unwrap_or_default()) <= now)
        .count();
    let kind = if index == 0 { 0 } else { usize::from(*kinds.get(index - 1)?) };
    let offset = types.get(kind * 6..kind * 6 + 4)?;
    Some(i32::from_be_bytes(offset.try_into().ok()?) / 60)
}

struct Counts {
    utc: usize,
    standard: usize,
    leaps: usize,
    times: usize,
    types: usize,
    chars: usize,
}

impl Counts {
    fn read(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..44)?;
        if !header.starts_with(b"TZif") {
            return None;
        }
        let count = |at: usize| {
            header[at..at + 4].iter().fold(0usize, |sum, byte| (sum << 8 | usize::from(*byte)) & 0xff_ffff)
        };
        Some(Self {
            utc: count(20),
            standard: count(24),
            leaps: count(28),
            times: count(32),
            types: count(36),
            chars: count(40),
        })
    }

    fn length(&self, time_bytes: usize) -> usize {
        self.times * (time_bytes + 1)
            + self.types * 6
            + self.chars
            + self.leaps * (time_bytes + 4)
            + self.standard
            + self.utc
    }
}
