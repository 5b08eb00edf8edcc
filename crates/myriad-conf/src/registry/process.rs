//! Directives of the main context and of `events`: processes, privileges, limits.

use myriad_base::digits::decimal;

use super::build_features::BuildFeature;
use super::network;
use super::{
    Arguments, Arity, BlockKind, Contexts, Directive, FLAG, ONE, Set, SetterResult, at_least, between, block,
    set, syslog,
};
use crate::{
    model::{MainConf, MemoryLimit, WorkerProcesses},
    settings::{ErrorLog, LogLevel, Settings},
};

const MAIN: Contexts = Contexts::MAIN;
const EVENTS: Contexts = Contexts::EVENTS;
const BLOCK: Arity = block(0, 0);

pub(super) static ROWS: &[Directive] = &[
    Directive::new("events", MAIN, BLOCK, Set::Block(BlockKind::Events), "Contains settings for connections."),
    Directive::new("http", MAIN, BLOCK, Set::Block(BlockKind::Http), "Contains the HTTP servers."),
    #[cfg(feature = "stream")]
    Directive::new("stream", MAIN, BLOCK, Set::Block(BlockKind::Stream), "Contains the TCP and UDP servers."),
    Directive::new("user", MAIN, between(1, 2), Set::Main(user), "User and group of the workers."),
    Directive::new("pid", MAIN, ONE, set!(Main.text => pid), "File with the process ID.")
        .default("logs/nginx.pid"),
    Directive::new("daemon", MAIN, FLAG, set!(Main.flag => daemon), "Runs the server in the background.")
        .default("on"),
    Directive::new(
        "master_process",
        MAIN,
        FLAG,
        set!(Main.flag => master_process),
        "Starts worker processes.",
    )
    .default("on")
    .no_effect("a supervisor and a worker process are always started"),
    Directive::new("worker_processes", MAIN, ONE, Set::Main(worker_processes), "Number of workers.")
        .default("1")
        .differs("workers are threads of one process"),
    Directive::new(
        "worker_rlimit_nofile",
        MAIN,
        ONE,
        set!(Main.number => Some worker_rlimit_nofile),
        "Maximum number of open files.",
    ),
    Directive::new(
        "worker_rlimit_core",
        MAIN,
        ONE,
        set!(Main.size => Some worker_rlimit_core),
        "Maximum size of a core file.",
    ),
    Directive::new(
        "memory_limit",
        MAIN,
        ONE,
        Set::Main(memory_limit),
        "Memory limit of the worker process: a size of 64m or more, a percentage of the machine's memory such as `25%` \
             (or of the control group's limit, if that is lower), or `off`. Near the limit, zones shrink, then idle \
             connections are closed, then requests for upstream servers get 503.",
    )
    .default("off")
    .own(),
    Directive::new(
        "worker_shutdown_timeout",
        MAIN,
        ONE,
        set!(Main.millis => Some worker_shutdown_timeout),
        "Maximum time for a graceful shutdown.",
    ),
    Directive::new(
        "working_directory",
        MAIN,
        ONE,
        set!(Main.text => Some working_directory),
        "Working directory of the workers.",
    ),
    Directive::new(
        "sandbox",
        MAIN,
        FLAG,
        set!(Main.flag => sandbox),
        "Drops what the worker process does not need: capabilities, new privileges, starting programs, and most system calls.",
    )
    .default("on")
    .own(),
    Directive::new("load_module", MAIN, ONE, Set::Main(load_module), "Loads a module.")
        .repeats()
        .no_effect("supported modules are built in; other modules cause a warning"),
    Directive::new("env", MAIN, ONE, Set::Main(env), "Environment variable to preserve or set.").repeats(),
    Directive::new(
        "error_log",
        MAIN,
        at_least(1),
        Set::Main(error_log),
        "Sets the destination and level of the error log.",
    )
    .computed("`logs/error.log error`, or the file of `-e`")
    .differs(
        "`format=json` and `repeat=` are specific to Myriad; a message that occurs more than ten times in ten seconds is \
             counted instead of written, `repeat=all` writes all of them",
    )
    .repeats(),
    Directive::new(
        "pcre_jit",
        MAIN,
        FLAG,
        set!(Main.flag => pcre_jit),
        "Enables just-in-time compilation of regular expressions.",
    )
    .default("off")
    .no_effect("regular expressions are always compiled just in time if the machine supports it"),
    Directive::new(
        "debug_connection",
        EVENTS,
        ONE,
        Set::Main(debug_connection),
        "Clients whose requests are logged at debug level.",
    )
    .repeats()
    .differs("only addresses and networks, no host names"),
    Directive::new(
        "worker_connections",
        EVENTS,
        ONE,
        set!(Main.count => worker_connections),
        "Maximum number of connections per worker.",
    )
    .default("512")
    .differs(
        "lowered at startup if the limit of open files requires it; clients leave one eighth to upstream connections, \
             which use at most half; above that, requests wait up to `*_connect_timeout`; idle or stalled connections are \
             evicted for new ones",
    ),
];

/// Loadable modules whose directives are built in, each with the optional feature of the binary that contains them, or
/// an empty name.
const BUILT_IN: [(&str, &str); 17] = [
    ("ndk_http_module", "nginx-extras"),
    ("ngx_http_brotli_filter_module", "brotli"),
    ("ngx_http_brotli_static_module", ""),
    ("ngx_http_cache_purge_module", ""),
    ("ngx_http_dav_ext_module", "dav"),
    ("ngx_http_echo_module", "nginx-extras"),
    ("ngx_http_fancyindex_module", "nginx-extras"),
    ("ngx_http_geoip2_module", "geoip"),
    ("ngx_http_geoip_module", "geoip"),
    ("ngx_http_headers_more_filter_module", ""),
    ("ngx_http_image_filter_module", "image"),
    ("ngx_http_set_misc_module", "nginx-extras"),
    ("ngx_http_vhost_traffic_status_module", "nginx-extras"),
    ("ngx_http_zstd_filter_module", "zstd"),
    ("ngx_http_zstd_static_module", ""),
    ("ngx_otel_module", "otel"),
    ("ngx_stream_module", "stream"),
];

/// Setter of `load_module`. Distributions load more modules than a site uses, so a module that is not in
/// [`BUILT_IN`], or not part of this build, only causes a warning.
fn load_module(_: &mut MainConf, args: &mut Arguments<'_>) -> SetterResult {
    let path = String::from_utf8_lossy(args.bytes(0));
    let file = path.rsplit('/').next().unwrap_or_default();
    let name = file.strip_suffix(".so").unwrap_or(file);
    let Some((_, feature)) = BUILT_IN.iter().find(|(known, _)| *known == name) else {
        args.warn(
            0,
            format!(
                "the module \"{name}\" is not loaded: directives that Myriad does not support are rejected"
            ),
        );
        return Ok(());
    };
    if let Some(missing) = BuildFeature::missing(feature) {
        args.warn(0, format!("the module \"{name}\" is not loaded: {}", missing.refusal));
    }
    Ok(())
}

fn debug_connection(main: &mut MainConf, args: &mut Arguments<'_>) -> SetterResult {
    main.debug_connections.push(network(args, 0, args.bytes(0))?);
    Ok(())
}

fn user(main: &mut MainConf, args: &mut Arguments<'_>) -> SetterResult {
    main.user = Some(args.text(0)?);
    main.group = if args.len() > 1 { Some(args.text(1)?) } else { None };
    Ok(())
}

fn worker_processes(main: &mut MainConf, args: &mut Arguments<'_>) -> SetterResult {
    main.worker_processes = if args.bytes(0) == b"auto" {
        WorkerProcesses::Auto
    } else {
        match args.count(0) {
            Ok(count @ 1..=4096) => WorkerProcesses::Count(count),
            _ => return Err(args.invalid(0, "\"auto\" or a number from 1 to 4096")),
        }
    };
    Ok(())
}

fn memory_limit(main: &mut MainConf, args: &mut Arguments<'_>) -> SetterResult {
    let word = args.bytes(0);
    let must_be = || {
        format!("\"off\", a percentage from 1% to 100%, or a size of {}m or more", MemoryLimit::LEAST >> 20)
    };
    let percent = |digits: &[u8]| decimal(digits).filter(|part| (1..=100).contains(part));
    main.memory_limit = match (word, word.strip_suffix(b"%")) {
        (b"off", _) => MemoryLimit::Off,
        (_, Some(digits)) => MemoryLimit::Percent(percent(digits).ok_or_else(|| args.invalid(0, must_be()))?),
        _ => match args.size(0) {
            Ok(bytes) if bytes >= MemoryLimit::LEAST => MemoryLimit::Bytes(bytes),
            _ => return Err(args.invalid(0, must_be())),
        },
    };
    Ok(())
}

fn env(main: &mut MainConf, args: &mut Arguments<'_>) -> SetterResult {
    main.env.push(args.text(0)?);
    Ok(())
}

const LEVELS: [(&str, LogLevel); 15] = [
    ("emerg", LogLevel::Emerg),
    ("alert", LogLevel::Alert),
    ("crit", LogLevel::Crit),
    ("error", LogLevel::Error),
    ("warn", LogLevel::Warn),
    ("notice", LogLevel::Notice),
    ("info", LogLevel::Info),
    ("debug", LogLevel::Debug),
    ("debug_core", LogLevel::Debug),
    ("debug_alloc", LogLevel::Debug),
    ("debug_mutex", LogLevel::Debug),
    ("debug_event", LogLevel::Debug),
    ("debug_http", LogLevel::Debug),
    ("debug_mail", LogLevel::Debug),
    ("debug_stream", LogLevel::Debug),
];

fn read_error_log(args: &Arguments<'_>) -> Result<ErrorLog, crate::diagnostic::Diagnostic> {
    let (mut level, mut is_json, mut repeats_all) = (None, false, false);
    for index in 1..args.len() {
        match args.bytes(index) {
            b"format=json" => is_json = true,
            b"format=nginx" => is_json = false,
            b"repeat=all" => repeats_all = true,
            b"repeat=counted" => repeats_all = false,
            word if word.starts_with(b"format=") => {
                return Err(args.invalid(index, "format=json or format=nginx"));
            }
            word if word.starts_with(b"repeat=") => {
                return Err(args.invalid(index, "repeat=all or repeat=counted"));
            }
            _ => level = level.max(Some(args.choice(index, &LEVELS)?)),
        }
    }
    if args.bytes(0).starts_with(b"memory:") {
        let message = "\"memory:\" is not supported: nginx has it in debugging builds only";
        return Err(args.error(0, message).help("use a file, \"stderr\" or \"syslog:server=ADDRESS\""));
    }
    let level = level.unwrap_or(LogLevel::Error);
    Ok(ErrorLog { target: args.text(0)?, syslog: syslog::read(args, 0)?, level, is_json, repeats_all })
}

fn error_log(main: &mut MainConf, args: &mut Arguments<'_>) -> SetterResult {
    main.error_logs.push(read_error_log(args)?);
    Ok(())
}

/// Setter of `error_log` inside `http` or `stream`.
pub(super) fn level_error_log(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    args.start(&mut settings.log.error);
    settings.log.error.push(read_error_log(args)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{LEVELS, LogLevel};

    const ALL: [LogLevel; 8] = [
        LogLevel::Emerg,
        LogLevel::Alert,
        LogLevel::Crit,
        LogLevel::Error,
        LogLevel::Warn,
        LogLevel::Notice,
        LogLevel::Info,
        LogLevel::Debug,
    ];

    fn read(name: &str) -> Option<LogLevel> {
        LEVELS.iter().find(|(known, _)| *known == name).map(|(_, level)| *level)
    }

    #[test]
    fn levels_are_named_as_the_directive_names_them() {
        assert_eq!(read("warn"), Some(LogLevel::Warn));
        assert_eq!(read("debug_http"), Some(LogLevel::Debug));
        assert_eq!(read("loud"), None);
        assert!(LogLevel::Emerg < LogLevel::Debug);
    }

    #[test]
    fn levels_come_back_from_their_names() {
        assert_eq!(ALL.map(|level| read(level.name())), ALL.map(Some));
    }

    #[test]
    fn levels_are_numbered_as_severities_of_syslog() {
        assert!(ALL.is_sorted());
        assert_eq!(ALL.map(|level| level as u8), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
