//! Directives of nginx's modules set-misc and devel kit: `set_*` and `upstream_list`.

use myriad_conf::model::{MakeFunction, RewriteStep};
use myriad_conf::registry::{
    Arguments, Arity, Contexts, Directive, FLAG, ONE, Set, SetterResult, TWO, at_least, between, call,
    exactly,
};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text};
use myriad_script::functions::upstream_list::{UpstreamList, hashed};
use myriad_script::functions::{Function, coding, dates, digest, escape, quote, random, rotate};

use super::settings::{Base32Settings, UpstreamListSettings};

const EVERYWHERE: Contexts = Contexts::HSL_IF.or(Contexts::SERVER_IF);

type StepResult = Result<RewriteStep, Diagnostic>;

/// Creates the registration of a `set_*` directive that runs as a rewrite step and may be repeated in a block.
const fn step(
    name: &'static str,
    arity: Arity,
    set: fn(&mut Arguments<'_>) -> StepResult,
    doc: &'static str,
) -> Directive {
    Directive::new(name, Contexts::HTTP.or(Contexts::REWRITE), arity, Set::Rewrite(set), doc).repeats()
}

/// Returns a rewrite step that sets the variable (first argument) to the function's result for the second argument, or
/// without it for the variable's own value.
fn unary_step(args: &mut Arguments<'_>, function: MakeFunction) -> StepResult {
    call(args, usize::from(args.len() > 1), function)
}

pub(super) static ROWS: &[Directive] = &[
    step(
        "set_if_empty",
        TWO,
        |args| call(args, 0, |_, _| Ok(first_non_empty())),
        "Sets a variable to a value if it is empty.",
    ),
    step(
        "set_escape_uri",
        between(1, 2),
        |args| unary_step(args, |_, _| Ok(Function::of_any(escape::escape_uri))),
        "Escapes a URI component.",
    ),
    step(
        "set_unescape_uri",
        between(1, 2),
        |args| unary_step(args, |_, _| Ok(Function::of_any(escape::unescape_uri))),
        "Unescapes a URI component.",
    ),
    step(
        "set_quote_sql_str",
        between(1, 2),
        |args| unary_step(args, |_, _| Ok(Function::of_any(quote::sql))),
        "Quotes a text as a MySQL string.",
    ),
    step(
        "set_quote_pgsql_str",
        between(1, 2),
        |args| unary_step(args, |_, _| Ok(Function::of_any(quote::pgsql))),
        "Quotes a text as a PostgreSQL string.",
    ),
    step(
        "set_quote_json_str",
        between(1, 2),
        |args| unary_step(args, |_, _| Ok(Function::of_any(quote::json))),
        "Quotes a text as a JSON string.",
    ),
    step(
        "set_encode_hex",
        between(1, 2),
        |args| unary_step(args, |_, _| Ok(Function::of_any(coding::encode_hex))),
        "Encodes a text in hexadecimal.",
    ),
    step(
        "set_decode_hex",
        between(1, 2),
        |args| unary_step(args, |_, _| Ok(Function::of(coding::decode_hex))),
        "Decodes hexadecimal; an invalid text results in 500.",
    ),
    step(
        "set_encode_base64",
        between(1, 2),
        |args| unary_step(args, |_, _| Ok(Function::of_any(coding::encode_base64))),
        "Encodes a text in base64.",
    ),
    step(
        "set_decode_base64",
        between(1, 2),
        |args| unary_step(args, |_, _| Ok(Function::of(coding::decode_base64))),
        "Decodes base64; an invalid text results in 500.",
    ),
    step(
        "set_encode_base64url",
        between(1, 2),
        |args| unary_step(args, |_, _| Ok(Function::of_any(coding::encode_base64url))),
        "Encodes a text in base64url without padding.",
    ),
    step(
        "set_decode_base64url",
        between(1, 2),
        |args| unary_step(args, |_, _| Ok(Function::of(coding::decode_base64url))),
        "Decodes base64url; an invalid text results in 500.",
    ),
    step(
        "set_encode_base32",
        between(1, 2),
        |args| unary_step(args, |settings, _| Ok(settings.feature::<Base32Settings>().0.clone().encoder())),
        "Encodes a text in base32.",
    ),
    step(
        "set_decode_base32",
        between(1, 2),
        |args| unary_step(args, |settings, _| Ok(settings.feature::<Base32Settings>().0.clone().decoder())),
        "Decodes base32; an invalid text results in an empty value.",
    ),
    Directive::new(
        "set_base32_alphabet",
        EVERYWHERE,
        ONE,
        Set::Settings(base32_alphabet),
        "Alphabet of base32, 32 bytes.",
    )
    .default("0123456789abcdefghijklmnopqrstuv"),
    Directive::new(
        "set_base32_padding",
        EVERYWHERE,
        FLAG,
        Set::Settings(base32_padding),
        "Pads base32 with `=`.",
    )
    .default("on"),
    Directive::new(
        "set_misc_base32_padding",
        EVERYWHERE,
        FLAG,
        Set::Settings(base32_padding),
        "Former name of `set_base32_padding`.",
    )
    .default("on"),
    step(
        "set_md5",
        between(1, 2),
        |args| unary_step(args, |_, _| Ok(Function::of_any(digest::md5))),
        "Computes the MD5 digest of a text, in hexadecimal.",
    ),
    step(
        "set_sha1",
        between(1, 2),
        |args| unary_step(args, |_, _| Ok(Function::of_any(digest::sha1))),
        "Computes the SHA-1 digest of a text, in hexadecimal.",
    ),
    step(
        "set_hmac_sha1",
        exactly(3),
        |args| call(args, 1, |_, _| Ok(Function::of(digest::hmac_sha1))),
        "Computes the HMAC-SHA1 of a text with a key, as bytes.",
    ),
    step(
        "set_hmac_sha256",
        exactly(3),
        |args| call(args, 1, |_, _| Ok(Function::of(digest::hmac_sha256))),
        "Computes the HMAC-SHA256 of a text with a key, as bytes.",
    ),
    step(
        "set_random",
        exactly(3),
        |args| call(args, 1, |_, _| Ok(Function::of_varying(random::between))),
        "Generates a random number between two numbers.",
    ),
    step(
        "set_secure_random_alphanum",
        TWO,
        |args| call(args, 1, |_, _| Ok(Function::of_varying(random::letters_and_digits))),
        "Generates random letters and digits, at most 64.",
    ),
    step(
        "set_secure_random_lcalpha",
        TWO,
        |args| call(args, 1, |_, _| Ok(Function::of_varying(random::small_letters))),
        "Generates random lower-case letters, at most 64.",
    ),
    step(
        "set_rotate",
        exactly(3),
        |args| call(args, 0, |_, _| Ok(rotate::rotate())),
        "Counts a variable up between two numbers, then restarts.",
    )
    .differs("the latest number is stored per directive instead of per location, and shared by all workers"),
    step(
        "set_local_today",
        ONE,
        |args| call(args, 1, |_, _| Ok(Function::of_varying(dates::local_today))),
        "Current date, such as `2026-11-23`.",
    ),
    step(
        "set_formatted_gmt_time",
        TWO,
        |args| call(args, 1, |_, _| Ok(Function::of_varying(dates::gmt))),
        "Current time in UTC in `strftime` format, at most 255 bytes.",
    ),
    step(
        "set_formatted_local_time",
        TWO,
        |args| call(args, 1, |_, _| Ok(Function::of_varying(dates::local))),
        "Current local time in `strftime` format, at most 255 bytes.",
    ),
    Directive::new(
        "upstream_list",
        Contexts::HTTP_SERVER,
        at_least(2),
        Set::Settings(upstream_list),
        "Names of upstreams for `set_hashed_upstream`, optionally with a weight (`2:name`).",
    )
    .repeats()
    .differs("a list declared in a server is valid only in that server"),
    step(
        "set_hashed_upstream",
        exactly(3),
        |args| call(args, 1, hashed_list_function),
        "Selects a name of an `upstream_list` by the hash of a text.",
    ),
];

fn first_non_empty() -> Function {
    Function::of(|texts, out| {
        out.extend_from_slice(texts.iter().find(|text| !text.is_empty()).copied().unwrap_or_default());
        Ok(())
    })
}

fn base32_padding(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.feature_mut::<Base32Settings>().0.padding = args.flag(0)?;
    Ok(())
}

fn base32_alphabet(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let alphabet: [u8; 32] = args.bytes(0).try_into().map_err(|_| {
        let length = args.bytes(0).len();
        args.error(0, format!("\"set_base32_alphabet\" takes an alphabet of {length} bytes but 32 expected"))
    })?;
    let twice = alphabet.iter().enumerate().find(|(index, byte)| alphabet[..*index].contains(byte));
    if let Some((_, byte)) = twice {
        let byte = byte.escape_ascii();
        return Err(
            args.error(0, format!("\"{byte}\" occurs twice in the alphabet of \"set_base32_alphabet\""))
        );
    }
    if alphabet.contains(&b'=') {
        return Err(
            args.error(0, "\"=\" is the padding and must not be in the alphabet of \"set_base32_alphabet\"")
        );
    }
    settings.feature_mut::<Base32Settings>().0.alphabet = alphabet;
    Ok(())
}

fn upstream_list(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let words: Vec<_> = (0..args.len()).map(|index| args.bytes(index)).collect();
    let list = UpstreamList::read(&words).map_err(|(index, wrong)| args.error(index, wrong))?;
    let lists = &mut settings.feature_mut::<UpstreamListSettings>().0;
    if lists.iter().any(|list| list.is_named(words[0])) {
        return Err(args.error(0, format!("duplicate upstream list name \"{}\"", words[0].escape_ascii())));
    }
    lists.push(list);
    Ok(())
}

/// Returns the function of `set_hashed_upstream`. Reports an error if the name of the list has no variables and no such
/// list is defined.
fn hashed_list_function(settings: &Settings, arguments: &[Text]) -> Result<Function, Diagnostic> {
    let lists = &settings.feature::<UpstreamListSettings>().0;
    if let Some(name) = arguments.first().filter(|name| !name.has_variables())
        && !lists.iter().any(|list| list.is_named(name.bytes()))
    {
        let shown = name.lossy();
        let message = format!("upstream list \"{shown}\" is not defined");
        return Err(
            Diagnostic::error(name.span, message).help(format!("write upstream_list {shown} NAME NAME;"))
        );
    }
    Ok(hashed(lists.clone()))
}
