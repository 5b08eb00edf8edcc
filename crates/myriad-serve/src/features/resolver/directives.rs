//! Directives `resolver` and `resolver_timeout`.

use myriad_conf::registry::{Arguments, Contexts, Directive, ONE, Set, SetterResult, at_least};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, set};

use super::settings::{NameServers, ResolverSettings};

const WHERE: Contexts =
    Contexts::HSL.or(Contexts::STREAM_LEVELS).or(Contexts::UPSTREAM).or(Contexts::STREAM_UPSTREAM);

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "resolver",
        WHERE,
        at_least(1),
        Set::Settings(resolver),
        "Name servers for names in variables of `proxy_pass`, and for `server` lines with `resolve`.",
    ),
    Directive::new(
        "resolver_timeout",
        WHERE,
        ONE,
        set!(Feature<ResolverSettings>.millis => timeout),
        "Timeout of a name resolution.",
    )
    .default("30s"),
];

fn resolver(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut resolver =
        NameServers { servers: Vec::new(), valid: None, ipv4: true, ipv6: true, status_zone: None };
    for index in 0..args.len() {
        let word = args.bytes(index);
        if word.starts_with(b"valid=") {
            resolver.valid = Some(args.millis_after(index, 6)?);
        } else if let Some(value) = word.strip_prefix(b"ipv4=") {
            resolver.ipv4 = on_or_off(args, index, value)?;
        } else if let Some(value) = word.strip_prefix(b"ipv6=") {
            resolver.ipv6 = on_or_off(args, index, value)?;
        } else if let Some(zone) = word.strip_prefix(b"status_zone=").filter(|zone| !zone.is_empty()) {
            resolver.status_zone = Some(String::from_utf8_lossy(zone).into_owned());
        } else {
            resolver.servers.push(args.text(index)?);
        }
    }
    if resolver.servers.is_empty() {
        return Err(args.error(0, "no name servers defined"));
    }
    if !resolver.ipv4 && !resolver.ipv6 {
        return Err(args.error(0, "\"ipv4\" and \"ipv6\" cannot both be \"off\""));
    }
    settings.feature_mut::<ResolverSettings>().name_servers = Some(resolver);
    Ok(())
}

fn on_or_off(args: &Arguments<'_>, index: usize, value: &[u8]) -> Result<bool, Diagnostic> {
    match value {
        b"on" => Ok(true),
        b"off" => Ok(false),
        _ => Err(args.invalid(index, "on or off")),
    }
}
