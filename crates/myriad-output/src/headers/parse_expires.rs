//! Syntax of `expires`.

use myriad_conf::number::parse_seconds;
use myriad_exchange::runtime::Expires;

/// Parses the argument of `expires`, or the value of its variable at run time; `None` if invalid.
pub(super) fn parse_expires<T>(word: &[u8], modified: bool) -> Option<Expires<T>> {
    match (word, modified) {
        (b"off", false) => return Some(Expires::Off),
        (b"epoch", false) => return Some(Expires::Epoch),
        (b"max", false) => return Some(Expires::Max),
        ([b'@', time @ ..], false) => {
            let seconds = parse_seconds(time).ok().and_then(|seconds| u32::try_from(seconds).ok());
            return seconds.filter(|seconds| *seconds <= 86_400).map(Expires::Daily);
        }
        _ => {}
    }
    let (sign, time) = match word {
        [b'-', time @ ..] => (-1, time),
        [b'+', time @ ..] | time => (1, time),
    };
    let seconds = sign * i64::try_from(parse_seconds(time).ok()?).ok()?;
    Some(if modified { Expires::Modified(seconds) } else { Expires::Access(seconds) })
}
