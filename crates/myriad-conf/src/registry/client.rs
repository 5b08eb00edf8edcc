//! Directives for receiving requests from clients and sending responses: limits, timeouts, keep-alive.

use super::{Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, TWO, between, set};
use crate::settings::{BodyInFile, LargeBuffers, Lingering, MinRate, Settings, TempPath};

const HS: Contexts = Contexts::HTTP_SERVER;
const HSL: Contexts = Contexts::HSL;
/// Default of `grace=` of `client_min_rate`, in milliseconds: waiting time after which the rate is checked.
const MIN_RATE_GRACE: u64 = 30_000;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "client_header_timeout",
        HS,
        ONE,
        set!(Settings.millis => client.header_timeout),
        "Timeout for reading the request header.",
    )
    .default("60s"),
    Directive::new(
        "client_header_buffer_size",
        HS,
        ONE,
        set!(Settings.size => client.header_buffer_size),
        "Size of the first buffer for the request header.",
    )
    .default("1k")
    .differs("a buffer of 16k is allocated when a request starts, and none for an idle connection; the maximum line length is \
         the larger of this and large_client_header_buffers"),
    Directive::new(
        "large_client_header_buffers",
        HS,
        TWO,
        Set::Settings(large_client_header_buffers),
        "Maximum number and size of further buffers for the request header.",
    )
    .differs("a line must fit into one buffer, and the whole header into all buffers together; in nginx, no line may span two \
         buffers")
    .default("4 8k"),
    Directive::new(
        "max_headers",
        HS,
        ONE,
        set!(Settings.count => client.max_headers),
        "Maximum number of header fields in a request.",
    )
    .default("1000"),
    Directive::new(
        "client_max_body_size",
        HSL,
        ONE,
        set!(Settings.size => client.max_body_size),
        "Maximum size of a request body; 0 for no limit.",
    )
    .default("1m"),
    Directive::new(
        "client_body_timeout",
        HSL,
        ONE,
        set!(Settings.millis => client.body_timeout),
        "Timeout between two reads of a request body.",
    )
    .differs("the client receives 408; nginx closes the connection without a response")
    .default("60s"),
    Directive::new(
        "client_body_buffer_size",
        HSL,
        ONE,
        set!(Settings.size => client.body_buffer_size),
        "Maximum size of a request body in memory.",
    )
    .default("16k"),
    Directive::new(
        "client_body_in_file_only",
        HSL,
        ONE,
        Set::Settings(client_body_in_file_only),
        "Stores every request body in a file.",
    )
    .default("off")
    .differs("no file is created for an empty body"),
    Directive::new(
        "client_body_temp_path",
        HSL,
        between(1, 4),
        Set::Settings(client_body_temp_path),
        "Folder for temporary files of request bodies.",
    )
    .default("client_body_temp")
    .differs("files have no name unless `client_body_in_file_only` or `$request_body_file` requires one"),
    Directive::new(
        "client_body_temp_max_size",
        HSL,
        ONE,
        set!(Settings.size => client.body_temp_max_size),
        "Maximum total size of request bodies in files; above it, requests get 503. 0 for no limit.",
    )
    .default("0")
    .own(),
    Directive::new(
        "client_body_in_single_buffer",
        HSL,
        FLAG,
        set!(Settings.flag => client.body_in_single_buffer),
        "Stores a request body in a single buffer.",
    )
    .default("off")
    .no_effect("a body that is buffered for the cache key, as shown by `$request_body`, is always in one buffer"),
    Directive::new(
        "send_timeout",
        HSL,
        ONE,
        set!(Settings.millis => client.send_timeout),
        "Timeout between two writes to the client.",
    )
    .default("60s"),
    Directive::new(
        "client_min_rate",
        HSL,
        between(1, 3),
        Set::Settings(client_min_rate),
        "Minimum rate in bytes per second at which a client must send its request or receive the response, measured \
             while the server waits for the client.",
    )
    .default("100 grace=30s pressure")
    .own(),
    Directive::new(
        "keepalive_timeout",
        HSL,
        between(1, 2),
        Set::Settings(keepalive_timeout),
        "Idle timeout of a client connection; the second time is sent to the client in `Keep-Alive`.",
    )
    .default("75s"),
    Directive::new(
        "keepalive_min_timeout",
        HSL,
        ONE,
        set!(Settings.millis => client.keepalive_min_timeout),
        "Minimum time that an idle connection stays open, also during shutdown.",
    )
    .default("0")
    .no_effect("a reload closes no connections; a shutdown closes idle connections immediately"),
    Directive::new(
        "keepalive_requests",
        HSL,
        ONE,
        set!(Settings.number => client.keepalive_requests),
        "Maximum number of requests per connection.",
    )
    .default("1000"),
    Directive::new(
        "keepalive_time",
        HSL,
        ONE,
        set!(Settings.millis => client.keepalive_time),
        "Maximum age of a connection.",
    )
    .default("1h"),
    Directive::new(
        "keepalive_disable",
        HSL,
        between(1, 2),
        Set::Settings(keepalive_disable),
        "Browsers for which keep-alive is disabled.",
    )
    .repeats()
    .default("msie6"),
    Directive::new(
        "lingering_close",
        HSL,
        ONE,
        Set::Settings(lingering_close),
        "Continues to read from the client before closing, so that it receives the response.",
    )
    .default("on"),
    Directive::new(
        "lingering_time",
        HSL,
        ONE,
        set!(Settings.millis => client.lingering_time),
        "Maximum total time to read before closing.",
    )
    .default("30s"),
    Directive::new(
        "lingering_timeout",
        HSL,
        ONE,
        set!(Settings.millis => client.lingering_timeout),
        "Maximum time to wait for more data before closing.",
    )
    .default("5s"),
    Directive::new(
        "reset_timedout_connection",
        HSL,
        FLAG,
        set!(Settings.flag => client.reset_timedout_connection),
        "Resets timed-out connections instead of closing them.",
    )
    .default("off"),
    Directive::new("tcp_nodelay", HSL, FLAG, set!(Settings.flag => client.tcp_nodelay), "TCP_NODELAY.")
        .default("on")
        .no_effect("always on: data that belongs together is written in one call"),
    Directive::new("tcp_nopush", HSL, FLAG, set!(Settings.flag => client.tcp_nopush), "TCP_CORK.")
        .default("off")
        .no_effect("the header is sent together with a body that is in memory"),
    Directive::new(
        "chunked_transfer_encoding",
        HSL,
        FLAG,
        set!(Settings.flag => client.chunked_transfer_encoding),
        "Enables chunked transfer coding for HTTP/1.1 clients.",
    )
    .default("on"),
    Directive::new(
        "ignore_invalid_headers",
        HS,
        FLAG,
        set!(Settings.flag => client.ignore_invalid_headers),
        "Drops header fields whose names contain bytes other than letters, digits and hyphens.",
    )
    .default("on"),
    Directive::new(
        "underscores_in_headers",
        HS,
        FLAG,
        set!(Settings.flag => client.underscores_in_headers),
        "Allows underscores in header names.",
    )
    .default("off"),
    Directive::new(
        "merge_slashes",
        HS,
        FLAG,
        set!(Settings.flag => client.merge_slashes),
        "Merges adjacent slashes in the URI.",
    )
    .default("on"),
];

fn large_client_header_buffers(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let buffers = LargeBuffers { count: args.count(0)?, size: args.size(1)? };
    for (index, is_zero) in [buffers.count == 0, buffers.size == 0].into_iter().enumerate() {
        if is_zero {
            return Err(args.invalid(index, "at least one buffer of at least one byte"));
        }
    }
    settings.client.large_header_buffers = buffers;
    Ok(())
}

fn client_body_in_file_only(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let choices = [("off", BodyInFile::Off), ("clean", BodyInFile::Clean), ("on", BodyInFile::On)];
    settings.client.body_in_file_only = args.choice(0, &choices)?;
    Ok(())
}

fn client_body_temp_path(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let levels = (1..args.len()).map(|index| args.within(index, 1, 3)).collect::<Result<_, _>>()?;
    settings.client.body_temp_path = TempPath { path: args.text(0)?, levels };
    Ok(())
}

fn client_min_rate(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    if args.bytes(0) == b"off" {
        settings.client.min_rate = None;
        return if args.len() == 1 { Ok(()) } else { Err(args.invalid(1, "omitted after `off`")) };
    }
    let mut rate = MinRate { rate: args.size(0)?, grace: MIN_RATE_GRACE, under_pressure: false };
    if rate.rate == 0 {
        return Err(args.invalid(0, "at least one byte per second, or `off`"));
    }
    for index in 1..args.len() {
        match args.bytes(index) {
            b"pressure" => rate.under_pressure = true,
            [b'g', b'r', b'a', b'c', b'e', b'=', ..] => rate.grace = args.millis_after(index, 6)?,
            _ => return Err(args.invalid(index, "`grace=TIME` or `pressure`")),
        }
    }
    settings.client.min_rate = Some(rate);
    Ok(())
}

fn keepalive_timeout(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.client.keepalive_timeout = args.millis(0)?;
    settings.client.keepalive_header_s = if args.len() > 1 { Some(args.millis(1)? / 1000) } else { None };
    Ok(())
}

fn keepalive_disable(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut client = settings.client.clone();
    if args.first {
        client.keepalive_disable_msie6 = false;
        client.keepalive_disable_safari = false;
    }
    for index in 0..args.len() {
        match args.choice(index, &[("none", 0), ("msie6", 1), ("safari", 2)])? {
            1 => client.keepalive_disable_msie6 = true,
            2 => client.keepalive_disable_safari = true,
            _ => {}
        }
    }
    settings.client = client;
    Ok(())
}

fn lingering_close(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let choices = [("off", Lingering::Off), ("on", Lingering::On), ("always", Lingering::Always)];
    settings.client.lingering_close = args.choice(0, &choices)?;
    Ok(())
}
