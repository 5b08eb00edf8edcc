//! Directives of health checks in `stream`, and parsing of `match` blocks.

use myriad_conf::registry::{
    Arguments, Contexts, Directive, ONE, Set, SetterResult, at_least, block, pattern_of_match,
};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Node, set};

use super::{CheckSettings, ExpectSetting, MatchBlock};

/// Rows of the directives for health checks in `stream`.
pub(crate) static ROWS: &[Directive] = &[
    Directive::new(
        "health_check",
        Contexts::STREAM_SERVER,
        at_least(0),
        Set::Settings(health_check),
        "Checks the servers of the group periodically, and sends no connections to unhealthy servers.",
    )
    .differs("a group needs no `zone`; an unhealthy server stays unhealthy after a reload"),
    Directive::new(
        "health_check_timeout",
        Contexts::STREAM_LEVELS,
        ONE,
        set!(Feature<CheckSettings>.millis => timeout),
        "Timeout for a health check.",
    )
    .default("5s"),
    Directive::new(
        "match",
        Contexts::STREAM,
        block(1, 1),
        Set::Settings(match_block),
        "Data that a `health_check` sends (`send`) and the response that it expects (`expect`).",
    )
    .repeats(),
];

fn health_check(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let check = args.health_check(true)?;
    settings.feature_mut::<CheckSettings>().check = Some(check);
    Ok(())
}

fn match_block(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let name = args.name(0)?;
    let mut block = MatchBlock { name, span: args.node.span, send: Vec::new(), expect: None };
    for line in args.plain_lines(1)? {
        match (&*line.name.text, &line.args[..]) {
            (b"send", [text]) => block.send = decode_escapes(&text.text),
            (b"expect", [text]) if text.text != b"~" => {
                block.expect = Some(ExpectSetting::Bytes(decode_escapes(&text.text)));
            }
            (b"expect", words) => block.expect = Some(parse_expect(line, words)?),
            (other, _) => {
                let message = format!("unknown \"{}\" in \"match\"", other.escape_ascii());
                return Err(Diagnostic::error(line.name.span, message)
                    .help("use send \"TEXT\"; or expect \"TEXT\"; or expect ~ \"PATTERN\";"));
            }
        }
    }
    let blocks = &mut settings.feature_mut::<CheckSettings>().blocks;
    if let Some(other) = blocks.iter().find(|other| other.name == block.name) {
        let error = Diagnostic::error(args.node.span, format!("duplicate match \"{}\"", block.name));
        return Err(error.related(other.span, "first defined here"));
    }
    blocks.push(block);
    Ok(())
}

fn parse_expect(line: &Node, words: &[myriad_conf::Word]) -> Result<ExpectSetting, Diagnostic> {
    match pattern_of_match(line, words)? {
        (true, pattern) => Ok(ExpectSetting::Fits(pattern)),
        (false, _) => Err(Diagnostic::error(line.span, "\"expect\" does not support \"!~\"")),
    }
}

/// Replaces each `\xHH` in a text by the byte of that hexadecimal value, as NGINX Plus does.
fn decode_escapes(text: &[u8]) -> Vec<u8> {
    let digit =
        |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16)).map(|digit| digit as u8);
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let escaped = match (text.get(at..at + 2), digit(text.get(at + 2)), digit(text.get(at + 3))) {
            (Some(b"\\x"), Some(high), Some(low)) => Some(high << 4 | low),
            _ => None,
        };
        out.push(escaped.unwrap_or(text[at]));
        at += if escaped.is_some() { 4 } else { 1 };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::decode_escapes;

    #[test]
    fn any_byte_can_be_written_by_its_digits() {
        assert_eq!(decode_escapes(b"a\\x00\\xfFb"), b"a\0\xffb");
        assert_eq!(decode_escapes(b"\\x0 \\xzz \\"), b"\\x0 \\xzz \\");
    }
}
