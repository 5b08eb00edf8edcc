//! Directives of the charset module, and their parsers.

use myriad_conf::registry::{
    Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, add_types, at_least, block,
};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Node, Word, set};

use super::settings::{CharsetMapConf, CharsetMaps, CharsetSettings};

const HSL: Contexts = Contexts::HSL;
const HSL_IF: Contexts = Contexts::HSL_IF;
/// Maximum length of a UTF-8 character in a table, in bytes: tables contain characters up to U+FFFF.
const LONGEST_CHARACTER: usize = 3;

/// Directives of `charset`.
pub static ROWS: &[Directive] = &[
    Directive::new("charset", HSL_IF, ONE, Set::Settings(charset), "Charset added to the media type.")
        .default("off"),
    Directive::new(
        "source_charset",
        HSL_IF,
        ONE,
        set!(Feature<CharsetSettings>.text => Some source),
        "Charset of the original responses.",
    ),
    Directive::new(
        "charset_types",
        HSL,
        at_least(1),
        Set::Settings(charset_types),
        "Media types to which the charset is added.",
    )
    .default("text/html text/xml text/plain text/vnd.wap.wml application/javascript application/rss+xml")
    .repeats(),
    Directive::new(
        "override_charset",
        HSL_IF,
        FLAG,
        set!(Feature<CharsetSettings>.flag => override_named),
        "Also converts responses whose charset the origin specifies.",
    )
    .default("off"),
    Directive::new(
        "charset_map",
        Contexts::HTTP,
        block(2, 2),
        Set::Settings(charset_map),
        "Defines the conversion of one charset to another.",
    )
    .repeats(),
];

fn charset(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    settings.feature_mut::<CharsetSettings>().name =
        if args.bytes(0) == b"off" { None } else { Some(args.text(0)?) };
    Ok(())
}

fn charset_types(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    add_types(&mut settings.feature_mut::<CharsetSettings>().types, args)
}

fn charset_map(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut map =
        CharsetMapConf { from: args.name(0)?, to: args.name(1)?, pairs: Vec::new(), span: args.node.span };
    let same = |a: &str, b: &str| a.eq_ignore_ascii_case(b);
    if same(&map.from, &map.to) {
        return Err(args.error(1, format!("\"charset_map\" between the same charsets \"{}\"", map.to)));
    }
    if same(&map.from, "utf-8") {
        let message = "\"charset_map\" with \"utf-8\" charset should be given in the second column";
        return Err(args.error(0, message));
    }
    let maps = &mut settings.feature_mut::<CharsetMaps>().0;
    let twin = maps.iter().find(|other| {
        same(&other.from, &map.from) && same(&other.to, &map.to)
            || same(&other.from, &map.to) && same(&other.to, &map.from)
    });
    if let Some(twin) = twin {
        let message = format!("duplicate \"charset_map\" between \"{}\" and \"{}\"", map.from, map.to);
        return Err(args.error(0, message).related(twin.span, "first defined here"));
    }
    for line in args.node.block.as_deref().unwrap_or_default() {
        let pair = pair(line, map.is_to_utf8())?;
        map.pairs.push(pair);
    }
    maps.push(map);
    Ok(())
}

fn pair(line: &Node, is_to_utf8: bool) -> Result<(u8, Vec<u8>), Diagnostic> {
    let [to] = line.args.as_slice() else {
        return Err(Diagnostic::error(line.span, "invalid number of the charset_map parameters")
            .help("each line is a byte in hexadecimal, its replacement, and `;`"));
    };
    let from = hexadecimal(&line.name, 1)?[0];
    let bytes = hexadecimal(to, if is_to_utf8 { LONGEST_CHARACTER } else { 1 })?;
    if is_to_utf8 && std::str::from_utf8(&bytes).map_or(0, |text| text.chars().count()) != 1 {
        return Err(Diagnostic::error(to.span, format!("\"{}\" is not a UTF-8 character", shown(to))));
    }
    Ok((from, bytes))
}

/// Parses a word of one to `most` bytes in hexadecimal, as in the lines of `charset_map`.
fn hexadecimal(word: &Word, most: usize) -> Result<Vec<u8>, Diagnostic> {
    let digit = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    // A single digit denotes a byte too.
    let padded = if word.text.len() == 1 { [b"0", &word.text[..]].concat() } else { word.text.clone() };
    let bytes: Option<Vec<u8>> = padded
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect();
    bytes.filter(|bytes| (1..=most).contains(&bytes.len())).ok_or_else(|| {
        Diagnostic::error(word.span, format!("invalid value \"{}\" in \"charset_map\"", shown(word)))
            .help(format!("it must be 1 to {most} bytes in hexadecimal"))
    })
}

fn shown(word: &Word) -> String {
    String::from_utf8_lossy(&word.text).into_owned()
}
