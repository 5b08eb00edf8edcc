//! Directives of nginx's HTTP/2 module, including deprecated ones.

use super::{Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, set};
use crate::settings::Settings;

const HTTP: Contexts = Contexts::HTTP;
const HS: Contexts = Contexts::HTTP_SERVER;
const HSL: Contexts = Contexts::HSL;

/// Maximum of `http2_body_preread_size`, in bytes: the largest flow-control window (RFC 9113 section 6.9.1).
const MAX_WINDOW: u64 = (1 << 31) - 1;
/// Maximum of `http2_chunk_size`, in bytes: the largest frame payload (RFC 9113 section 4.2).
const MAX_FRAME: u64 = (1 << 24) - 1;
/// Minimum of `http2_recv_buffer_size`, in bytes, as in nginx.
const LEAST_BUFFER: u64 = 32;

const GONE: &str = "obsolete in nginx too, which logs a warning";

const fn obsolete(name: &'static str, contexts: Contexts, doc: &'static str) -> Directive {
    Directive::new(name, contexts, ONE, Set::Settings(warn_obsolete), doc).no_effect(GONE)
}

pub(super) static ROWS: &[Directive] = &[
    Directive::new("http2", HS, FLAG, set!(Settings.flag => http2.on), "Enables HTTP/2.").default("off"),
    Directive::new(
        "http2_max_concurrent_streams",
        HS,
        ONE,
        Set::Settings(max_streams),
        "Maximum number of concurrent requests per connection.",
    )
    .default("128")
    .differs("0 is refused, because it would allow no requests"),
    Directive::new(
        "http2_body_preread_size",
        HS,
        ONE,
        Set::Settings(preread),
        "Maximum size of a request body that is buffered before it is read.",
    )
    .default("64k")
    .differs(
        "when a body is read, up to 1m more of it can be in transit, and 4m for all bodies of a connection; nginx has no \
             limit",
    ),
    Directive::new(
        "http2_recv_buffer_size",
        HTTP,
        ONE,
        Set::Settings(receive_buffer),
        "Size of the input buffer of a worker.",
    )
    .default("256k")
    .differs("values below 32k (two frames) count as 32k"),
    Directive::new(
        "http2_chunk_size",
        HSL,
        ONE,
        Set::Settings(chunk),
        "Maximum size of a DATA frame.",
    )
    .default("8k"),
    Directive::new("http2_pool_size", HS, ONE, Set::Nothing, "Size of a connection's memory pool.")
        .default("4k")
        .no_effect("Myriad has no memory pools"),
    Directive::new("http2_streams_index_size", HS, ONE, Set::Nothing, "Size of the stream table.")
        .default("32")
        .no_effect("tables are sized automatically"),
    obsolete("http2_idle_timeout", HS, "Replaced by keepalive_timeout."),
    obsolete("http2_recv_timeout", HS, "Replaced by client_header_timeout."),
    obsolete("http2_max_requests", HS, "Replaced by keepalive_requests."),
    obsolete("http2_max_field_size", HS, "Replaced by large_client_header_buffers."),
    obsolete("http2_max_header_size", HS, "Replaced by large_client_header_buffers."),
    obsolete("http2_max_concurrent_pushes", HS, "HTTP/2 server push, which browsers no longer support."),
    obsolete("http2_push", HSL, "HTTP/2 server push, which browsers no longer support.").repeats(),
    obsolete("http2_push_preload", HSL, "HTTP/2 server push, which browsers no longer support."),
];

fn max_streams(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    match args.count(0)? {
        0 => Err(args.invalid(0, "at least 1")),
        count => {
            settings.http2.max_streams = count;
            Ok(())
        }
    }
}

fn preread(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let size = args.size(0)?;
    settings.http2.preread = match u32::try_from(size) {
        Ok(bytes) if size <= MAX_WINDOW => bytes,
        _ => return Err(args.invalid(0, format!("at most {MAX_WINDOW}"))),
    };
    Ok(())
}

fn receive_buffer(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.http2.receive_buffer = args.size(0)?;
    if settings.http2.receive_buffer < LEAST_BUFFER {
        return Err(args.invalid(0, format!("at least {LEAST_BUFFER}")));
    }
    Ok(())
}

fn chunk(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let size = args.size(0)?;
    settings.http2.chunk = match u32::try_from(size) {
        Ok(bytes @ 1..) if size <= MAX_FRAME => bytes,
        _ => return Err(args.invalid(0, format!("from 1 to {MAX_FRAME}"))),
    };
    Ok(())
}

fn warn_obsolete(_: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let name = &args.directive.name;
    let instead = match &**name {
        "http2_idle_timeout" => Some("keepalive_timeout"),
        "http2_recv_timeout" => Some("client_header_timeout"),
        "http2_max_requests" => Some("keepalive_requests"),
        "http2_max_field_size" | "http2_max_header_size" => Some("large_client_header_buffers"),
        _ => None,
    };
    let message = match instead {
        Some(instead) => {
            format!("the \"{name}\" directive is obsolete, use the \"{instead}\" directive instead")
        }
        None => format!("the \"{name}\" directive is obsolete, ignored"),
    };
    args.warn(0, message);
    Ok(())
}
