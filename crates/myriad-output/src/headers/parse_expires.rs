//! Syntax of `expires`.

use myriad_conf::number::parse_seconds;
use myriad_exchange::runtime::ExpiresRule;

/// Parses the argument of `expires`, or the value of its variable at run time; `None` if it is invalid. `modified` is
/// set for `expires modified`.
pub(super) fn parse_expires<T>(word: &[u8], modified: bool) -> Option<ExpiresRule<T>> {
    match (word, modified) {
        (b"off", false) => return Some(ExpiresRule::Off),
        (b"epoch", false) => return Some(ExpiresRule::Epoch),
        (b"max", false) => return Some(ExpiresRule::Max),
        ([b'@', time @ ..], false) => {
            let seconds = parse_seconds(time).ok().and_then(|seconds| u32::try_from(seconds).ok());
            return seconds.filter(|seconds| *seconds <= 86_400).map(ExpiresRule::Daily);
        }
        _ => {}
    }
    let (sign, time) = match word {
        [b'-', time @ ..] => (-1, time),
        [b'+', time @ ..] | time => (1, time),
    };
    let seconds = sign * i64::try_from(parse_seconds(time).ok()?).ok()?;
    Some(if modified { ExpiresRule::Modified(seconds) } else { ExpiresRule::Access(seconds) })
}
