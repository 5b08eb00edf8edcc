//! `http3*`, `quic_*`: HTTP/3 over QUIC.

use super::{Arguments, Contexts, Directive, Done, FLAG, ONE, Set, set};
use crate::settings::Settings;

const HS: Contexts = Contexts::HTTP_SERVER;
/// Upper limits for windows and stream counts. They bound the data that a client can cause to be buffered.
const MOST_STREAMS: u32 = 65_535;
const MOST_BUFFER: u64 = 1 << 30;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "http3",
        HS,
        FLAG,
        set!(Settings.flag => http3.enabled),
        "Whether HTTP/3 is spoken where a `listen` says `quic`.",
    )
    .default("on")
    .differs("servers that speak it say so by `Alt-Svc` themselves, unless `add_header Alt-Svc` is written"),
    Directive::new("http3_hq", HS, FLAG, Set::Settings(hq), "Whether HTTP/0.9 is spoken over QUIC.")
        .default("off")
        .differs("`on` is refused: it is a protocol for tests of QUIC, without fields and statuses"),
    Directive::new(
        "http3_max_concurrent_streams",
        HS,
        ONE,
        Set::Settings(streams),
        "How many requests one connection may make at once.",
    )
    .default("128"),
    Directive::new(
        "http3_stream_buffer_size",
        HS,
        ONE,
        Set::Settings(buffer),
        "How much of a request's body is taken before it is read.",
    )
    .default("64k"),
    Directive::new(
        "quic_retry",
        HS,
        FLAG,
        set!(Settings.flag => http3.retry),
        "Whether clients must show first that they can be reached at their address.",
    )
    .default("off")
    .differs(
        "with `off`, too, it is asked for while very many handshakes are under way, or where another connection would have to give way",
    ),
    Directive::new(
        "quic_gso",
        HS,
        FLAG,
        set!(Settings.flag => http3.gso),
        "Whether the kernel cuts what is sent into datagrams.",
    )
    .default("on")
    .differs("on where nothing is written; where the kernel cannot, datagrams are sent one by one"),
    Directive::new(
        "quic_host_key",
        HS,
        ONE,
        set!(Settings.text => Some http3.host_key),
        "The file with the secret of resets and connection IDs.",
    )
    .differs("one for all servers of an address: that of the default server; without one, a secret that reloads keep; tokens hold in the process that made them alone"),
    Directive::new(
        "quic_active_connection_id_limit",
        HS,
        ONE,
        Set::Settings(limit),
        "How many connection IDs of the client are kept.",
    )
    .default("2")
    .no_effect("five are kept, whatever is written"),
    Directive::new("quic_bpf", Contexts::MAIN, FLAG, Set::Nothing, "Whether the kernel finds the worker of a connection.")
        .default("off")
        .no_effect("a connection's ID names its worker, and what reaches another is passed on within the process"),
];

fn hq(_: &mut Settings, args: &mut Arguments<'_>) -> Done {
    if !args.flag(0)? {
        return Ok(());
    }
    let message = "\"http3_hq\" is not supported: HTTP/0.9 over QUIC is for tests of QUIC itself";
    Err(args.error(0, message).help("browsers and curl speak HTTP/3, which \"http3 on\" stands for"))
}

fn streams(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let count = args.count(0)?;
    if count == 0 || count > MOST_STREAMS {
        return Err(args.invalid(0, format!("between 1 and {MOST_STREAMS}")));
    }
    settings.http3.max_concurrent_streams = count;
    Ok(())
}

fn buffer(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let size = args.size(0)?;
    if size == 0 || size > MOST_BUFFER {
        return Err(args.invalid(0, "between 1 and 1g"));
    }
    settings.http3.stream_buffer_size = size;
    Ok(())
}

fn limit(_: &mut Settings, args: &mut Arguments<'_>) -> Done {
    args.count(0).map(drop)
}
