//! `upstream` blocks and their directives.

use std::net::{IpAddr, SocketAddr};

use myriad_base::digits::decimal;

use super::{
    Arguments, BlockKind, Contexts, Directive, ONE, Set, SetterResult, at_least, between, block, exactly,
    listen::{is_host_name, split_port},
    set, sticky,
};
use crate::{
    diagnostic::Diagnostic,
    model::{
        Balance, LeastMeasure, MeasuredUntil, UpstreamAddress, UpstreamConf, UpstreamQueue, UpstreamServer,
    },
};

const UPSTREAM: Contexts = Contexts::UPSTREAM;
/// Contexts of directives for upstream groups of both `http` and `stream`.
const EITHER: Contexts = UPSTREAM.or(Contexts::STREAM_UPSTREAM);

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "upstream",
        Contexts::HTTP.or(Contexts::STREAM),
        block(1, 1),
        Set::Block(BlockKind::Upstream),
        "Defines a group of upstream servers.",
    )
    .repeats(),
    Directive::new("server", UPSTREAM, at_least(1), Set::Upstream(server), "Server of the group. With `max_fail_timeout=` (specific to Myriad), `fail_timeout` doubles, up to this maximum, \
         each time the server fails when it is retried.")
        .repeats(),
    Directive::new(
        "server",
        Contexts::STREAM_UPSTREAM,
        at_least(1),
        Set::Upstream(stream_server),
        "Server of the group, with its port.",
    )
    .repeats(),
    Directive::new(
        "ip_hash",
        UPSTREAM,
        exactly(0),
        Set::Upstream(ip_hash),
        "Selects the server by a hash of the client address.",
    )
    .group("balancing")
    .repeats(),
    Directive::new(
        "least_conn",
        EITHER,
        exactly(0),
        Set::Upstream(least_conn),
        "Selects the server with the fewest active connections.",
    )
    .group("balancing")
    .repeats(),
    Directive::new("hash", EITHER, between(1, 2), Set::Upstream(hash), "Selects the server by a hash of a key.")
        .group("balancing")
        .repeats(),
    Directive::new("random", UPSTREAM, between(0, 2), Set::Upstream(random), "Selects a server at random.")
        .group("balancing")
        .repeats(),
    Directive::new(
        "random",
        Contexts::STREAM_UPSTREAM,
        between(0, 2),
        Set::Upstream(stream_random),
        "Selects a server at random.",
    )
    .group("balancing")
    .repeats(),
    Directive::new(
        "keepalive",
        UPSTREAM,
        between(1, 2),
        Set::Upstream(keepalive),
        "Maximum number of idle connections to the servers of the group.",
    )
    .differs(
        "the limit applies to each server of the group; a FastCGI connection is idle for one second at most and is \
         shared by all workers, so `local` has no effect",
    ),
    Directive::new(
        "keepalive_requests",
        UPSTREAM,
        ONE,
        set!(Upstream.number => keepalive_requests),
        "Maximum number of requests per upstream connection.",
    )
    .default("1000"),
    Directive::new(
        "keepalive_timeout",
        UPSTREAM,
        ONE,
        set!(Upstream.millis => keepalive_timeout),
        "Idle timeout of an upstream connection.",
    )
    .default("60s"),
    Directive::new(
        "keepalive_time",
        UPSTREAM,
        ONE,
        set!(Upstream.millis => keepalive_time),
        "Maximum age of a connection.",
    )
    .default("1h"),
    Directive::new(
        "zone",
        EITHER,
        between(1, 2),
        Set::Upstream(zone),
        "Allows adding, changing and removing servers at runtime (`api write=on`), and resolving names (`resolve`).",
    )
    .differs("the size is ignored: all workers share the state of a group"),
    Directive::new(
        "state",
        EITHER,
        ONE,
        Set::Upstream(state),
        "File with the servers of the group, instead of `server`: the API adds, changes and removes them (`api \
             write=on`), and they persist over restarts.",
    ),
    Directive::new(
        "sticky",
        UPSTREAM,
        at_least(2),
        Set::Upstream(sticky::sticky),
        "Sends a client to the same server: by a cookie, by variables (`route`), or by sessions that responses create \
             (`learn`).",
    )
    .differs(
        "`learn` reads its `create` variables when the response header has arrived; the cookie is sent only to the \
             client whose request the server answered, not with an error or a cached page; a `domain=` with variables is \
             omitted if its value is not a valid domain",
    ),
    Directive::new(
        "least_time",
        UPSTREAM,
        between(1, 2),
        Set::Upstream(least_time),
        "Selects the server with the lowest response time and the fewest active connections.",
    )
    .group("balancing")
    .repeats(),
    Directive::new(
        "least_time",
        Contexts::STREAM_UPSTREAM,
        between(1, 2),
        Set::Upstream(stream_least_time),
        "Selects the server with the lowest time to `connect`, `first_byte` or `last_byte` and the fewest active connections.",
    )
    .group("balancing")
    .repeats(),
    Directive::new(
        "queue",
        UPSTREAM,
        between(1, 2),
        Set::Upstream(queue),
        "Maximum number of requests that wait, and for how long, while every server has reached its `max_conns` or no name is resolved yet.",
    )
    .differs("a background refresh of a stale page does not wait; if only failed servers are left, 502 is returned immediately"),
];

fn server(upstream: &mut UpstreamConf, args: &mut Arguments<'_>) -> SetterResult {
    let mut server = UpstreamServer {
        address: address(args, 0)?,
        name: args.text(0)?,
        weight: 1,
        max_fails: 1,
        fail_timeout: 10_000,
        max_fail_timeout: 0,
        max_conns: 0,
        backup: false,
        down: false,
        slow_start: 0,
        drain: false,
        route: None,
        resolve: false,
        service: None,
    };
    for index in 1..args.len() {
        let word = args.bytes(index);
        if word.starts_with(b"weight=") {
            server.weight = args.small(index, 7)?;
            if server.weight == 0 {
                return Err(args.invalid(index, "at least 1"));
            }
        } else if word.starts_with(b"max_fails=") {
            server.max_fails = args.small(index, 10)?;
        } else if word.starts_with(b"fail_timeout=") {
            server.fail_timeout = args.millis_after(index, 13)?;
        } else if word.starts_with(b"max_fail_timeout=") {
            server.max_fail_timeout = args.millis_after(index, 17)?;
        } else if word.starts_with(b"max_conns=") {
            server.max_conns = args.small(index, 10)?;
        } else if word.starts_with(b"slow_start=") {
            server.slow_start = args.millis_after(index, 11)?;
        } else if word == b"backup" {
            server.backup = true;
        } else if word == b"down" {
            server.down = true;
        } else if word == b"drain" {
            server.drain = true;
        } else if word.starts_with(b"route=") {
            server.route = Some(route(args, index)?);
        } else if word == b"resolve" {
            server.resolve = true;
        } else if word.starts_with(b"service=") {
            server.service = Some(service(args, index)?);
        } else {
            return Err(unknown_parameter(args, index));
        }
    }
    if server.service.is_some() {
        check_service(&server, args)?;
    }
    upstream.servers.push(server);
    Ok(())
}

/// Parses the name after `service=`, such as `http` or `_http._tcp`, which precedes the host name in the DNS query.
/// Returns an error if it is empty or contains anything except ASCII letters, digits, `-`, `_` and `.`.
fn service(args: &Arguments<'_>, index: usize) -> Result<String, Diagnostic> {
    let service = String::from_utf8_lossy(&args.bytes(index)[8..]).into_owned();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if service.is_empty() || !service.bytes().all(is_plain) {
        return Err(args.invalid(index, "service=NAME, such as http or _http._tcp"));
    }
    Ok(service)
}

/// Checks that a server with `service=` has `resolve`, and is a host name without a port, because the SRV records
/// contain the ports.
fn check_service(server: &UpstreamServer, args: &Arguments<'_>) -> SetterResult {
    let word = String::from_utf8_lossy(args.bytes(0));
    if !server.resolve {
        let message = format!("service upstream \"{word}\" requires \"resolve\" parameter");
        return Err(args.error(0, message));
    }
    if !matches!(server.address, UpstreamAddress::Host(..)) {
        return Err(args.error(0, format!("service upstream \"{word}\" requires domain name")));
    }
    if split_port(&word).is_some_and(|(_, port)| port.is_some()) {
        let message = format!("service upstream \"{word}\" may not have port");
        return Err(args.error(0, message).help("the port comes from the SRV records of the service"));
    }
    Ok(())
}

/// Parses the name after `route=`. Returns an error unless it has 1 to 32 printable ASCII characters that are valid in
/// a cookie.
fn route(args: &Arguments<'_>, index: usize) -> Result<String, Diagnostic> {
    let route = String::from_utf8_lossy(&args.bytes(index)[6..]).into_owned();
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b";,\"\\".contains(&byte);
    // The maximum length is that of the default route, the hexadecimal digits of an MD5 hash, as in nginx.
    if route.is_empty() || route.len() > 32 || !route.bytes().all(is_plain) {
        return Err(args
            .invalid(index, "route=NAME: 1 to 32 printable ASCII characters without spaces, double quotes, backslashes, commas or semicolons"));
    }
    Ok(route)
}

/// Setter of `server` in a `stream` group, which requires a port (unless `service=` is set) and does not accept
/// `route=` and `drain`.
fn stream_server(upstream: &mut UpstreamConf, args: &mut Arguments<'_>) -> SetterResult {
    let word = String::from_utf8_lossy(args.bytes(0));
    let lacks_port = !word.starts_with("unix:") && split_port(&word).is_some_and(|(_, port)| port.is_none());
    let is_service = (1..args.len()).any(|index| args.bytes(index).starts_with(b"service="));
    if lacks_port && !is_service {
        let message = format!("no port in upstream \"{word}\"");
        return Err(args.error(0, message).help("add the port: ADDRESS:PORT"));
    }
    server(upstream, args)?;
    let of_http = (1..args.len()).find(|index| {
        let word = args.bytes(*index);
        word == b"drain" || word.starts_with(b"route=")
    });
    of_http.map_or(Ok(()), |index| {
        Err(args
            .error(index, "\"route\" and \"drain\" require \"sticky\", which \"stream\" does not support"))
    })
}

fn unknown_parameter(args: &Arguments<'_>, index: usize) -> Diagnostic {
    args.invalid(
        index,
        "weight=, max_fails=, fail_timeout=, max_fail_timeout=, max_conns=, slow_start=, route=, service=, resolve, drain, backup or down",
    )
}

/// Parses an argument `address[:port]` or `unix:PATH`; the default port is 80. Returns an error for any other text.
pub(super) fn address(args: &Arguments<'_>, index: usize) -> Result<UpstreamAddress, Diagnostic> {
    let word = args.bytes(index);
    if let Some(path) = word.strip_prefix(b"unix:").filter(|path| !path.is_empty()) {
        return Ok(UpstreamAddress::Unix(path.to_vec()));
    }
    let invalid = || args.invalid(index, "an address or a host name, with an optional port, or unix:PATH");
    let text = std::str::from_utf8(word).map_err(|_| invalid())?;
    if text.starts_with("http://") || text.starts_with("https://") {
        return Err(invalid().help("remove the scheme: `proxy_pass` specifies it"));
    }
    let Some((Some(host), port)) = split_port(text) else {
        return Err(invalid());
    };
    let port = match port {
        None => 80,
        Some(port) => decimal::<u16>(port).filter(|port| *port > 0).ok_or_else(invalid)?,
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(ip) => Ok(UpstreamAddress::Ip(SocketAddr::new(ip, port))),
        Err(_) if is_host_name(host) => Ok(UpstreamAddress::Host(host.to_owned(), port)),
        Err(_) => Err(invalid()),
    }
}

/// Sets the balancing method of a group. The last method applies, with a warning, as in nginx.
fn balance(upstream: &mut UpstreamConf, args: &mut Arguments<'_>, method: Balance) -> SetterResult {
    if !args.first {
        args.warnings.push(Diagnostic::warning(args.node.span, "load balancing method redefined"));
    }
    (upstream.balance, upstream.hash_key) = (method, None);
    Ok(())
}

fn zone(upstream: &mut UpstreamConf, args: &mut Arguments<'_>) -> SetterResult {
    upstream.zone = Some(String::from_utf8_lossy(args.bytes(0)).into_owned());
    Ok(())
}

fn state(upstream: &mut UpstreamConf, args: &mut Arguments<'_>) -> SetterResult {
    upstream.state = Some(args.text(0)?);
    Ok(())
}

fn ip_hash(upstream: &mut UpstreamConf, args: &mut Arguments<'_>) -> SetterResult {
    balance(upstream, args, Balance::IpHash)
}

fn least_conn(upstream: &mut UpstreamConf, args: &mut Arguments<'_>) -> SetterResult {
    balance(upstream, args, Balance::LeastConnections)
}

fn hash(upstream: &mut UpstreamConf, args: &mut Arguments<'_>) -> SetterResult {
    let consistent = args.len() > 1;
    if consistent {
        args.choice(1, &[("consistent", ())])?;
    }
    balance(upstream, args, Balance::Hash { consistent })?;
    upstream.hash_key = Some(args.text(0)?);
    Ok(())
}

/// Arguments of `least_time` in `http`, with the event up to which each measures.
const OF_HTTP: &[(&str, MeasuredUntil)] =
    &[("header", MeasuredUntil::First), ("last_byte", MeasuredUntil::Last)];
/// Arguments of `least_time` in `stream`, with the event up to which each measures.
const OF_STREAM: &[(&str, MeasuredUntil)] = &[
    ("connect", MeasuredUntil::Connect),
    ("first_byte", MeasuredUntil::First),
    ("last_byte", MeasuredUntil::Last),
];

fn least_time(upstream: &mut UpstreamConf, args: &mut Arguments<'_>) -> SetterResult {
    by_time(upstream, args, OF_HTTP)
}

fn stream_least_time(upstream: &mut UpstreamConf, args: &mut Arguments<'_>) -> SetterResult {
    by_time(upstream, args, OF_STREAM)
}

fn by_time(
    upstream: &mut UpstreamConf,
    args: &mut Arguments<'_>,
    moments: &[(&str, MeasuredUntil)],
) -> SetterResult {
    let moment = args.choice(0, moments)?;
    let inflight = args.len() > 1;
    if inflight {
        args.choice(1, &[("inflight", ())])?;
    }
    balance(upstream, args, Balance::LeastTime { moment, inflight })
}

fn random(upstream: &mut UpstreamConf, args: &mut Arguments<'_>) -> SetterResult {
    by_chance(upstream, args, OF_HTTP)
}

fn stream_random(upstream: &mut UpstreamConf, args: &mut Arguments<'_>) -> SetterResult {
    by_chance(upstream, args, OF_STREAM)
}

fn by_chance(
    upstream: &mut UpstreamConf,
    args: &mut Arguments<'_>,
    moments: &[(&str, MeasuredUntil)],
) -> SetterResult {
    if args.is_empty() {
        return balance(upstream, args, Balance::Random { two: None });
    }
    args.choice(0, &[("two", ())])?;
    let mut least = LeastMeasure::Connections;
    if args.len() > 1 && args.bytes(1) != b"least_conn" {
        let word = String::from_utf8_lossy(args.bytes(1));
        let moment = word.strip_prefix("least_time=");
        let found = moments.iter().find(|(name, _)| Some(*name) == moment);
        least = found.map(|(_, moment)| LeastMeasure::Time(*moment)).ok_or_else(|| {
            let names: Vec<_> = moments.iter().map(|(name, _)| format!("least_time={name}")).collect();
            args.invalid(1, format!("least_conn, {}", names.join(" or ")))
        })?;
    }
    balance(upstream, args, Balance::Random { two: Some(least) })
}

fn queue(upstream: &mut UpstreamConf, args: &mut Arguments<'_>) -> SetterResult {
    let most = args.count(0)?;
    if most == 0 {
        return Err(args.invalid(0, "at least 1"));
    }
    let mut queue = UpstreamQueue { max: most, timeout_ms: 60_000 };
    if args.len() > 1 {
        let prefix = b"timeout=";
        if !args.bytes(1).starts_with(prefix) {
            return Err(args.invalid(1, "timeout=TIME"));
        }
        queue.timeout_ms = args.millis_after(1, prefix.len())?;
    }
    upstream.queue = Some(queue);
    Ok(())
}

fn keepalive(upstream: &mut UpstreamConf, args: &mut Arguments<'_>) -> SetterResult {
    let count = args.count(0)?;
    if args.len() > 1 {
        args.choice(1, &[("local", ())])?;
    }
    upstream.keepalive = Some(count);
    Ok(())
}
