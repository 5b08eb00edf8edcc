//! Directives `set_real_ip_from`, `real_ip_header` and `real_ip_recursive`.

use myriad_conf::registry::{
    Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, is_host_name, network,
};
use myriad_conf::set;
use myriad_conf::settings::Settings;

use super::settings::{RealIpFrom, RealIpSettings};
use myriad_exchange::runtime::RealIpSource;

const HSL: Contexts = Contexts::HSL;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "set_real_ip_from",
        HSL,
        ONE,
        Set::Settings(from),
        "Trusted proxies that may report the client address.",
    )
    .repeats(),
    Directive::new(
        "real_ip_header",
        HSL,
        ONE,
        Set::Settings(header),
        "Header that contains the client address.",
    )
    .default("X-Real-IP"),
    Directive::new(
        "real_ip_recursive",
        HSL,
        FLAG,
        set!(Feature<RealIpSettings>.flag => recursive),
        "Skips trusted addresses in the list.",
    )
    .default("off"),
];

fn from(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let trusted = &mut settings.feature_mut::<RealIpSettings>().from;
    args.start(trusted);
    let word = args.bytes(0);
    let host = std::str::from_utf8(word).is_ok_and(|word| is_host_name(word) && word != "all");
    let from = if host {
        RealIpFrom::Host(args.text(0)?)
    } else if word == b"all" {
        // With `all`, every client could choose its address.
        return Err(args.invalid(0, "an address, a network such as 10.0.0.0/8, a host or \"unix:\""));
    } else {
        RealIpFrom::Network(network(args, 0, word)?)
    };
    trusted.push(from);
    Ok(())
}

fn header(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let name = args.name(0)?;
    settings.feature_mut::<RealIpSettings>().source = if name == "proxy_protocol" {
        RealIpSource::ProxyProtocol
    } else if name.eq_ignore_ascii_case("X-Forwarded-For") {
        RealIpSource::ForwardedFor
    } else {
        RealIpSource::Field(name)
    };
    Ok(())
}
