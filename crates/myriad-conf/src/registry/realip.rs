//! `set_real_ip_from`, `real_ip_header`, `real_ip_recursive`.

use super::{Arguments, Contexts, Directive, Done, FLAG, ONE, Set, listen, network, set};
use crate::settings::{RealIpFrom, RealIpSource, Settings};

const HSL: Contexts = Contexts::HSL;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "set_real_ip_from",
        HSL,
        ONE,
        Set::Settings(from),
        "Whom to believe about the client's address.",
    )
    .repeats(),
    Directive::new("real_ip_header", HSL, ONE, Set::Settings(header), "Where the client's address stands.")
        .default("X-Real-IP"),
    Directive::new(
        "real_ip_recursive",
        HSL,
        FLAG,
        set!(Settings.flag => real_ip.recursive),
        "Whether trusted addresses in the list are passed over.",
    )
    .default("off"),
];

fn from(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    args.start(&mut settings.real_ip.from);
    let word = args.bytes(0);
    let host = std::str::from_utf8(word).is_ok_and(|word| listen::is_host_name(word) && word != "all");
    let from = if host {
        RealIpFrom::Host(args.text(0)?)
    } else if word == b"all" {
        // Were everybody believed, every client could choose its address.
        return Err(args.invalid(0, "an address, a network such as 10.0.0.0/8, a host or \"unix:\""));
    } else {
        RealIpFrom::Network(network(args, 0, word)?)
    };
    settings.real_ip.from.push(from);
    Ok(())
}

fn header(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let name = args.name(0)?;
    settings.real_ip.source = if name == "proxy_protocol" {
        RealIpSource::ProxyProtocol
    } else if name.eq_ignore_ascii_case("X-Forwarded-For") {
        RealIpSource::ForwardedFor
    } else {
        RealIpSource::Field(name)
    };
    Ok(())
}
