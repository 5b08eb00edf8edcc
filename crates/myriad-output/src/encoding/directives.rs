//! Directives of the gzip, brotli and zstd modules, and their parsers.

#![allow(clippy::unnecessary_wraps, reason = "setters share one signature")]

use myriad_conf::registry::{
    Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, add_types, at_least,
};
use myriad_conf::set;
use myriad_conf::settings::Settings;

use super::settings::{EncodingSettings, GzipDisable};
use myriad_exchange::runtime::GzipProxied;

const HSL: Contexts = Contexts::HSL;
const HSL_IF: Contexts = Contexts::HSL_IF;
const HIT: &str = "defines which codings are allowed; a page from the cache or a file is compressed once, not for each request";

pub(super) static GZIP: &[Directive] = &[
    Directive::new(
        "gzip",
        HSL_IF,
        FLAG,
        set!(Feature<EncodingSettings>.flag => gzip.on),
        "Enables gzip compression.",
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
        set!(Feature<EncodingSettings>.size => gzip.min_length),
        "Minimum length of compressed responses.",
    )
    .default("20"),
    Directive::new(
        "gzip_comp_level",
        HSL,
        ONE,
        Set::Settings(|s, a| {
            s.feature_mut::<EncodingSettings>().gzip.comp_level = a.within(0, 1, 9)?;
            Ok(())
        }),
        "Compression level of responses compressed while streaming.",
    )
    .default("1")
    .differs("stored pages are compressed at a fast level first and at the highest level in the background; complete \
         responses of up to 4 KB use level 1, those of up to 1,200 bytes the fixed codes of deflate"),
    Directive::new(
        "gzip_vary",
        HSL,
        FLAG,
        set!(Feature<EncodingSettings>.flag => gzip.vary),
        "Adds `Vary: Accept-Encoding`.",
    )
    .default("off"),
    Directive::new(
        "gzip_proxied",
        HSL,
        at_least(1),
        Set::Settings(gzip_proxied),
        "Selects the responses to proxies that are compressed.",
    )
    .repeats()
    .default("off"),
    Directive::new(
        "gzip_http_version",
        HSL,
        ONE,
        Set::Settings(gzip_http_version),
        "Minimum HTTP version for gzip.",
    )
    .default("1.1"),
    Directive::new(
        "gzip_disable",
        HSL,
        at_least(1),
        Set::Settings(gzip_disable),
        "Browsers that receive no gzip.",
    )
    .repeats(),
];

pub(super) static BROTLI: &[Directive] = &[
    Directive::new(
        "brotli",
        HSL_IF,
        FLAG,
        set!(Feature<EncodingSettings>.flag => Some brotli.on),
        "Enables Brotli compression.",
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
        set!(Feature<EncodingSettings>.size => brotli.min_length),
        "Minimum length of compressed responses.",
    )
    .default("20"),
    Directive::new(
        "brotli_comp_level",
        HSL,
        ONE,
        Set::Settings(|s, a| {
            s.feature_mut::<EncodingSettings>().brotli.comp_level = a.within(0, 0, 11)?;
            Ok(())
        }),
        "Compression level of responses compressed while streaming.",
    )
    .default("6"),
    Directive::new(
        "brotli_window",
        HSL,
        ONE,
        set!(Feature<EncodingSettings>.size => brotli.window),
        "Window size of the encoder.",
    )
    .default("512k")
    .no_effect("the encoder selects its window by the content"),
];

pub(super) static ZSTD: &[Directive] = &[
    Directive::new(
        "zstd",
        HSL_IF,
        FLAG,
        set!(Feature<EncodingSettings>.flag => Some zstd.on),
        "Enables Zstandard compression.",
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
        set!(Feature<EncodingSettings>.size => zstd.min_length),
        "Minimum length of compressed responses.",
    )
    .default("20"),
    Directive::new(
        "zstd_comp_level",
        HSL,
        ONE,
        Set::Settings(|s, a| {
            s.feature_mut::<EncodingSettings>().zstd.comp_level = a.within(0, 1, 22)?;
            Ok(())
        }),
        "Compression level of responses compressed while streaming.",
    )
    .default("1"),
];

fn gzip_types(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    add_types(&mut settings.feature_mut::<EncodingSettings>().gzip.types, args)
}

fn brotli_types(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    add_types(settings.feature_mut::<EncodingSettings>().brotli.types.get_or_insert_default(), args)
}

fn zstd_types(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    add_types(settings.feature_mut::<EncodingSettings>().zstd.types.get_or_insert_default(), args)
}

fn gzip_proxied(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let before = settings.feature_mut::<EncodingSettings>().gzip.proxied;
    let mut proxied = if args.first { GzipProxied::default() } else { before };
    // `off` excludes all other words, including those of later directives.
    let mut off = !args.first && before == GzipProxied::default();
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
            0 => off = true,
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
    settings.feature_mut::<EncodingSettings>().gzip.proxied =
        if off { GzipProxied::default() } else { proxied };
    Ok(())
}

fn gzip_http_version(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.feature_mut::<EncodingSettings>().gzip.http_1_0 =
        args.choice(0, &[("1.0", true), ("1.1", false)])?;
    Ok(())
}

fn gzip_disable(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let list = &mut settings.feature_mut::<EncodingSettings>().gzip.disable;
    args.start(list);
    for word in args.words() {
        list.push(match word.text.as_slice() {
            b"msie6" => GzipDisable::Msie6,
            // nginx disables gzip for some browsers if memory is short; this server never does.
            b"degradation" => continue,
            _ => GzipDisable::Regex(word.to_text()),
        });
    }
    Ok(())
}
