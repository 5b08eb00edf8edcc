//! Directives of the userid module, and their parsers.

use myriad_conf::registry::{Arguments, Contexts, Directive, ONE, Set, SetterResult, at_least};
use myriad_conf::settings::Settings;

use super::settings::{CookieExpiry, UseridMode, UseridSettings};

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "userid",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            let choices = [
                ("on", UseridMode::SecondVersion),
                ("v1", UseridMode::FirstVersion),
                ("log", UseridMode::Nothing),
                ("off", UseridMode::Off),
            ];
            userid_settings(settings).mode = args.choice(0, &choices)?;
            Ok(())
        }),
        "Sets a cookie with a unique ID for each visitor (`on`, `v1` as mod_uid), or only reads it for logs (`log`).",
    )
    .default("off"),
    Directive::new(
        "userid_service",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            let number = args.number(0)?;
            let number = u32::try_from(number).map_err(|_| args.invalid(0, "a 32-bit number"))?;
            userid_settings(settings).service = Some(number);
            Ok(())
        }),
        "First part of the IDs, which identifies the server. Default: the server's address (0 with `v1`).",
    ),
    Directive::new(
        "userid_name",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            let name = args.bytes(0);
            if name.is_empty() || !name.iter().copied().all(is_of_a_name) {
                return Err(args.invalid(0, "a cookie's name"));
            }
            userid_settings(settings).name = Some(name.to_vec());
            Ok(())
        }),
        "Name of the cookie.",
    )
    .default("uid"),
    Directive::new(
        "userid_domain",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            userid_settings(settings).domain = attribute(args)?.filter(|domain| *domain != b"none").map(<[u8]>::to_vec);
            Ok(())
        }),
        "`Domain` attribute of the cookie.",
    )
    .default("none"),
    Directive::new(
        "userid_path",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            userid_settings(settings).path = attribute(args)?.map(<[u8]>::to_vec);
            Ok(())
        }),
        "`Path` attribute of the cookie.",
    )
    .default("/"),
    Directive::new(
        "userid_expires",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            userid_settings(settings).expires = match args.bytes(0) {
                b"max" => CookieExpiry::Max,
                b"off" => CookieExpiry::Session,
                _ => match args.millis(0)? / 1000 {
                    0 => CookieExpiry::Session,
                    seconds => CookieExpiry::Seconds(seconds),
                },
            };
            Ok(())
        }),
        "Expiry of the cookie: a time, `max` (end of 2037) or `off` (end of the session).",
    )
    .default("off"),
    Directive::new(
        "userid_flags",
        Contexts::HSL,
        at_least(1),
        Set::Settings(flags),
        "Attributes of the cookie: `secure`, `httponly`, `samesite=strict`, `samesite=lax` or `samesite=none`; `off`.",
    )
    .default("off"),
    Directive::new(
        "userid_p3p",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            userid_settings(settings).p3p = line(args)?.filter(|value| *value != b"none").map(<[u8]>::to_vec);
            Ok(())
        }),
        "Value of the header `P3P` that is sent with the cookie.",
    )
    .default("none"),
    Directive::new(
        "userid_mark",
        Contexts::HSL,
        ONE,
        Set::Settings(|settings, args| {
            userid_settings(settings).mark = match args.bytes(0) {
                b"off" => None,
                [mark] if mark.is_ascii_alphanumeric() || *mark == b'=' => Some(*mark),
                _ => return Err(args.invalid(0, "\"off\", or a single letter, digit or \"=\"")),
            };
            Ok(())
        }),
        "A letter, digit or `=` at the end of the cookie: a cookie without it is sent again, with the same ID.",
    )
    .default("off"),
];

fn userid_settings(settings: &mut Settings) -> &mut UseridSettings {
    settings.feature_mut()
}

/// Returns whether a byte may be part of a token (RFC 9110 section 5.6.2).
fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Parses a value for a header line, without control characters; `None` if it is empty.
fn line<'a>(args: &Arguments<'a>) -> Result<Option<&'a [u8]>, myriad_conf::Diagnostic> {
    let value = args.bytes(0);
    if value.iter().any(u8::is_ascii_control) {
        return Err(args.invalid(0, "a text without control characters"));
    }
    Ok((!value.is_empty()).then_some(value))
}

/// Parses a value for a cookie attribute, also without `;`; `None` if it is empty.
fn attribute<'a>(args: &Arguments<'a>) -> Result<Option<&'a [u8]>, myriad_conf::Diagnostic> {
    if args.bytes(0).contains(&b';') {
        return Err(args.invalid(0, "a text without \";\", which terminates an attribute of a cookie"));
    }
    line(args)
}

fn flags(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let (mut secure, mut httponly, mut same_site) = ("", "", "");
    for index in 0..args.len() {
        match args.bytes(index) {
            b"off" if args.len() == 1 => {}
            b"secure" => secure = "; secure",
            b"httponly" => httponly = "; httponly",
            b"samesite=strict" => same_site = "; samesite=strict",
            b"samesite=lax" => same_site = "; samesite=lax",
            b"samesite=none" => same_site = "; samesite=none",
            _ => {
                let must_be = "\"secure\", \"httponly\", \"samesite=strict\", \"samesite=lax\", \"samesite=none\", or \"off\" alone";
                return Err(args.invalid(index, must_be));
            }
        }
    }
    userid_settings(settings).flags = [secure, httponly, same_site].concat();
    Ok(())
}
