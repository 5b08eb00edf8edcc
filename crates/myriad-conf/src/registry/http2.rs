//! nginx's HTTP/2 module, including the directives that nginx has deprecated.

use super::{Arguments, Contexts, Directive, Done, FLAG, ONE, Set, set};
use crate::settings::Settings;

const HTTP: Contexts = Contexts::HTTP;
const HS: Contexts = Contexts::HTTP_SERVER;
const HSL: Contexts = Contexts::HSL;

/// Maximum window size (RFC 9113 section 6.9.1).
const MAX_WINDOW: u64 = (1 << 31) - 1;
/// Maximum frame payload (RFC 9113 section 4.2).
const MAX_FRAME: u64 = (1 << 24) - 1;
/// Minimum read size, as in nginx.
const LEAST_BUFFER: u64 = 32;

const GONE: &str = "nginx has left it behind, too, and says so with a warning";

const fn obsolete(name: &'static str, contexts: Contexts, doc: &'static str) -> Directive {
    Directive::new(name, contexts, ONE, Set::Settings(warn_obsolete), doc).no_effect(GONE)
}

pub(super) static ROWS: &[Directive] = &[
    Directive::new("http2", HS, FLAG, set!(Settings.flag => http2.on), "Whether HTTP/2 is spoken.").default("off"),
    Directive::new(
        "http2_max_concurrent_streams",
        HS,
        ONE,
        Set::Settings(max_streams),
        "How many requests of one connection may be under way.",
    )
    .default("128")
    .differs("0, which would serve nobody, is refused"),
    Directive::new(
        "http2_body_preread_size",
        HS,
        ONE,
        Set::Settings(preread),
        "How much of a body is taken before anybody reads it.",
    )
    .default("64k")
    .differs(
        "once somebody reads it, up to 1m more of a body may be on its way, and 4m of all bodies of a connection; in \
         nginx any amount",
    ),
    Directive::new(
        "http2_recv_buffer_size",
        HTTP,
        ONE,
        Set::Settings(receive_buffer),
        "The buffer of a worker that connections are read into.",
    )
    .default("256k")
    .differs("less than two frames, 32k, counts as that"),
    Directive::new(
        "http2_chunk_size",
        HSL,
        ONE,
        Set::Settings(chunk),
        "How long the frames of bodies are at most.",
    )
    .default("8k"),
    Directive::new("http2_pool_size", HS, ONE, Set::Nothing, "Size of a connection's memory pool.")
        .default("4k")
        .no_effect("there are no memory pools to size"),
    Directive::new("http2_streams_index_size", HS, ONE, Set::Nothing, "Size of the table of streams.")
        .default("32")
        .no_effect("tables size themselves"),
    obsolete("http2_idle_timeout", HS, "Now keepalive_timeout."),
    obsolete("http2_recv_timeout", HS, "Now client_header_timeout."),
    obsolete("http2_max_requests", HS, "Now keepalive_requests."),
    obsolete("http2_max_field_size", HS, "Now large_client_header_buffers."),
    obsolete("http2_max_header_size", HS, "Now large_client_header_buffers."),
    obsolete("http2_max_concurrent_pushes", HS, "Server push, which clients have given up."),
    obsolete("http2_push", HSL, "Server push, which clients have given up.").repeats(),
    obsolete("http2_push_preload", HSL, "Server push, which clients have given up."),
];

fn max_streams(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    match args.count(0)? {
        0 => Err(args.invalid(0, "at least 1")),
        count => {
            settings.http2.max_streams = count;
            Ok(())
        }
    }
}

fn preread(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let size = args.size(0)?;
    settings.http2.preread = match u32::try_from(size) {
        Ok(bytes) if size <= MAX_WINDOW => bytes,
        _ => return Err(args.invalid(0, format!("at most {MAX_WINDOW}"))),
    };
    Ok(())
}

fn receive_buffer(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    settings.http2.receive_buffer = args.size(0)?;
    if settings.http2.receive_buffer < LEAST_BUFFER {
        return Err(args.invalid(0, format!("at least {LEAST_BUFFER}")));
    }
    Ok(())
}

fn chunk(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let size = args.size(0)?;
    settings.http2.chunk = match u32::try_from(size) {
        Ok(bytes @ 1..) if size <= MAX_FRAME => bytes,
        _ => return Err(args.invalid(0, format!("from 1 to {MAX_FRAME}"))),
    };
    Ok(())
}

fn warn_obsolete(_: &mut Settings, args: &mut Arguments<'_>) -> Done {
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
