//! Directives of nginx's log module, and switches for messages in the error log.

use myriad_base::digits::decimal;

use super::{
    Arguments, Contexts, Directive, FLAG, NameKind, Set, SetterResult, at_least, between,
    process::level_error_log, set, syslog,
};
use crate::{
    model::{HttpConf, LogEscape, LogFormat},
    parsed::Word,
    settings::{AccessLog, OpenLogFileCache, Settings},
    span::Span,
    text::Text,
};

const HSL: Contexts = Contexts::HSL;

/// Name and text of nginx's predefined log format.
const COMBINED: &str = concat!(
    "combined '$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent ",
    "\"$http_referer\" \"$http_user_agent\"'",
);

/// Names of log formats, to which `access_log` refers.
static FORMATS: NameKind = NameKind {
    kind: "log format",
    defined: |http| http.log_formats.iter().map(|format| format.name.as_str()).collect(),
    example: |name, _| format!("log_format {name} \"…\";"),
};

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "log_format",
        Contexts::HTTP.or(Contexts::STREAM),
        at_least(2),
        Set::Http(log_format),
        "Defines an access log format.",
    )
    .repeats()
    .default(COMBINED)
    .differs("the format `json` is predefined unless the configuration defines it; `escape=json` writes valid JSON in UTF-8 \
         (C1 controls and bidirectional marks as `\\uXXXX`, invalid UTF-8 as U+FFFD)"),
    Directive::new(
        "access_log",
        Contexts::HSL_IF.or(Contexts::LIMIT_EXCEPT).or(Contexts::STREAM_LEVELS),
        at_least(1),
        Set::Settings(access_log),
        "Sets the path and format of the access log.",
    )
    .repeats()
    .default("logs/access.log combined")
    .differs(
        "`sample=1/N` and the format `json` are specific to Myriad; separate threads write the lines within ten \
             milliseconds, and before the server closes the connection; lines are dropped and counted if the disk is too slow",
    ),
    Directive::new(
        "open_log_file_cache",
        HSL.or(Contexts::STREAM_LEVELS),
        between(1, 4),
        Set::Settings(open_log_file_cache),
        "Caches open log files whose paths contain variables.",
    )
    .default("off"),
    Directive::new(
        "error_log",
        HSL.or(Contexts::STREAM_LEVELS),
        at_least(1),
        Set::Settings(level_error_log),
        "Sets the destination and level of the error log.",
    )
    .computed("the error log of the main context")
    .differs(
        "`format=json` and `repeat=` are specific to Myriad; a message that occurs more than ten times in ten seconds is \
             counted instead of written, `repeat=all` writes all of them",
    )
    .repeats(),
    Directive::new(
        "log_not_found",
        HSL,
        FLAG,
        set!(Settings.flag => log.not_found),
        "Logs missing files to the error log.",
    )
    .default("on"),
    Directive::new(
        "log_subrequest",
        HSL,
        FLAG,
        set!(Settings.flag => log.subrequest),
        "Logs subrequests to the access log.",
    )
    .default("off"),
];

fn log_format(http: &mut HttpConf, args: &mut Arguments<'_>) -> SetterResult {
    let name = args.name(0)?;
    let mine = |format: &LogFormat| format.name == JSON_FORMAT && format.format.span == Span::default();
    http.log_formats.retain(|format| format.name != name || !mine(format));
    if http.log_formats.iter().any(|format| format.name == name) {
        return Err(args.error(0, format!("duplicate \"log_format\" name \"{name}\"")));
    }
    let mut parts = &args.words()[1..];
    let mut escape = LogEscape::Default;
    if let Some(rest) = parts[0].text.strip_prefix(b"escape=") {
        escape = match rest {
            b"default" => LogEscape::Default,
            b"json" => LogEscape::Json,
            b"none" => LogEscape::None,
            _ => return Err(args.invalid(1, "escape=default, escape=json or escape=none")),
        };
        parts = &parts[1..];
    }
    http.log_formats.push(LogFormat { name, escape, format: joined(parts) });
    Ok(())
}

/// Returns the predefined format `json` (only in Myriad): one JSON object per line, with the fields that `myriad log`
/// uses. A configuration may replace it by its own format of this name.
pub(crate) fn json_format() -> LogFormat {
    const MEMBERS: [(&str, &str); 16] = [
        ("time", "\"$time_iso8601\""),
        ("remote_addr", "\"$remote_addr\""),
        ("remote_user", "\"$remote_user\""),
        ("scheme", "\"$scheme\""),
        ("host", "\"$host\""),
        ("method", "\"$request_method\""),
        ("uri", "\"$request_uri\""),
        ("protocol", "\"$server_protocol\""),
        ("status", "$status"),
        ("body_bytes_sent", "$body_bytes_sent"),
        ("request_time", "$request_time"),
        ("cache_status", "\"$upstream_cache_status\""),
        ("upstream_addr", "\"$upstream_addr\""),
        ("upstream_response_time", "\"$upstream_response_time\""),
        ("referer", "\"$http_referer\""),
        ("user_agent", "\"$http_user_agent\""),
    ];
    let members = MEMBERS.map(|(name, value)| format!("\"{name}\":{value}"));
    let format = Text::new(format!("{{{}}}", members.join(",")), Span::default());
    LogFormat { name: JSON_FORMAT.to_owned(), escape: LogEscape::Json, format }
}

const JSON_FORMAT: &str = "json";

/// Joins the words of a log format without separators, as nginx does.
fn joined(parts: &[Word]) -> Text {
    let value: Vec<u8> = parts.iter().flat_map(|part| part.text.iter().copied()).collect();
    let span = match parts {
        [first, .., last] => first.span.to(last.span),
        [only] => only.span,
        [] => Span::default(),
    };
    Text::new(value, span)
}

fn access_log(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    args.start(&mut settings.log.access);
    if args.bytes(0) == b"off" {
        if args.len() > 1 {
            return Err(args.invalid(1, "omitted: \"off\" takes no other parameters"));
        }
        settings.log.access.clear();
        return Ok(());
    }
    let mut log = AccessLog {
        path: args.text(0)?,
        syslog: syslog::read(args, 0)?,
        format: "combined".to_owned(),
        buffer: None,
        gzip: None,
        flush: None,
        condition: None,
        sample: None,
    };
    let has_format = args.len() > 1 && !is_option(args.bytes(1));
    if has_format {
        log.format = args.name(1)?;
        args.use_name(args.text(1)?, &FORMATS);
    }
    for index in if has_format { 2 } else { 1 }..args.len() {
        access_log_option(&mut log, args, index)?;
    }
    check_buffer(&log, args)?;
    if log.gzip.is_some() {
        log.buffer.get_or_insert(GZIP_BUFFER);
    }
    settings.log.access.push(log);
    Ok(())
}

/// Default buffer size of an access log with `gzip`, in bytes, as in nginx.
const GZIP_BUFFER: u64 = 64 << 10;

fn check_buffer(log: &AccessLog, args: &Arguments<'_>) -> SetterResult {
    let buffered = log.buffer.is_some() || log.gzip.is_some();
    if log.flush.is_some() && !buffered {
        return Err(args
            .error(0, "no buffer is defined for access_log")
            .help("add `buffer=SIZE` to `flush=`"));
    }
    if buffered && log.syslog.is_some() {
        return Err(args.error(0, "logs to syslog cannot be buffered"));
    }
    if buffered && log.path.has_variables() {
        return Err(args.error(0, "buffered logs cannot have variables in their name"));
    }
    Ok(())
}

fn is_option(word: &[u8]) -> bool {
    word == b"gzip"
        || [b"buffer=".as_slice(), b"flush=", b"gzip=", b"if=", b"sample="]
            .iter()
            .any(|name| word.starts_with(name))
}

fn access_log_option(log: &mut AccessLog, args: &Arguments<'_>, index: usize) -> SetterResult {
    let word = args.bytes(index);
    if word.starts_with(b"buffer=") {
        log.buffer = Some(args.size_after(index, 7)?);
    } else if word.starts_with(b"flush=") {
        log.flush = Some(args.millis_after(index, 6)?);
    } else if word == b"gzip" {
        log.gzip = Some(1);
    } else if word.starts_with(b"gzip=") {
        let level = u8::try_from(args.number_after(index, 5)?).ok().filter(|level| (1..=9).contains(level));
        log.gzip = Some(level.ok_or_else(|| args.invalid(index, "gzip=LEVEL from 1 to 9"))?);
    } else if let Some(condition) = word.strip_prefix(b"if=") {
        log.condition = Some(Text::new(condition, args.words()[index].span));
    } else if let Some(share) = word.strip_prefix(b"sample=") {
        let count = share.strip_prefix(b"1/").and_then(decimal);
        let count = count.filter(|count| (1..=1_000_000).contains(count));
        log.sample = Some(count.ok_or_else(|| args.invalid(index, "sample=1/N, with N from 1 to 1000000"))?);
    } else {
        let known = "buffer=SIZE, gzip[=LEVEL], flush=TIME, if=CONDITION or sample=1/N";
        return Err(args.invalid(index, known));
    }
    Ok(())
}

fn open_log_file_cache(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    if args.bytes(0) == b"off" {
        settings.log.open_files = None;
        return Ok(());
    }
    let mut cache = OpenLogFileCache { max: 0, inactive: 10_000, min_uses: 1, valid: 60_000 };
    for index in 0..args.len() {
        let word = args.bytes(index);
        if word.starts_with(b"max=") {
            cache.max = args.number_after(index, 4)?;
        } else if word.starts_with(b"inactive=") {
            cache.inactive = args.millis_after(index, 9)?;
        } else if word.starts_with(b"min_uses=") {
            cache.min_uses = args.number_after(index, 9)?;
        } else if word.starts_with(b"valid=") {
            cache.valid = args.millis_after(index, 6)?;
        } else {
            return Err(args.invalid(index, "\"off\", or max=N with inactive=, min_uses=, valid="));
        }
    }
    if cache.max == 0 {
        return Err(args.error(0, "\"open_log_file_cache\" must have \"max\" parameter"));
    }
    settings.log.open_files = Some(cache);
    Ok(())
}
