//! Reading from and writing to the client: limits, timeouts, keep-alive.

use super::{Arguments, Contexts, Directive, Done, FLAG, ONE, Set, TWO, between, set};
use crate::settings::{BodyInFile, LargeBuffers, Lingering, MinRate, Settings, TempPath};

const HS: Contexts = Contexts::HTTP_SERVER;
const HSL: Contexts = Contexts::HSL;
/// Default of `grace=` of `client_min_rate`, in milliseconds.
const MIN_RATE_GRACE: u64 = 30_000;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "client_header_timeout",
        HS,
        ONE,
        set!(Settings.millis => client.header_timeout),
        "How long a request's head may take.",
    )
    .default("60s"),
    Directive::new(
        "client_header_buffer_size",
        HS,
        ONE,
        set!(Settings.size => client.header_buffer_size),
        "First buffer for a request's head.",
    )
    .default("1k")
    .differs("a head has 16k at once, and none while the connection idles; a line may have what the larger of this and \
              large_client_header_buffers says"),
    Directive::new(
        "large_client_header_buffers",
        HS,
        TWO,
        Set::Settings(large_client_header_buffers),
        "How many larger buffers a head may take, and of what size.",
    )
    .differs("a line must fit one buffer, and the head all of them together; nginx breaks no line over two")
    .default("4 8k"),
    Directive::new(
        "max_headers",
        HS,
        ONE,
        set!(Settings.count => client.max_headers),
        "How many fields a request may have.",
    )
    .default("1000"),
    Directive::new(
        "client_max_body_size",
        HSL,
        ONE,
        set!(Settings.size => client.max_body_size),
        "How large a request's body may be; 0 for any size.",
    )
    .default("1m"),
    Directive::new(
        "client_body_timeout",
        HSL,
        ONE,
        set!(Settings.millis => client.body_timeout),
        "How long to wait between two reads of a body.",
    )
    .differs("the client is told 408; nginx closes without an answer")
    .default("60s"),
    Directive::new(
        "client_body_buffer_size",
        HSL,
        ONE,
        set!(Settings.size => client.body_buffer_size),
        "How much of a body is held in memory.",
    )
    .default("16k"),
    Directive::new(
        "client_body_in_file_only",
        HSL,
        ONE,
        Set::Settings(client_body_in_file_only),
        "Whether every body goes to a file.",
    )
    .default("off")
    .differs("an empty body makes no file"),
    Directive::new(
        "client_body_temp_path",
        HSL,
        between(1, 4),
        Set::Settings(client_body_temp_path),
        "Folder of the files that bodies go to.",
    )
    .default("client_body_temp")
    .differs("a file has a name only where `client_body_in_file_only` or `$request_body_file` asks for it"),
    Directive::new(
        "client_body_temp_max_size",
        HSL,
        ONE,
        set!(Settings.size => client.body_temp_max_size),
        "How much the bodies of all requests may take in files; beyond that 503. 0 for any.",
    )
    .default("0")
    .own(),
    Directive::new(
        "client_body_in_single_buffer",
        HSL,
        FLAG,
        set!(Settings.flag => client.body_in_single_buffer),
        "Whether a body is held in one piece.",
    )
    .default("off")
    .no_effect("a body that was gathered for the cache's key, which `$request_body` shows, is in one piece anyway"),
    Directive::new(
        "send_timeout",
        HSL,
        ONE,
        set!(Settings.millis => client.send_timeout),
        "How long to wait between two writes to the client.",
    )
    .default("60s"),
    Directive::new(
        "client_min_rate",
        HSL,
        between(1, 3),
        Set::Settings(client_min_rate),
        "How many bytes a second a client moves at least, of a head, a body or an answer, while it is waited for.",
    )
    .default("100 grace=30s pressure"),
    Directive::new(
        "keepalive_timeout",
        HSL,
        between(1, 2),
        Set::Settings(keepalive_timeout),
        "How long an idle connection stays open; the second time is told to the client.",
    )
    .default("75s"),
    Directive::new(
        "keepalive_min_timeout",
        HSL,
        ONE,
        set!(Settings.millis => client.keepalive_min_timeout),
        "How long an idle connection stays open at least, also when ending.",
    )
    .default("0")
    .no_effect("a reload closes no connection; when the server ends, idle ones close at once"),
    Directive::new(
        "keepalive_requests",
        HSL,
        ONE,
        set!(Settings.number => client.keepalive_requests),
        "How many requests one connection may make.",
    )
    .default("1000"),
    Directive::new(
        "keepalive_time",
        HSL,
        ONE,
        set!(Settings.millis => client.keepalive_time),
        "How old a connection may become.",
    )
    .default("1h"),
    Directive::new(
        "keepalive_disable",
        HSL,
        between(1, 2),
        Set::Settings(keepalive_disable),
        "Browsers that get no keep-alive.",
    )
    .repeats()
    .default("msie6"),
    Directive::new(
        "lingering_close",
        HSL,
        ONE,
        Set::Settings(lingering_close),
        "Whether to read on before closing, so that the client sees the answer.",
    )
    .default("on"),
    Directive::new(
        "lingering_time",
        HSL,
        ONE,
        set!(Settings.millis => client.lingering_time),
        "How long to read on at most.",
    )
    .default("30s"),
    Directive::new(
        "lingering_timeout",
        HSL,
        ONE,
        set!(Settings.millis => client.lingering_timeout),
        "How long to wait for more while reading on.",
    )
    .default("5s"),
    Directive::new(
        "reset_timedout_connection",
        HSL,
        FLAG,
        set!(Settings.flag => client.reset_timedout_connection),
        "Whether timed-out connections are reset.",
    )
    .default("off"),
    Directive::new("tcp_nodelay", HSL, FLAG, set!(Settings.flag => client.tcp_nodelay), "TCP_NODELAY.")
        .default("on")
        .no_effect("always on: what belongs together is written together"),
    Directive::new("tcp_nopush", HSL, FLAG, set!(Settings.flag => client.tcp_nopush), "TCP_CORK.")
        .default("off")
        .no_effect("a head leaves together with a body that is in memory"),
    Directive::new(
        "chunked_transfer_encoding",
        HSL,
        FLAG,
        set!(Settings.flag => client.chunked_transfer_encoding),
        "Whether chunks are sent to HTTP/1.1 clients.",
    )
    .default("on"),
    Directive::new(
        "ignore_invalid_headers",
        HS,
        FLAG,
        set!(Settings.flag => client.ignore_invalid_headers),
        "Whether fields with names of other bytes than letters, digits and hyphens are dropped.",
    )
    .default("on"),
    Directive::new(
        "underscores_in_headers",
        HS,
        FLAG,
        set!(Settings.flag => client.underscores_in_headers),
        "Whether a field's name may hold an underscore.",
    )
    .default("off"),
    Directive::new(
        "merge_slashes",
        HS,
        FLAG,
        set!(Settings.flag => client.merge_slashes),
        "Whether adjacent slashes of an URI become one.",
    )
    .default("on"),
];

fn large_client_header_buffers(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let buffers = LargeBuffers { count: args.count(0)?, size: args.size(1)? };
    if buffers.count == 0 || buffers.size == 0 {
        return Err(args.invalid(0, "at least one buffer of at least one byte"));
    }
    settings.client.large_header_buffers = buffers;
    Ok(())
}

fn client_body_in_file_only(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let choices = [("off", BodyInFile::Off), ("clean", BodyInFile::Clean), ("on", BodyInFile::On)];
    settings.client.body_in_file_only = args.choice(0, &choices)?;
    Ok(())
}

fn client_body_temp_path(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let levels = (1..args.len()).map(|index| args.within(index, 1, 3)).collect::<Result<_, _>>()?;
    settings.client.body_temp_path = TempPath { path: args.text(0)?, levels };
    Ok(())
}

fn client_min_rate(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    if args.bytes(0) == b"off" {
        settings.client.min_rate = None;
        return if args.len() == 1 { Ok(()) } else { Err(args.invalid(1, "nothing behind `off`")) };
    }
    let mut rate = MinRate { rate: args.size(0)?, grace: MIN_RATE_GRACE, under_pressure: false };
    if rate.rate == 0 {
        return Err(args.invalid(0, "at least one byte a second, or `off`"));
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

fn keepalive_timeout(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    settings.client.keepalive_timeout = args.millis(0)?;
    settings.client.keepalive_header_s = if args.len() > 1 { Some(args.millis(1)? / 1000) } else { None };
    Ok(())
}

fn keepalive_disable(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
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

fn lingering_close(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let choices = [("off", Lingering::Off), ("on", Lingering::On), ("always", Lingering::Always)];
    settings.client.lingering_close = args.choice(0, &choices)?;
    Ok(())
}
