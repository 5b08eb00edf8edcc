//! Expressions of the SSI commands `if` and `elif`: `$a`, `$a = text`, `$a != text`, `$a = /pattern/`.

use crate::ssi::shared::{PageEnvironment, SsiState};
use crate::ssi::text::evaluate;

/// Returns whether the expression of an SSI `if` is true; without an operator, whether its value is not empty. A
/// matching pattern sets captures. The error is a text for the error log.
pub(crate) fn holds(
    expression: &[u8],
    shared: &mut SsiState,
    around: &mut dyn PageEnvironment,
    time_format: &[u8],
) -> Result<bool, String> {
    let (left, rest) = split_left(expression);
    let left = evaluate(&left, shared, around, time_format)?;
    if rest.is_empty() {
        return Ok(!left.is_empty());
    }
    let (rest, negated) = match (rest.strip_prefix(b"="), rest.strip_prefix(b"!=")) {
        (Some(rest), _) => (rest, false),
        (None, Some(rest)) => (rest, true),
        (None, None) => return Err(invalid(expression)),
    };
    let right = without_spaces(rest);
    let held = match right {
        [b'/', _, ..] => {
            let pattern = right[1..].strip_suffix(b"/").ok_or_else(|| invalid(expression))?;
            let pattern = evaluate(pattern, shared, around, time_format)?;
            matches(&pattern, &left, shared, around)?
        }
        // A backslash before a slash makes the slash literal, not the start of a pattern.
        [b'\\', b'/', ..] => evaluate(&right[1..], shared, around, time_format)? == left,
        _ => evaluate(right, shared, around, time_format)? == left,
    };
    Ok(held != negated)
}

fn matches(
    pattern: &[u8],
    subject: &[u8],
    shared: &mut SsiState,
    around: &mut dyn PageEnvironment,
) -> Result<bool, String> {
    let Some(groups) = around.search(pattern, subject)? else { return Ok(false) };
    shared.capture(&groups, subject).map_err(|_| "no room for the captures of a pattern".to_owned())?;
    Ok(true)
}

/// Splits an expression into its left side, in lower case as in nginx, and the rest without leading spaces.
fn split_left(expression: &[u8]) -> (Vec<u8>, &[u8]) {
    let belongs =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'$' | b'{' | b'}' | b'_' | b'"' | b'\'');
    let end = expression.iter().position(|byte| !belongs(byte)).unwrap_or(expression.len());
    let (left, rest) = expression.split_at(end);
    (left.to_ascii_lowercase(), without_spaces(rest))
}

fn without_spaces(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| *byte != b' ').unwrap_or(text.len());
    &text[start..]
}

fn invalid(expression: &[u8]) -> String {
    format!("invalid expression in \"{}\"", String::from_utf8_lossy(expression))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssi::page::tests::FakeRequest;

    fn judged(expression: &str) -> Result<bool, String> {
        let mut shared = SsiState::default();
        shared.set(b"a", b"one");
        shared.set(b"empty", b"");
        holds(expression.as_bytes(), &mut shared, &mut FakeRequest::default(), b"")
    }

    #[test]
    fn a_value_alone_holds_unless_it_is_empty() {
        assert_eq!(judged("$a"), Ok(true));
        assert_eq!(judged("$A"), Ok(true));
        assert_eq!(judged("${a}"), Ok(true));
        assert_eq!(judged("$empty"), Ok(false));
        assert_eq!(judged("$none "), Ok(false));
        assert_eq!(judged(""), Ok(false));
    }

    #[test]
    fn texts_are_compared() {
        assert_eq!(judged("$a = one"), Ok(true));
        assert_eq!(judged("$a=two"), Ok(false));
        assert_eq!(judged("$a != two"), Ok(true));
        assert_eq!(judged("$a = $a"), Ok(true));
        assert_eq!(judged("$none = "), Ok(true));
        assert_eq!(judged(r"$a = \/one"), Ok(false));
        assert_eq!(judged("$a = /"), Ok(false));
    }

    #[test]
    fn what_is_no_expression_is_an_error() {
        for expression in ["$a one", "$a ! one", "$a = /one", "= one $", "$"] {
            assert!(judged(expression).is_err(), "{expression}");
        }
    }

    #[test]
    fn patterns_are_looked_for_and_capture() {
        let mut shared = SsiState::default();
        shared.set(b"a", b"one");
        let mut request = FakeRequest::default();
        assert_eq!(holds(b"$a = /ne/", &mut shared, &mut request, b""), Ok(true));
        assert_eq!(shared.get(b"0"), Some(&b"ne"[..]));
        assert_eq!(shared.get(b"found"), Some(&b"ne"[..]));
        assert_eq!(holds(b"$a != /xx/", &mut shared, &mut request, b""), Ok(true));
        assert!(holds(b"$a = /(/", &mut shared, &mut request, b"").is_err());
    }
}
