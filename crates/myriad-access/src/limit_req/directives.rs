//! Directives `limit_req*`, and parsers of their arguments.

use myriad_conf::number::parse_number;
use myriad_conf::registry::{
    Arguments, Contexts, Directive, FLAG, NameKind, ONE, Set, SetterResult, between,
};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text, set};

use super::settings::{RequestLimit, RequestLimitSettings};
use crate::limit_response::{parse_level, parse_status};
use crate::limit_zone::{LimitKind, add_zone, limit_zones, name_and_size, parse_cluster};

const HSL: Contexts = Contexts::HSL;

/// Names that `zone=` of `limit_req` may refer to.
static ZONES: NameKind = NameKind {
    kind: "zone",
    defined: |http| {
        let zones = limit_zones(http).iter().filter(|zone| matches!(zone.kind, LimitKind::Requests { .. }));
        zones.map(|zone| zone.name.as_str()).collect()
    },
    example: |name, _| format!("limit_req_zone $binary_remote_addr zone={name}:10m rate=10r/s;"),
};

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "limit_req_zone",
        Contexts::HTTP,
        between(3, 4),
        Set::Settings(request_zone),
        "Declares a zone with the request rate per key. In a `cluster`, the rate applies to all nodes together; \
             `cluster=off` (a Myriad extension) excludes the zone.",
    )
    .repeats()
    .differs("the state of a key is preserved by a reload that changes the size or the rate of the zone"),
    Directive::new(
        "limit_req",
        HSL,
        between(1, 4),
        Set::Settings(request_limit),
        "Delays or rejects requests beyond the rate. With `origin_only` (a Myriad extension) only requests that are sent \
             to an origin count: stored pages, and requests that wait for another request's fetch, are never rejected.",
    )
    .repeats(),
    Directive::new(
        "limit_req_status",
        HSL,
        ONE,
        Set::Settings(|s, a| parse_status(&mut s.feature_mut::<RequestLimitSettings>().answer.status, a)),
        "Status of rejected requests.",
    )
    .default("503"),
    Directive::new(
        "limit_req_log_level",
        HSL,
        ONE,
        Set::Settings(|s, a| parse_level(&mut s.feature_mut::<RequestLimitSettings>().answer.level, a)),
        "Log level of rejected requests; delays are logged one level lower.",
    )
    .default("error"),
    Directive::new(
        "limit_req_dry_run",
        HSL,
        FLAG,
        set!(Feature<RequestLimitSettings>.flag => answer.dry_run),
        "Counts and logs, but neither rejects nor delays requests.",
    )
    .default("off"),
];

fn request_zone(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut zone = None;
    // One request per second, the default of nginx.
    let mut rate = 1000;
    let mut cluster = true;
    for index in 1..args.len() {
        match args.bytes(index) {
            [b'z', b'o', b'n', b'e', b'=', rest @ ..] => zone = Some(name_and_size(args, index, rest)?),
            [b'r', b'a', b't', b'e', b'=', rest @ ..] => {
                rate = parse_rate(rest).ok_or_else(|| invalid_rate(args, index))?;
            }
            [b'c', b'l', b'u', b's', b't', b'e', b'r', b'=', rest @ ..] => {
                cluster = parse_cluster(args, index, rest)?;
            }
            _ => return Err(args.invalid(index, "`zone=NAME:SIZE`, `rate=` or `cluster=`")),
        }
    }
    add_zone(settings, args, zone, LimitKind::Requests { rate }, cluster)
}

fn invalid_rate(args: &Arguments<'_>, index: usize) -> Diagnostic {
    let word = String::from_utf8_lossy(args.bytes(index));
    args.error(index, format!("invalid rate \"{word}\"")).help("write `rate=10r/s` or `rate=30r/m`")
}

/// Parses `10r/s`, `30r/m`, or a number without unit (requests per second); returns thousandths of a request per
/// second. Returns `None` if it is invalid or 0.
fn parse_rate(text: &[u8]) -> Option<u64> {
    // nginx interprets a number without unit as requests per second.
    let (number, seconds) = match text.strip_suffix(b"r/m") {
        Some(number) => (number, 60),
        None => (text.strip_suffix(b"r/s").unwrap_or(text), 1),
    };
    let number = parse_number(number).ok().filter(|number| *number > 0)?;
    let rate = number.checked_mul(1000)? / seconds;
    (rate > 0).then_some(rate)
}

fn request_limit(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let limits = &mut settings.feature_mut::<RequestLimitSettings>().limits;
    args.start(limits);
    let mut limit =
        RequestLimit { zone: String::new(), burst: 0, delay: 0, origin_only: false, span: args.node.span };
    for index in 0..args.len() {
        let thousandths = |skip| {
            let number = args.number_after(index, skip)?;
            number.checked_mul(1000).ok_or_else(|| args.invalid(index, "smaller: the value is too large"))
        };
        match args.bytes(index) {
            [b'z', b'o', b'n', b'e', b'=', name @ ..] => {
                limit.zone = String::from_utf8_lossy(name).into_owned();
                limit.span = args.words()[index].span;
            }
            [b'b', b'u', b'r', b's', b't', b'=', ..] => limit.burst = thousandths("burst=".len())?,
            [b'd', b'e', b'l', b'a', b'y', b'=', ..] => limit.delay = thousandths("delay=".len())?,
            b"nodelay" => limit.delay = u64::MAX,
            b"origin_only" => limit.origin_only = true,
            _ => {
                return Err(args.invalid(index, "`zone=`, `burst=`, `delay=`, `nodelay` or `origin_only`"));
            }
        }
    }
    if limit.zone.is_empty() {
        return Err(Diagnostic::error(args.node.span, "\"limit_req\" must have \"zone\" parameter"));
    }
    if limits.iter().any(|other| other.zone == limit.zone) {
        return Err(Diagnostic::error(args.node.span, "\"limit_req\" directive is duplicate"));
    }
    args.use_name(Text::new(limit.zone.as_bytes(), limit.span), &ZONES);
    limits.push(limit);
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
