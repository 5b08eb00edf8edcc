//! `limit_req_zone`, `limit_req`, `limit_conn_zone`, `limit_conn` and what goes with them.

use super::{Arguments, Contexts, Directive, Done, FLAG, ONE, Set, TWO, Use, between, exactly, set};
use crate::{
    diagnostic::Diagnostic,
    model::{HttpConf, LimitKind, LimitZoneConf},
    number::{parse_number, parse_size},
    settings::{ConnectionLimit, Level, RequestLimit, Settings},
    text::Text,
};

const HSL: Contexts = Contexts::HSL;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "limit_req_zone",
        Contexts::HTTP,
        exactly(3),
        Set::Http(request_zone),
        "A table of visitors and how fast each may ask.",
    )
    .repeats()
    .differs("what a visitor has used up outlives a reload that changes the size or the rate of the zone"),
    Directive::new(
        "limit_req",
        HSL,
        between(1, 3),
        Set::Settings(request_limit),
        "Delays or refuses who asks too fast.",
    )
    .repeats(),
    Directive::new(
        "limit_req_status",
        HSL,
        ONE,
        Set::Settings(|s, a| status(&mut s.limits.requests_answer.status, a)),
        "What refused requests are answered with.",
    )
    .default("503"),
    Directive::new(
        "limit_req_log_level",
        HSL,
        ONE,
        Set::Settings(|s, a| level(&mut s.limits.requests_answer.level, a)),
        "How refused requests are logged; delays are logged one level below.",
    )
    .default("error"),
    Directive::new(
        "limit_req_dry_run",
        HSL,
        FLAG,
        set!(Settings.flag => limits.requests_answer.dry_run),
        "Counts and logs, but lets everybody in.",
    )
    .default("off"),
    Directive::new(
        "limit_conn_zone",
        Contexts::HTTP,
        TWO,
        Set::Http(connection_zone),
        "A table of visitors and what each has under way.",
    )
    .repeats(),
    Directive::new(
        "limit_conn",
        HSL,
        TWO,
        Set::Settings(connection_limit),
        "Refuses who has too many requests under way.",
    )
    .repeats(),
    Directive::new(
        "limit_conn_status",
        HSL,
        ONE,
        Set::Settings(|s, a| status(&mut s.limits.connections_answer.status, a)),
        "What refused requests are answered with.",
    )
    .default("503"),
    Directive::new(
        "limit_conn_log_level",
        HSL,
        ONE,
        Set::Settings(|s, a| level(&mut s.limits.connections_answer.level, a)),
        "How refused requests are logged.",
    )
    .default("error"),
    Directive::new(
        "limit_conn_dry_run",
        HSL,
        FLAG,
        set!(Settings.flag => limits.connections_answer.dry_run),
        "Counts and logs, but lets everybody in.",
    )
    .default("off"),
];

fn request_zone(http: &mut HttpConf, args: &mut Arguments<'_>) -> Done {
    let mut zone = None;
    // nginx's default, unless written.
    let mut rate = 1000;
    for index in 1..args.len() {
        match args.bytes(index) {
            [b'z', b'o', b'n', b'e', b'=', rest @ ..] => zone = Some(name_and_size(args, index, rest)?),
            [b'r', b'a', b't', b'e', b'=', rest @ ..] => {
                rate = parse_rate(rest).ok_or_else(|| invalid_rate(args, index))?;
            }
            _ => return Err(args.invalid(index, "`zone=NAME:SIZE` or `rate=`")),
        }
    }
    add_zone(http, args, zone, LimitKind::Requests { rate })
}

fn connection_zone(http: &mut HttpConf, args: &mut Arguments<'_>) -> Done {
    let zone = match args.bytes(1) {
        [b'z', b'o', b'n', b'e', b'=', rest @ ..] => name_and_size(args, 1, rest)?,
        _ => return Err(args.invalid(1, "`zone=NAME:SIZE`")),
    };
    add_zone(http, args, Some(zone), LimitKind::Connections)
}

fn add_zone(http: &mut HttpConf, args: &Arguments<'_>, zone: Option<(String, u64)>, kind: LimitKind) -> Done {
    let Some((name, size)) = zone else {
        let message = format!("\"{}\" must have \"zone\" parameter", args.directive.name);
        return Err(Diagnostic::error(args.node.span, message).help("write `zone=NAME:10m`"));
    };
    if let Some(other) = http.limit_zones.iter().find(|other| other.name == name) {
        let message =
            format!("{} \"{name}\" is already bound to key \"{}\"", args.directive.name, other.key.lossy());
        return Err(Diagnostic::error(args.node.span, message).related(other.span, "first defined here"));
    }
    http.limit_zones.push(LimitZoneConf { name, key: args.text(0)?, size, kind, span: args.node.span });
    Ok(())
}

fn name_and_size(args: &Arguments<'_>, index: usize, text: &[u8]) -> Result<(String, u64), Diagnostic> {
    let invalid = |why: &str| {
        let word = String::from_utf8_lossy(args.bytes(index));
        args.error(index, format!("invalid zone size \"{word}\"")).help(why.to_owned())
    };
    let text = std::str::from_utf8(text).map_err(|_| invalid("write `zone=NAME:10m`"))?;
    let (name, size) = text.split_once(':').ok_or_else(|| invalid("write `zone=NAME:10m`"))?;
    let size = parse_size(size.as_bytes()).map_err(|_| invalid("write `zone=NAME:10m`"))?;
    // nginx's least: eight pages of memory.
    if name.is_empty() || size < 32 * 1024 {
        return Err(invalid("the name is not empty and the size at least 32k"));
    }
    Ok((name.to_owned(), size))
}

fn invalid_rate(args: &Arguments<'_>, index: usize) -> Diagnostic {
    let word = String::from_utf8_lossy(args.bytes(index));
    args.error(index, format!("invalid rate \"{word}\"")).help("write `rate=10r/s` or `rate=30r/m`")
}

/// `10r/s` or `30r/m` in thousandths of a request a second.
fn parse_rate(text: &[u8]) -> Option<u64> {
    // nginx takes a bare number for requests a second.
    let (number, seconds) = match text.strip_suffix(b"r/m") {
        Some(number) => (number, 60),
        None => (text.strip_suffix(b"r/s").unwrap_or(text), 1),
    };
    let number = parse_number(number).ok().filter(|number| *number > 0)?;
    let rate = number.checked_mul(1000)? / seconds;
    (rate > 0).then_some(rate)
}

fn request_limit(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    args.start(&mut settings.limits.requests);
    let mut limit = RequestLimit { zone: String::new(), burst: 0, delay: 0, span: args.node.span };
    for index in 0..args.len() {
        let thousandths = |skip| {
            let number = args.number_after(index, skip)?;
            number.checked_mul(1000).ok_or_else(|| args.invalid(index, "smaller: it is too large"))
        };
        match args.bytes(index) {
            [b'z', b'o', b'n', b'e', b'=', name @ ..] => {
                limit.zone = String::from_utf8_lossy(name).into_owned();
                limit.span = args.words()[index].span;
            }
            [b'b', b'u', b'r', b's', b't', b'=', ..] => limit.burst = thousandths("burst=".len())?,
            [b'd', b'e', b'l', b'a', b'y', b'=', ..] => limit.delay = thousandths("delay=".len())?,
            b"nodelay" => limit.delay = u64::MAX,
            _ => return Err(args.invalid(index, "`zone=`, `burst=`, `delay=` or `nodelay`")),
        }
    }
    if limit.zone.is_empty() {
        return Err(Diagnostic::error(args.node.span, "\"limit_req\" must have \"zone\" parameter"));
    }
    if settings.limits.requests.iter().any(|other| other.zone == limit.zone) {
        return Err(Diagnostic::error(args.node.span, "\"limit_req\" directive is duplicate"));
    }
    args.uses.push(Use::LimitZone(Text::new(limit.zone.as_bytes(), limit.span), "limit_req_zone"));
    settings.limits.requests.push(limit);
    Ok(())
}

fn connection_limit(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    args.start(&mut settings.limits.connections);
    let zone = args.name(0)?;
    let most = u16::try_from(args.number(1)?)
        .ok()
        .filter(|most| *most > 0)
        .ok_or_else(|| args.invalid(1, "from 1 to 65535"))?;
    if settings.limits.connections.iter().any(|other| other.zone == zone) {
        return Err(Diagnostic::error(args.node.span, "\"limit_conn\" directive is duplicate"));
    }
    args.uses.push(Use::LimitZone(args.text(0)?, "limit_conn_zone"));
    settings.limits.connections.push(ConnectionLimit { zone, most, span: args.words()[0].span });
    Ok(())
}

fn status(status: &mut u16, args: &mut Arguments<'_>) -> Done {
    let number = args.number(0)?;
    *status = u16::try_from(number)
        .ok()
        .filter(|status| (400..=599).contains(status))
        .ok_or_else(|| args.invalid(0, "between 400 and 599"))?;
    Ok(())
}

fn level(level: &mut Level, args: &mut Arguments<'_>) -> Done {
    *level = args.choice(
        0,
        &[("info", Level::Info), ("notice", Level::Notice), ("warn", Level::Warn), ("error", Level::Error)],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parse_rate;

    #[test]
    fn rates_are_read_in_seconds_and_minutes() {
        assert_eq!(parse_rate(b"2r/s"), Some(2000));
        assert_eq!(parse_rate(b"30r/m"), Some(500));
        assert_eq!(parse_rate(b"1r/m"), Some(16));
        assert_eq!(parse_rate(b"0r/s"), None);
        assert_eq!(parse_rate(b"r/s"), None);
        assert_eq!(parse_rate(b"1r/h"), None);
        assert_eq!(parse_rate(b"99999999999999999999r/s"), None);
    }
}
