//! Directive table and parsing of `match` blocks.

use myriad_base::digits::decimal;
use myriad_conf::registry::{
    Arguments, Contexts, Directive, Set, SetterResult, at_least, block, pattern_of_match,
};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Node, Word};

use super::settings::{FieldTest, HealthCheckSettings, Match, MatchCondition, MatchSettings};

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "health_check",
        Contexts::LOCATION,
        at_least(0),
        Set::Settings(health_check),
        "Checks the servers of the location's group periodically, and sends no requests to unhealthy servers.",
    )
    .differs(
        "a group needs no `zone`; an unhealthy server stays unhealthy after a reload; `grpc_pass` supports only \
             `type=grpc`; `memcached_pass` is not supported",
    ),
    Directive::new(
        "match",
        Contexts::HTTP,
        block(1, 1),
        Set::Settings(matching),
        "Conditions that a response to a `health_check` must meet: `status`, `header`, `body`, `require`.",
    )
    .repeats(),
];

fn health_check(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let check = args.health_check(false)?;
    settings.feature_mut::<HealthCheckSettings>().check = Some(check);
    Ok(())
}

fn matching(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let name = args.name(0)?;
    let mut tests = Vec::new();
    for line in args.plain_lines(1)? {
        tests.push(test(line)?);
    }
    let blocks = &mut settings.feature_mut::<MatchSettings>().blocks;
    if let Some(other) = blocks.iter().find(|other| other.name == name) {
        let error = Diagnostic::error(args.node.span, format!("duplicate match \"{name}\""));
        return Err(error.related(other.span, "first defined here"));
    }
    blocks.push(Match { name, span: args.node.span, tests });
    Ok(())
}

fn test(line: &Node) -> Result<MatchCondition, Diagnostic> {
    match &*line.name.text {
        b"status" => status(line),
        b"header" => field(line),
        b"body" => {
            pattern_of_match(line, &line.args).map(|(fits, pattern)| MatchCondition::Body(fits, pattern))
        }
        b"require" => match line.args.iter().find(|word| !word.text.starts_with(b"$")) {
            Some(word) => Err(Diagnostic::error(
                word.span,
                "parameters of \"require\" must be variables, written with $",
            )),
            None => Ok(MatchCondition::Required(line.args.iter().map(Word::to_text).collect())),
        },
        other => {
            let message = format!("unknown \"{}\" in \"match\"", other.escape_ascii());
            Err(Diagnostic::error(line.name.span, message).help("use status, header, body or require"))
        }
    }
}

/// Parses the arguments of `status 200-399 418` or `status ! 500` in a `match` block: at least one status or range,
/// from 100 to 999.
fn status(line: &Node) -> Result<MatchCondition, Diagnostic> {
    let (is_wanted, words) = match &line.args[..] {
        [sign, words @ ..] if sign.text == b"!" => (false, words),
        words => (true, words),
    };
    let range = |word: &Word| {
        let text = std::str::from_utf8(&word.text).ok()?;
        let (low, high) = text.split_once('-').unwrap_or((text, text));
        let status = |text: &str| decimal::<u16>(text).filter(|status| (100..=999).contains(status));
        let (low, high) = (status(low)?, status(high)?);
        (low <= high).then_some((low, high))
    };
    let mut ranges = Vec::new();
    for word in words {
        ranges.push(range(word).ok_or_else(|| {
            Diagnostic::error(word.span, "expected a status or a range of statuses, such as 200 or 200-399")
        })?);
    }
    if ranges.is_empty() {
        return Err(Diagnostic::error(line.span, "\"status\" requires at least one status"));
    }
    Ok(MatchCondition::Status(is_wanted, ranges))
}

/// Parses the arguments in a `match` block of `header NAME`, `header ! NAME`, `header NAME = VALUE`, and the third form
/// with `!=`, `~` or `!~` instead of `=`.
fn field(line: &Node) -> Result<MatchCondition, Diagnostic> {
    let (name, test) = match &line.args[..] {
        [sign, name] if sign.text == b"!" => (name, FieldTest::Present(false)),
        [name] => (name, FieldTest::Present(true)),
        [name, sign, value] if sign.text == b"=" => (name, FieldTest::Equals(true, value.to_text())),
        [name, sign, value] if sign.text == b"!=" => (name, FieldTest::Equals(false, value.to_text())),
        [name, rest @ ..] => {
            let (fits, pattern) = pattern_of_match(line, rest)
                .map_err(|error| error.help("or write = VALUE, != VALUE, or only the name"))?;
            (name, FieldTest::Fits(fits, pattern))
        }
        [] => return Err(Diagnostic::error(line.span, "\"header\" requires the name of a header field")),
    };
    Ok(MatchCondition::Field(name.to_text(), test))
}
