//! Directives `http3*` and `quic_*`: HTTP/3 over QUIC.

use super::{Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, set};
use crate::settings::Settings;

const HS: Contexts = Contexts::HTTP_SERVER;
/// Maximum of `http3_max_concurrent_streams`; it limits the data that a client can cause to be buffered.
const MOST_STREAMS: u32 = 65_535;
/// Maximum of `http3_stream_buffer_size`, in bytes (1 GiB).
const MOST_BUFFER: u64 = 1 << 30;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "http3",
        HS,
        FLAG,
        set!(Settings.flag => http3.enabled),
        "Enables HTTP/3 on `listen` addresses with `quic`.",
    )
    .default("on")
    .differs("servers with HTTP/3 send `Alt-Svc` automatically, unless the configuration contains `add_header Alt-Svc`"),
    Directive::new("http3_hq", HS, FLAG, Set::Settings(hq), "Enables HTTP/0.9 over QUIC.")
        .default("off")
        .differs("`on` is refused: this protocol is for QUIC tests and has no headers or statuses"),
    Directive::new(
        "http3_max_concurrent_streams",
        HS,
        ONE,
        Set::Settings(streams),
        "Maximum number of concurrent requests per QUIC connection.",
    )
    .default("128"),
    Directive::new(
        "http3_stream_buffer_size",
        HS,
        ONE,
        Set::Settings(buffer),
        "Maximum size of a request body that is buffered before it is read, over QUIC.",
    )
    .default("64k"),
    Directive::new(
        "quic_retry",
        HS,
        FLAG,
        set!(Settings.flag => http3.retry),
        "Requires clients to validate their address (QUIC Retry).",
    )
    .default("off")
    .differs(
        "even with `off`, Retry is used while very many handshakes are in progress, or if another connection would have \
             to be evicted",
    ),
    Directive::new(
        "quic_gso",
        HS,
        FLAG,
        set!(Settings.flag => http3.gso),
        "Enables segmentation offload (GSO) for datagrams that are sent.",
    )
    .default("on")
    .differs("on by default; if the kernel does not support it, datagrams are sent one by one"),
    Directive::new(
        "quic_host_key",
        HS,
        ONE,
        set!(Settings.text => Some http3.host_key),
        "File with the secret for stateless resets and connection IDs.",
    )
    .differs("the file of the default server applies to all servers of an address; without a file, a generated secret is \
         used, also after reloads; address validation tokens are valid only in the process that issued them"),
    Directive::new(
        "quic_active_connection_id_limit",
        HS,
        ONE,
        Set::Settings(limit),
        "Maximum number of client connection IDs to store.",
    )
    .default("2")
    .no_effect("always five"),
    Directive::new("quic_bpf", Contexts::MAIN, FLAG, Set::Nothing, "Enables routing of packets to the worker of a connection in the kernel.")
        .default("off")
        .no_effect("the connection ID identifies the worker; packets that another worker receives are forwarded within the process"),
];

fn hq(_: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    if !args.flag(0)? {
        return Ok(());
    }
    let message =
        "\"http3_hq\" is not supported: HTTP/0.9 over QUIC is only for tests of QUIC implementations";
    Err(args.error(0, message).help("browsers and curl use HTTP/3: write \"http3 on\""))
}

fn streams(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let count = args.count(0)?;
    if count == 0 || count > MOST_STREAMS {
        return Err(args.invalid(0, format!("between 1 and {MOST_STREAMS}")));
    }
    settings.http3.max_concurrent_streams = count;
    Ok(())
}

fn buffer(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let size = args.size(0)?;
    if size == 0 || size > MOST_BUFFER {
        return Err(args.invalid(0, "between 1 and 1g"));
    }
    settings.http3.stream_buffer_size = size;
    Ok(())
}

fn limit(_: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    args.count(0).map(drop)
}
