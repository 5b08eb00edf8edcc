//! `allow`, `deny`, `auth_basic`, `satisfy`.

use std::net::IpAddr;

use super::{Arguments, Contexts, Directive, Done, ONE, Set, set};
use crate::{
    diagnostic::Diagnostic,
    settings::{AccessRule, Network, Satisfy, Settings},
};

const WHERE: Contexts = Contexts::HSL.or(Contexts::LIMIT_EXCEPT);

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "allow",
        WHERE,
        ONE,
        Set::Settings(|s, a| rule(s, a, true)),
        "Lets an address or network in.",
    )
    .repeats()
    .group("allow and deny"),
    Directive::new(
        "deny",
        WHERE,
        ONE,
        Set::Settings(|s, a| rule(s, a, false)),
        "Keeps an address or network out.",
    )
    .repeats()
    .group("allow and deny"),
    Directive::new(
        "satisfy",
        Contexts::HSL,
        ONE,
        Set::Settings(satisfy),
        "Whether all kinds of access rules must agree.",
    )
    .default("all"),
    Directive::new(
        "auth_basic",
        WHERE,
        ONE,
        Set::Settings(auth_basic),
        "Asks for a user and a password; the realm that is shown.",
    )
    .default("off"),
    Directive::new(
        "auth_basic_user_file",
        WHERE,
        ONE,
        set!(Settings.text => Some access.user_file),
        "The file with the users and their passwords.",
    )
    .differs(
        "`crypt` kinds other than DES, `$1$`, `$apr1$`, `$5$`, `$6$` and `$2y$` match nobody; passwords above 512 bytes match \
         no `crypt`; slow hashes wait for their turn, and when 128 wait the next gets 503",
    ),
    Directive::new(
        "auth_delay",
        Contexts::HSL,
        ONE,
        set!(Settings.millis => access.auth_delay),
        "Holds answers of 401 back, so that passwords are not guessed fast.",
    )
    .default("0s"),
];

fn auth_basic(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    settings.access.basic = if args.bytes(0) == b"off" { None } else { Some(args.text(0)?) };
    Ok(())
}

fn rule(settings: &mut Settings, args: &mut Arguments<'_>, allow: bool) -> Done {
    args.start(&mut settings.access.rules);
    let network = network(args, 0, args.bytes(0))?;
    settings.access.rules.push(AccessRule { allow, network });
    Ok(())
}

/// `all`, `unix:`, an address, or an address with `/prefix`.
pub(super) fn network(args: &mut Arguments<'_>, index: usize, text: &[u8]) -> Result<Network, Diagnostic> {
    match text {
        b"all" => return Ok(Network::All),
        b"unix:" => return Ok(Network::Unix),
        _ => {}
    }
    let Some((ip, bits)) = parse_cidr(text) else {
        return Err(args.invalid(index, "an address, a network such as 10.0.0.0/8, \"unix:\" or \"all\""));
    };
    let masked = mask(ip, bits);
    if masked != ip {
        args.warn(index, format!("low address bits of {} are meaningless", String::from_utf8_lossy(text)));
    }
    Ok(Network::Cidr(masked, bits))
}

/// An address with the number of bits that count; the address as written.
pub(super) fn parse_cidr(text: &[u8]) -> Option<(IpAddr, u8)> {
    let text = std::str::from_utf8(text).ok()?;
    let (address, prefix) =
        text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    let ip: IpAddr = address.parse().ok()?;
    let all = if ip.is_ipv4() { 32 } else { 128 };
    let bits = match prefix {
        None => all,
        Some(prefix) => match (prefix.parse::<u8>(), prefix.parse::<IpAddr>()) {
            (Ok(bits), _) => bits,
            (_, Ok(IpAddr::V4(netmask))) if ip.is_ipv4() => netmask_bits(netmask)?,
            _ => return None,
        },
    };
    (bits <= all).then_some((ip, bits))
}

/// `255.255.0.0` as 16, if the ones are in front.
fn netmask_bits(netmask: std::net::Ipv4Addr) -> Option<u8> {
    let ones = u32::from(netmask).leading_ones();
    (u32::from(netmask).count_ones() == ones).then_some(ones as u8)
}

/// The address with the bits cleared that do not count.
pub(super) fn mask(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(v4) => {
            let keep = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4((u32::from(v4) & keep).into())
        }
        IpAddr::V6(v6) => {
            let keep = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6((u128::from(v6) & keep).into())
        }
    }
}

fn satisfy(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    settings.access.satisfy = args.choice(0, &[("all", Satisfy::All), ("any", Satisfy::Any)])?;
    Ok(())
}
