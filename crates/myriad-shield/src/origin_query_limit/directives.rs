//! The row, and its words read.

use myriad_conf::number::parse_number;
use myriad_conf::registry::{Arguments, Contexts, Directive, Done, Set, between};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};

use super::settings::{Action, Per, QueryRules, QuerySettings};

/// Bound of `burst=`.
const MOST: u64 = 100_000;

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "origin_query_limit",
    Contexts::HSL,
    between(1, 6),
    Set::Settings(origin_query_limit),
    "How many new queries (what stands behind `?`) go to an origin in a time: `rate=20r/m`, and `burst=` (as many as in a minute) at \
     once; `per=path`, `network` (/24, /48 of IPv6) or `server`. Beyond that `action=strip` redirects to the page without the \
     arguments but those that `keep=a,b` names, `action=challenge` asks for a pass (`origin_challenge`), `action=429` or `503` refuses. \
     Pages that are stored are always served. It is for requests that may share a page; with `unless=` for all but those for which the text \
     is neither empty nor `0`. A line a second of the error log names the arguments.",
)
.default("off")
.own()];

fn origin_query_limit(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let rules = &mut settings.feature_mut::<QuerySettings>().0;
    if args.len() == 1 && args.bytes(0) == b"off" {
        *rules = None;
        return Ok(());
    }
    *rules = Some(read(args)?);
    Ok(())
}

fn read(args: &Arguments<'_>) -> Result<QueryRules, Diagnostic> {
    let (mut rate, mut burst, mut per, mut keep, mut action, mut unless) =
        (None, None, Per::Path, Vec::new(), Action::Strip, None);
    for index in 0..args.len() {
        let word = args.bytes(index);
        let (name, value) = word.split_at(word.iter().position(|byte| *byte == b'=').map_or(0, |at| at + 1));
        match (name, value) {
            (b"rate=", _) => {
                rate = Some(parse_rate(value).ok_or_else(|| {
                    let word = String::from_utf8_lossy(word);
                    let help = "write `rate=20r/m` or `rate=1r/s`, at most 1000 a second";
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
            (b"per=", b"path") => per = Per::Path,
            (b"per=", b"network") => per = Per::Network,
            (b"per=", b"server") => per = Per::Server,
            (b"keep=", _) => keep = value.split(|byte| *byte == b',').map(Into::into).collect(),
            (b"unless=", _) if !value.is_empty() => unless = Some(Text::new(value, args.words()[index].span)),
            (b"action=", b"strip") => action = Action::Strip,
            (b"action=", b"challenge") => action = Action::Challenge,
            (b"action=", b"429") => action = Action::Status(429),
            (b"action=", b"503") => action = Action::Status(503),
            _ => {
                return Err(args.invalid(
                    index,
                    "`off`, or `rate=20r/m`, `burst=N`, `per=path`, `network` or `server`, `keep=NAME,NAME`, \
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
    Ok(QueryRules { interval_ms, burst, per, keep, action, unless })
}

/// `20r/m` or `1r/s` as milliseconds for one.
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
