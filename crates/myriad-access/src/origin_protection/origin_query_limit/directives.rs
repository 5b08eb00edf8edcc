//! Directive `origin_query_limit`, and its parser.

use myriad_conf::number::parse_number;
use myriad_conf::registry::{Arguments, Contexts, Directive, Set, SetterResult, between};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};

use super::settings::{LimitAction, QueryRules, QueryScope, QuerySettings};

/// Maximum of `burst=`: number of new queries that are admitted at once.
const MOST: u64 = 100_000;
/// Maximum of `wait=` (delay of a request beyond the burst), in milliseconds: a browser gives up after a minute or two.
const LONGEST_WAIT_MS: u64 = 60_000;

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "origin_query_limit",
    Contexts::HSL,
    between(1, 7),
    Set::Settings(origin_query_limit),
    "Limits the rate of new query strings (after `?`) that one client network (/24, /64 for IPv6) sends to the \
         origin: `rate=20r/m`, and `burst=` (default: one minute's number); `per=network` counts them in total, \
         `per=path` per path. A new query string beyond the limit is delayed if the delay does not exceed `wait=` (0). \
         Otherwise `action=strip` redirects to the URL without arguments except those in `keep=a,b`, `action=challenge` \
         requires a pass (`origin_challenge`), and `action=429` or `503` rejects the request. Stored pages are always \
         served. Requests that bypass the cache count only with `unless=`, which excludes requests for which it is \
         neither empty nor `0`; beyond the limit they are sent to the origin unchanged, with the lowest priority \
         (`origin_queue`). The error log names the arguments, at most one line per second.",
)
.default("off")
.own()];

fn origin_query_limit(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let rules = &mut settings.feature_mut::<QuerySettings>().0;
    if args.len() == 1 && args.bytes(0) == b"off" {
        *rules = None;
        return Ok(());
    }
    *rules = Some(read(args)?);
    Ok(())
}

fn read(args: &Arguments<'_>) -> Result<QueryRules, Diagnostic> {
    let (mut rate, mut burst, mut wait_ms, mut per, mut keep, mut action, mut unless) =
        (None, None, 0, QueryScope::Network, Vec::new(), LimitAction::Strip, None);
    for index in 0..args.len() {
        let word = args.bytes(index);
        let (name, value) = word.split_at(word.iter().position(|byte| *byte == b'=').map_or(0, |at| at + 1));
        match (name, value) {
            (b"rate=", _) => {
                rate = Some(parse_rate(value).ok_or_else(|| {
                    let word = String::from_utf8_lossy(word);
                    let help = "write `rate=20r/m` or `rate=1r/s`, at most 1000 per second";
                    args.error(index, format!("invalid rate \"{word}\"")).help(help)
                })?);
            }
            (b"burst=", _) => {
                let number = args.number_after(index, name.len())?;
                if !(1..=MOST).contains(&number) {
                    return Err(args.invalid(index, format!("from 1 to {MOST}")));
                }
                burst = Some(number);
            }
            (b"wait=", _) => wait_ms = read_wait(args, index, name.len())?,
            (b"per=", b"network") => per = QueryScope::Network,
            (b"per=", b"path") => per = QueryScope::Path,
            (b"keep=", _) => keep = value.split(|byte| *byte == b',').map(Into::into).collect(),
            (b"unless=", _) if !value.is_empty() => unless = Some(Text::new(value, args.words()[index].span)),
            (b"action=", b"strip") => action = LimitAction::Strip,
            (b"action=", b"challenge") => action = LimitAction::Challenge,
            (b"action=", b"429") => action = LimitAction::Status(429),
            (b"action=", b"503") => action = LimitAction::Status(503),
            _ => {
                return Err(args.invalid(
                    index,
                    "`off`, or `rate=20r/m`, `burst=N`, `wait=TIME`, `per=network` or `path`, `keep=NAME,NAME`, \
                     `action=strip`, `challenge`, `429` or `503`, `unless=$variable`",
                ));
            }
        }
    }
    let Some(interval_ms) = rate else {
        let message = "\"origin_query_limit\" must have \"rate\" parameter";
        return Err(Diagnostic::error(args.node.span, message).help("write `origin_query_limit rate=20r/m;`"));
    };
    let burst = burst.unwrap_or_else(|| (60_000 / interval_ms).max(1));
    Ok(QueryRules { interval_ms, burst, wait_ms, per, keep, action, unless })
}

fn read_wait(args: &Arguments<'_>, index: usize, skip: usize) -> Result<u64, Diagnostic> {
    let wait_ms = args.millis_after(index, skip)?;
    if wait_ms <= LONGEST_WAIT_MS { Ok(wait_ms) } else { Err(args.invalid(index, "a time up to 1m")) }
}

/// Parses `20r/m` or `1r/s`; returns the interval between queries in milliseconds. Returns `None` if it is invalid, 0,
/// or above 1000 per second.
fn parse_rate(text: &[u8]) -> Option<u64> {
    let (number, window_ms) = match text.strip_suffix(b"r/m") {
        Some(number) => (number, 60_000),
        None => (text.strip_suffix(b"r/s")?, 1000),
    };
    let number = parse_number(number).ok().filter(|number| *number > 0)?;
    Some(window_ms / number).filter(|interval| *interval > 0)
}

#[cfg(test)]
mod tests {
    use super::parse_rate;

    #[test]
    fn rates_are_read_in_seconds_and_minutes() {
        assert_eq!(parse_rate(b"20r/m"), Some(3000));
        assert_eq!(parse_rate(b"2r/s"), Some(500));
        for wrong in [&b"0r/m"[..], b"20", b"r/s", b"2000r/s", b"1r/h", b""] {
            assert_eq!(parse_rate(wrong), None, "{}", wrong.escape_ascii());
        }
    }
}
