//! Directives for files, and parsers of their arguments.

use myriad_conf::registry::{Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, between, exactly};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text, set};

use super::settings::{
    DisableSymlinks, OpenFileCache, OpenFileSettings, PrecompressedSettings, StaticMode, SymlinkSettings,
};

const HSL: Contexts = Contexts::HSL;

/// Explanation of a difference from nginx (directives `mp4` and `flv`): videos are not cut.
const WHOLE: &str = "complete videos and byte ranges are sent, with a warning; the arguments `start` and `end`, which players used \
     before byte ranges, are ignored";

const WARNED: Set = Set::Settings(|_, args| {
    warn_of_whole(args);
    Ok(())
});

pub(super) static ROWS: &[Directive] = &[
    Directive::new("flv", Contexts::LOCATION, exactly(0), WARNED, "Cuts FLV videos by the argument `start`.").later(WHOLE),
    Directive::new("mp4", Contexts::LOCATION, exactly(0), WARNED, "Cuts MP4 videos by the arguments `start` and `end`.")
        .later(WHOLE),
    Directive::new("mp4_buffer_size", HSL, ONE, Set::Nothing, "Size of the buffer for the index of a video.").later(WHOLE),
    Directive::new("mp4_max_buffer_size", HSL, ONE, Set::Nothing, "Maximum size of the index of a video.").later(WHOLE),
    Directive::new("mp4_start_key_frame", HSL, FLAG, Set::Nothing, "Starts a cut at a key frame.").later(WHOLE),
    Directive::new(
        "open_file_cache",
        HSL,
        between(1, 2),
        Set::Settings(open_file_cache),
        "Caches which files exist.",
    )
    .computed("none; a file is checked again after one second")
    .differs(
        "without the directive, information about files is cached for one second; the table limits its own size, so \
             `max` and `inactive` have no effect",
    ),
    Directive::new(
        "open_file_cache_valid",
        HSL,
        ONE,
        set!(Feature<OpenFileSettings>.millis => valid),
        "Time after which cached information is checked again.",
    )
    .default("60s"),
    Directive::new(
        "open_file_cache_min_uses",
        HSL,
        ONE,
        set!(Feature<OpenFileSettings>.number => min_uses),
        "Minimum number of uses after which a file stays open.",
    )
    .default("1")
    .no_effect("the table limits its own size"),
    Directive::new(
        "open_file_cache_errors",
        HSL,
        FLAG,
        set!(Feature<OpenFileSettings>.flag => errors),
        "Caches the absence of files as well.",
    )
    .default("off")
    .differs("`off` still caches it for one second"),
    Directive::new(
        "disable_symlinks",
        HSL,
        between(1, 2),
        Set::Settings(disable_symlinks),
        "Rejects symbolic links.",
    )
    .default("off")
    .differs("also applies to directory listings, `*_store`, WebDAV, and below `from=` to `auth_basic_user_file`"),
];

pub(super) static GZIP_STATIC: &[Directive] =
    &[Directive::new("gzip_static", HSL, ONE, Set::Settings(gzip_static), "Sends FILE.gz instead of FILE.")
        .default("off")];

pub(super) static BROTLI_STATIC: &[Directive] = &[Directive::new(
    "brotli_static",
    HSL,
    ONE,
    Set::Settings(brotli_static),
    "Sends FILE.br instead of FILE.",
)
.default("off")];

pub(super) static ZSTD_STATIC: &[Directive] =
    &[Directive::new("zstd_static", HSL, ONE, Set::Settings(zstd_static), "Sends FILE.zst instead of FILE.")
        .default("off")];

fn disable_symlinks(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut rule = None;
    let mut from = None;
    for index in 0..args.len() {
        let word = args.bytes(index);
        if let Some(part) = word.strip_prefix(b"from=") {
            from = Some(Text::new(part, args.words()[index].span));
        } else if rule.is_none() {
            let choices = [("off", None), ("on", Some(false)), ("if_not_owner", Some(true))];
            rule = Some(args.choice(index, &choices)?);
        } else {
            return Err(args.invalid(index, "from=PART"));
        }
    }
    let Some(rule) = rule else {
        let message = "\"disable_symlinks\" must have \"off\", \"on\" or \"if_not_owner\" parameter";
        return Err(args.error(0, message));
    };
    settings.feature_mut::<SymlinkSettings>().0 = rule.map(|foreign_only| DisableSymlinks {
        foreign_only,
        from: from.unwrap_or_else(|| Text::builtin("")),
    });
    Ok(())
}

fn open_file_cache(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    if args.bytes(0) == b"off" {
        settings.feature_mut::<OpenFileSettings>().cache = Some(None);
        return Ok(());
    }
    let mut cache = OpenFileCache { max: 0, inactive: 60_000 };
    for index in 0..args.len() {
        let word = args.bytes(index);
        if word.starts_with(b"max=") {
            cache.max = args.number_after(index, 4)?;
        } else if word.starts_with(b"inactive=") {
            cache.inactive = args.millis_after(index, 9)?;
        } else {
            return Err(args.invalid(index, "\"off\", or max=N with inactive=TIME"));
        }
    }
    if cache.max == 0 {
        return Err(args.error(0, "\"open_file_cache\" must have the \"max\" parameter"));
    }
    settings.feature_mut::<OpenFileSettings>().cache = Some(Some(cache));
    Ok(())
}

fn warn_of_whole(args: &mut Arguments<'_>) {
    let name = &args.directive.name;
    let message = format!("\"{name}\" sends complete videos and byte ranges; \"start=\" is ignored");
    let warning = Diagnostic::warning(args.node.span, message);
    args.warnings.push(warning.help("current players request byte ranges; remove the directive"));
}

fn static_mode(args: &Arguments<'_>) -> Result<StaticMode, Diagnostic> {
    args.choice(0, &[("off", StaticMode::Off), ("on", StaticMode::On), ("always", StaticMode::Always)])
}

fn gzip_static(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.feature_mut::<PrecompressedSettings>().gzip = static_mode(args)?;
    Ok(())
}

fn brotli_static(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.feature_mut::<PrecompressedSettings>().brotli = static_mode(args)?;
    Ok(())
}

fn zstd_static(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.feature_mut::<PrecompressedSettings>().zstd = static_mode(args)?;
    Ok(())
}
