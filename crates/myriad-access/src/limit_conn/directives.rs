//! Directives `limit_conn*`, and parsers of their arguments.

use myriad_conf::registry::{
    Arguments, Contexts, Directive, FLAG, NameKind, ONE, Set, SetterResult, between,
};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, set};

use super::settings::{ConnectionLimit, ConnectionLimitSettings};
use crate::limit_response::{parse_level, parse_status};
use crate::limit_zone::{LimitKind, add_zone, limit_zones, name_and_size, parse_cluster};

const HSL: Contexts = Contexts::HSL;

/// Names that the `zone` argument of `limit_conn` may refer to.
static ZONES: NameKind = NameKind {
    kind: "zone",
    defined: |http| {
        let zones = limit_zones(http).iter().filter(|zone| zone.kind == LimitKind::Connections);
        zones.map(|zone| zone.name.as_str()).collect()
    },
    example: |name, _| format!("limit_conn_zone $binary_remote_addr zone={name}:10m;"),
};

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "limit_conn_zone",
        Contexts::HTTP.or(Contexts::STREAM),
        between(2, 3),
        Set::Settings(connection_zone),
        "Declares a zone that counts concurrent requests (in `stream`: connections) per key. In a `cluster`, limits apply \
             to all nodes together; `cluster=off` (a Myriad extension) excludes the zone.",
    )
    .repeats(),
    Directive::new(
        "limit_conn",
        HSL.or(Contexts::STREAM_LEVELS),
        between(2, 3),
        Set::Settings(connection_limit),
        "Limits concurrent requests (in `stream`: connections) per key. With `origin_only` (a Myriad extension) only \
             requests that are sent to an origin count.",
    )
    .repeats(),
    Directive::new(
        "limit_conn_status",
        HSL,
        ONE,
        Set::Settings(|s, a| parse_status(&mut s.feature_mut::<ConnectionLimitSettings>().answer.status, a)),
        "Status of rejected requests.",
    )
    .default("503"),
    Directive::new(
        "limit_conn_log_level",
        HSL.or(Contexts::STREAM_LEVELS),
        ONE,
        Set::Settings(|s, a| parse_level(&mut s.feature_mut::<ConnectionLimitSettings>().answer.level, a)),
        "Log level of rejected requests.",
    )
    .default("error"),
    Directive::new(
        "limit_conn_dry_run",
        HSL.or(Contexts::STREAM_LEVELS),
        FLAG,
        set!(Feature<ConnectionLimitSettings>.flag => answer.dry_run),
        "Counts and logs, but rejects no request.",
    )
    .default("off"),
];

fn connection_zone(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let zone = match args.bytes(1) {
        [b'z', b'o', b'n', b'e', b'=', rest @ ..] => name_and_size(args, 1, rest)?,
        _ => return Err(args.invalid(1, "`zone=NAME:SIZE`")),
    };
    let cluster = match (args.len() == 3).then(|| args.bytes(2)) {
        None => true,
        Some([b'c', b'l', b'u', b's', b't', b'e', b'r', b'=', rest @ ..]) => parse_cluster(args, 2, rest)?,
        Some(_) => return Err(args.invalid(2, "`cluster=on` or `cluster=off`")),
    };
    add_zone(settings, args, Some(zone), LimitKind::Connections, cluster)
}

fn connection_limit(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let limits = &mut settings.feature_mut::<ConnectionLimitSettings>().limits;
    args.start(limits);
    let zone = args.name(0)?;
    let most = u16::try_from(args.number(1)?)
        .ok()
        .filter(|most| *most > 0)
        .ok_or_else(|| args.invalid(1, "from 1 to 65535"))?;
    let origin_only = args.len() == 3;
    if origin_only && args.bytes(2) != b"origin_only" {
        return Err(args.invalid(2, "`origin_only`"));
    }
    if limits.iter().any(|other| other.zone == zone) {
        return Err(Diagnostic::error(args.node.span, "\"limit_conn\" directive is duplicate"));
    }
    args.use_name(args.text(0)?, &ZONES);
    limits.push(ConnectionLimit { zone, max: most, origin_only, span: args.words()[0].span });
    Ok(())
}
