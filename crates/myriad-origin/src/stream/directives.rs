//! Directives of `stream`.

use myriad_conf::registry::{
    Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, TWO, at_least, between, network,
};
use myriad_conf::set;
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};
use myriad_upstream::PeerAddress;

use crate::stream::settings::StreamSettings;

const LEVELS: Contexts = Contexts::STREAM_LEVELS;
const SERVER: Contexts = Contexts::STREAM_SERVER;

/// Rows of the directives of `stream` that are defined separately from those of `http`.
pub(crate) static ROWS: &[Directive] = &[
    Directive::new("proxy_pass", SERVER, ONE, Set::Settings(pass), "Forwards connections to a server or group."),
    Directive::new(
        "pass",
        SERVER,
        ONE,
        Set::Settings(pass_to),
        "Passes connections to another listening socket of the configuration.",
    )
    .differs(
        "also works after `ssl_preread`; a connection whose TLS was terminated here is not passed to a socket with \
             `ssl`, and a connection that had a PROXY protocol header is not passed to a socket with `proxy_protocol` (500)",
    ),
    Directive::new("return", SERVER, ONE, Set::Settings(answer), "Sends a text and closes the connection."),
    Directive::new("set", SERVER, TWO, Set::Settings(assign), "Sets a variable.").repeats(),
    Directive::new(
        "proxy_connect_timeout",
        LEVELS,
        ONE,
        set!(Feature<StreamSettings>.millis => connect_timeout),
        "Timeout for connecting to an upstream server.",
    )
    .default("60s"),
    Directive::new(
        "proxy_timeout",
        LEVELS,
        ONE,
        set!(Feature<StreamSettings>.millis => timeout),
        "Timeout if neither side sends data.",
    )
    .default("10m"),
    Directive::new(
        "proxy_next_upstream",
        LEVELS,
        FLAG,
        set!(Feature<StreamSettings>.flag => next_upstream),
        "Tries the next server if a connection cannot be established.",
    )
    .default("on"),
    Directive::new(
        "proxy_next_upstream_tries",
        LEVELS,
        ONE,
        set!(Feature<StreamSettings>.count => next_upstream_tries),
        "Maximum number of servers that are tried; 0 for no limit.",
    )
    .default("0"),
    Directive::new(
        "proxy_next_upstream_timeout",
        LEVELS,
        ONE,
        set!(Feature<StreamSettings>.millis => next_upstream_timeout),
        "Maximum time for trying further servers; 0 for no limit.",
    )
    .default("0"),
    Directive::new(
        "proxy_buffer_size",
        LEVELS,
        ONE,
        Set::Settings(|settings, args| {
            buffer(args, &mut settings.feature_mut::<StreamSettings>().buffer_size)
        }),
        "Size of the buffer for each direction of a TCP connection.",
    )
    .default("16k"),
    Directive::new(
        "proxy_bind",
        LEVELS,
        between(1, 2),
        Set::Settings(bind),
        "Local address of connections to upstream servers.",
    )
    .differs("`transparent` is refused"),
    Directive::new(
        "proxy_protocol",
        LEVELS,
        FLAG,
        set!(Feature<StreamSettings>.flag => sends_proxy_header),
        "Sends the client address to upstream servers, by the PROXY protocol.",
    )
    .default("off")
    .differs("has no effect over UDP"),
    Directive::new(
        "proxy_ssl",
        LEVELS,
        FLAG,
        set!(Feature<StreamSettings>.flag => uses_tls),
        "Uses TLS for connections to upstream servers.",
    )
    .default("off"),
    Directive::new(
        "proxy_ssl_alpn",
        LEVELS,
        at_least(1),
        Set::Settings(|settings, args| {
            protocols(args, &mut settings.feature_mut::<StreamSettings>().peer_alpn)
        }),
        "ALPN protocols offered to upstream servers.",
    ),
    Directive::new(
        "proxy_socket_keepalive",
        LEVELS,
        FLAG,
        set!(Feature<StreamSettings>.flag => socket_keepalive),
        "Enables TCP keepalive for connections to upstream servers.",
    )
    .default("off"),
    Directive::new(
        "proxy_half_close",
        LEVELS,
        FLAG,
        set!(Feature<StreamSettings>.flag => half_close),
        "Allows one side to continue after the other side has closed its direction.",
    )
    .default("off"),
    Directive::new(
        "proxy_upload_rate",
        LEVELS,
        ONE,
        set!(Feature<StreamSettings>.text => upload_rate),
        "Maximum rate of data read from a client, in bytes per second.",
    )
    .default("0"),
    Directive::new(
        "proxy_download_rate",
        LEVELS,
        ONE,
        set!(Feature<StreamSettings>.text => download_rate),
        "Maximum rate of data read from an upstream server, in bytes per second.",
    )
    .default("0"),
    Directive::new(
        "proxy_requests",
        LEVELS,
        ONE,
        set!(Feature<StreamSettings>.number => requests),
        "Number of client datagrams after which the next datagram starts a new session.",
    )
    .default("0"),
    Directive::new(
        "proxy_responses",
        LEVELS,
        ONE,
        set!(Feature<StreamSettings>.number => Some responses),
        "Number of datagrams that a server sends in response to each client datagram.",
    ),
    Directive::new(
        "tcp_nodelay",
        LEVELS,
        FLAG,
        set!(Feature<StreamSettings>.flag => tcp_nodelay),
        "Sends small packets immediately (`TCP_NODELAY`).",
    )
    .default("on")
    .differs("always on for connections to upstream servers"),
    Directive::new(
        "proxy_protocol_timeout",
        LEVELS,
        ONE,
        set!(Feature<StreamSettings>.millis => header_timeout),
        "Timeout for reading a PROXY protocol header.",
    )
    .default("30s"),
    Directive::new(
        "preread_buffer_size",
        LEVELS,
        ONE,
        Set::Settings(|settings, args| {
            buffer(args, &mut settings.feature_mut::<StreamSettings>().preread_buffer_size)
        }),
        "Maximum number of bytes of the TLS ClientHello that `ssl_preread` reads.",
    )
    .default("16k"),
    Directive::new(
        "preread_timeout",
        LEVELS,
        ONE,
        set!(Feature<StreamSettings>.millis => preread_timeout),
        "Timeout for reading the TLS ClientHello by `ssl_preread`.",
    )
    .default("30s"),
    Directive::new(
        "ssl_preread",
        LEVELS,
        FLAG,
        set!(Feature<StreamSettings>.flag => ssl_preread),
        "Reads the TLS ClientHello before a connection is forwarded.",
    )
    .default("off"),
    Directive::new(
        "ssl_handshake_timeout",
        LEVELS,
        ONE,
        set!(Feature<StreamSettings>.millis => handshake_timeout),
        "Timeout for a TLS handshake.",
    )
    .default("60s"),
    Directive::new(
        "ssl_alpn",
        LEVELS,
        at_least(1),
        Set::Settings(|settings, args| protocols(args, &mut settings.feature_mut::<StreamSettings>().alpn)),
        "Supported ALPN protocols.",
    ),
    Directive::new(
        "set_real_ip_from",
        LEVELS,
        ONE,
        Set::Settings(trust),
        "Proxies whose PROXY protocol header is trusted for the client address.",
    )
    .repeats(),
    tuning("variables_hash_max_size"),
    tuning("variables_hash_bucket_size"),
    tuning("map_hash_max_size"),
    tuning("map_hash_bucket_size"),
    tuning("server_names_hash_max_size"),
    tuning("server_names_hash_bucket_size"),
];

const fn tuning(name: &'static str) -> Directive {
    let doc = "Tunes nginx's hash tables.";
    Directive::new(name, Contexts::STREAM, ONE, Set::Nothing, doc)
        .no_effect("hash tables are sized automatically")
}

/// Fails if the server already has a directive that handles its connections (`proxy_pass`, `pass` or `return`).
fn reject_second_handler(settings: &StreamSettings, args: &Arguments<'_>) -> SetterResult {
    if settings.pass.is_some() || settings.pass_to.is_some() || settings.answer.is_some() {
        let error = "a server must have only one \"proxy_pass\", \"pass\" or \"return\"";
        return Err(Diagnostic::error(args.node.span, error));
    }
    Ok(())
}

fn pass(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let settings = settings.feature_mut::<StreamSettings>();
    reject_second_handler(settings, args)?;
    let target = args.text(0)?;
    // nginx checks a value with variables only at run time.
    if !target.has_variables() && target.bytes().windows(3).any(|window| window == b"://") {
        let message = format!("\"{}\" is a URL: a stream is forwarded to an address", target.lossy());
        return Err(args.error(0, message).help("write ADDRESS:PORT, unix:PATH or the name of an upstream"));
    }
    settings.pass = Some(target);
    Ok(())
}

fn pass_to(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let settings = settings.feature_mut::<StreamSettings>();
    reject_second_handler(settings, args)?;
    let target = args.text(0)?;
    if !target.has_variables() && PeerAddress::parse(&target.lossy(), None).is_err() {
        let expected =
            "the address of a listening socket, such as 127.0.0.1:8000, [::1]:8000 or unix:/run/site.sock";
        return Err(args.invalid(0, expected));
    }
    settings.pass_to = Some(target);
    Ok(())
}

fn answer(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let settings = settings.feature_mut::<StreamSettings>();
    reject_second_handler(settings, args)?;
    settings.answer = Some(args.text(0)?);
    Ok(())
}

fn assign(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    args.variable(0)?;
    let assignment = (args.text(0)?, args.text(1)?);
    settings.feature_mut::<StreamSettings>().assignments.push(assignment);
    Ok(())
}

fn bind(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    if args.len() > 1 {
        args.choice(1, &[("transparent", ())])?;
        return Err(args.error(1, "\"transparent\" of \"proxy_bind\" is not supported"));
    }
    let is_off = args.bytes(0) == b"off";
    settings.feature_mut::<StreamSettings>().bind = if is_off { None } else { Some(args.text(0)?) };
    Ok(())
}

/// Maximum value in bytes of `proxy_buffer_size` (one buffer per direction) and `preread_buffer_size`.
const LARGEST_BUFFER: u64 = 16 << 20;

fn buffer(args: &Arguments<'_>, size: &mut u64) -> SetterResult {
    *size = args.size(0)?;
    if (1..=LARGEST_BUFFER).contains(size) { Ok(()) } else { Err(args.invalid(0, "from 1 byte to 16m")) }
}

/// Maximum length of an ALPN protocol name in bytes (RFC 7301 section 3.1).
const LONGEST_PROTOCOL: usize = 255;

fn protocols(args: &Arguments<'_>, into: &mut Vec<Text>) -> SetterResult {
    into.clear();
    for index in 0..args.len() {
        if !(1..=LONGEST_PROTOCOL).contains(&args.bytes(index).len()) {
            return Err(args.invalid(index, "a name of 1 to 255 bytes"));
        }
        into.push(args.text(index)?);
    }
    Ok(())
}

fn trust(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let trusted = &mut settings.feature_mut::<StreamSettings>().trusted;
    args.start(trusted);
    if args.bytes(0) == b"all" {
        // Rejected: if all clients were trusted, each could forge its address.
        return Err(args.invalid(0, "an address, a network such as 10.0.0.0/8, or \"unix:\""));
    }
    let network = network(args, 0, args.bytes(0))?;
    trusted.push(network);
    Ok(())
}
