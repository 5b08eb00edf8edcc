//! nginx's gzip modules, and the well-known brotli and zstd modules.

use super::{Arguments, Contexts, Directive, Done, FLAG, ONE, Set, add_types, at_least, set};
use crate::{
    diagnostic::Diagnostic,
    settings::{GzipDisable, Proxied, Settings, StaticMode},
};

const HSL: Contexts = Contexts::HSL;
const HSL_IF: Contexts = Contexts::HSL_IF;
const HIT: &str =
    "decides what may be sent; a page from the cache or a file is compressed once, not per request";

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "gzip",
        HSL_IF,
        FLAG,
        set!(Settings.flag => encoding.gzip.on),
        "Whether gzip may be sent.",
    )
    .default("off")
    .differs(HIT),
    Directive::new("gzip_types", HSL, at_least(1), Set::Settings(gzip_types), "Media types to compress.")
        .default("text/html")
        .repeats(),
    Directive::new(
        "gzip_min_length",
        HSL,
        ONE,
        set!(Settings.size => encoding.gzip.min_length),
        "Smaller answers are not compressed.",
    )
    .default("20"),
    Directive::new(
        "gzip_comp_level",
        HSL,
        ONE,
        Set::Settings(|s, a| {
            s.encoding.gzip.comp_level = a.within(0, 1, 9)?;
            Ok(())
        }),
        "Level for answers compressed while streaming.",
    )
    .default("1")
    .differs("what is stored gets a fast level first and the strongest in the background"),
    Directive::new(
        "gzip_vary",
        HSL,
        FLAG,
        set!(Settings.flag => encoding.gzip.vary),
        "Whether Vary is sent.",
    )
    .default("off"),
    Directive::new(
        "gzip_proxied",
        HSL,
        at_least(1),
        Set::Settings(gzip_proxied),
        "Which answers to proxies are compressed.",
    )
    .default("off"),
    Directive::new(
        "gzip_http_version",
        HSL,
        ONE,
        Set::Settings(gzip_http_version),
        "The least version that gets gzip.",
    )
    .default("1.1"),
    Directive::new(
        "gzip_disable",
        HSL,
        at_least(1),
        Set::Settings(gzip_disable),
        "Browsers that get no gzip.",
    )
    .repeats(),
    Directive::new("gzip_static", HSL, ONE, Set::Settings(gzip_static), "Whether FILE.gz is sent for FILE.")
        .default("off"),
    Directive::new(
        "brotli",
        HSL_IF,
        FLAG,
        set!(Settings.flag => Some encoding.brotli.on),
        "Whether br may be sent.",
    )
    .computed("as `gzip`")
    .differs(HIT),
    Directive::new("brotli_types", HSL, at_least(1), Set::Settings(brotli_types), "Media types to compress.")
        .computed("as `gzip_types`")
        .repeats(),
    Directive::new(
        "brotli_min_length",
        HSL,
        ONE,
        set!(Settings.size => encoding.brotli.min_length),
        "Smaller answers are not compressed.",
    )
    .default("20"),
    Directive::new(
        "brotli_comp_level",
        HSL,
        ONE,
        Set::Settings(|s, a| {
            s.encoding.brotli.comp_level = a.within(0, 0, 11)?;
            Ok(())
        }),
        "Level for answers compressed while streaming.",
    )
    .default("6"),
    Directive::new(
        "brotli_window",
        HSL,
        ONE,
        set!(Settings.size => encoding.brotli.window),
        "Window of the coder.",
    )
    .default("512k")
    .no_effect("the coder chooses its window by what it compresses"),
    Directive::new(
        "brotli_static",
        HSL,
        ONE,
        Set::Settings(brotli_static),
        "Whether FILE.br is sent for FILE.",
    )
    .default("off"),
    Directive::new(
        "zstd",
        HSL_IF,
        FLAG,
        set!(Settings.flag => Some encoding.zstd.on),
        "Whether zstd may be sent.",
    )
    .computed("as `gzip`")
    .differs(HIT),
    Directive::new("zstd_types", HSL, at_least(1), Set::Settings(zstd_types), "Media types to compress.")
        .computed("as `gzip_types`")
        .repeats(),
    Directive::new(
        "zstd_min_length",
        HSL,
        ONE,
        set!(Settings.size => encoding.zstd.min_length),
        "Smaller answers are not compressed.",
    )
    .default("20"),
    Directive::new(
        "zstd_comp_level",
        HSL,
        ONE,
        Set::Settings(|s, a| {
            s.encoding.zstd.comp_level = a.within(0, 1, 22)?;
            Ok(())
        }),
        "Level for answers compressed while streaming.",
    )
    .default("1"),
    Directive::new("zstd_static", HSL, ONE, Set::Settings(zstd_static), "Whether FILE.zst is sent for FILE.")
        .default("off"),
];
fn gzip_types(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    add_types(&mut settings.encoding.gzip.types, args)
}

fn brotli_types(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    add_types(settings.encoding.brotli.types.get_or_insert_default(), args)
}

fn zstd_types(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    add_types(settings.encoding.zstd.types.get_or_insert_default(), args)
}

fn gzip_proxied(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let mut proxied = Proxied::default();
    for index in 0..args.len() {
        let choices = [
            "off",
            "expired",
            "no-cache",
            "no-store",
            "private",
            "no_last_modified",
            "no_etag",
            "auth",
            "any",
        ];
        let numbered: Vec<(&str, usize)> = choices.iter().enumerate().map(|(n, name)| (*name, n)).collect();
        match args.choice(index, &numbered)? {
            0 => proxied = Proxied::default(),
            1 => proxied.expired = true,
            2 => proxied.no_cache = true,
            3 => proxied.no_store = true,
            4 => proxied.private = true,
            5 => proxied.no_last_modified = true,
            6 => proxied.no_etag = true,
            7 => proxied.auth = true,
            _ => proxied.any = true,
        }
    }
    settings.encoding.gzip.proxied = proxied;
    Ok(())
}

fn gzip_http_version(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    settings.encoding.gzip.http_1_0 = args.choice(0, &[("1.0", true), ("1.1", false)])?;
    Ok(())
}

fn gzip_disable(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    let list = &mut settings.encoding.gzip.disable;
    args.start(list);
    for word in args.words() {
        list.push(match word.text.as_slice() {
            b"msie6" => GzipDisable::Msie6,
            // nginx: browsers are refused gzip when memory is short; it never is for this reason.
            b"degradation" => continue,
            _ => GzipDisable::Regex(word.to_text()),
        });
    }
    Ok(())
}

fn static_mode(args: &Arguments<'_>) -> Result<StaticMode, Diagnostic> {
    args.choice(0, &[("off", StaticMode::Off), ("on", StaticMode::On), ("always", StaticMode::Always)])
}

fn gzip_static(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    settings.encoding.gzip.static_files = static_mode(args)?;
    Ok(())
}

fn brotli_static(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    settings.encoding.brotli.static_files = static_mode(args)?;
    Ok(())
}

fn zstd_static(settings: &mut Settings, args: &mut Arguments<'_>) -> Done {
    settings.encoding.zstd.static_files = static_mode(args)?;
    Ok(())
}
