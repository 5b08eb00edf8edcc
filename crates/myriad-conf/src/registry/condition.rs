//! Parser for conditions of `if`.

use crate::{
    diagnostic::Diagnostic,
    model::{ConditionConf, FileTest, StringTest},
    parsed::Node,
    span::Span,
    text::Text,
};

/// Parses the arguments of an `if` directive, which the lexer has split at spaces. Returns an error if they are not a
/// condition in parentheses.
pub(crate) fn parse_condition(node: &Node) -> Result<ConditionConf, Diagnostic> {
    let invalid = |span: Span| {
        Diagnostic::error(span, "invalid condition").help(
            "write ($variable), ($variable = text), ($variable ~ regex) or (-f path), with `!` to negate",
        )
    };
    let mut words: Vec<Text> = node.args.iter().map(crate::parsed::Word::to_text).collect();
    strip_parentheses(&mut words).ok_or_else(|| invalid(node.span))?;
    let first = words.first().ok_or_else(|| invalid(node.span))?.clone();
    if let Some(name) = first.value.strip_prefix(b"$").filter(|name| !name.is_empty()) {
        let variable = Text::new(name, first.span);
        return variable_condition(variable, &words[1..], invalid);
    }
    let Some((test, negated)) = file_test(&first.value) else {
        return Err(invalid(first.span));
    };
    match &words[1..] {
        [path] => Ok(ConditionConf::Test { test, negated, path: path.clone() }),
        _ => Err(invalid(node.span)),
    }
}

/// Removes `(` from the first word and `)` from the last word of a condition, and drops words that become empty; `None`
/// if a parenthesis is missing.
fn strip_parentheses(words: &mut Vec<Text>) -> Option<()> {
    let first = words.first_mut()?;
    first.value.strip_prefix(b"(")?;
    first.value.remove(0);
    if first.is_empty() {
        words.remove(0);
    }
    let last = words.last_mut()?;
    last.value.strip_suffix(b")")?;
    last.value.pop();
    if last.is_empty() {
        words.pop();
    }
    Some(())
}

fn variable_condition(
    variable: Text,
    rest: &[Text],
    invalid: impl Fn(Span) -> Diagnostic,
) -> Result<ConditionConf, Diagnostic> {
    let Some(operator) = rest.first() else {
        return Ok(ConditionConf::True(variable));
    };
    let compare = |test, variable, value| ConditionConf::Compare { variable, test, value };
    let matches =
        |caseless, negated, variable, pattern| ConditionConf::Match { variable, pattern, caseless, negated };
    let operand = match rest {
        [_, operand] => operand.clone(),
        _ => return Err(invalid(rest[rest.len() - 1].span)),
    };
    match operator.value.as_slice() {
        b"=" => Ok(compare(StringTest::Equal, variable, operand)),
        b"!=" => Ok(compare(StringTest::NotEqual, variable, operand)),
        b"~" => Ok(matches(false, false, variable, operand)),
        b"~*" => Ok(matches(true, false, variable, operand)),
        b"!~" => Ok(matches(false, true, variable, operand)),
        b"!~*" => Ok(matches(true, true, variable, operand)),
        b"==" => {
            Err(Diagnostic::error(operator.span, "unexpected \"==\" in condition").help("write a single `=`"))
        }
        _ => {
            Err(Diagnostic::error(operator.span, format!("unexpected \"{}\" in condition", operator.lossy()))
                .help("the operators are =, !=, ~, ~*, !~ and !~*"))
        }
    }
}

fn file_test(word: &[u8]) -> Option<(FileTest, bool)> {
    let (negated, word) = match word {
        [b'!', rest @ ..] => (true, rest),
        _ => (false, word),
    };
    let test = match word {
        b"-f" => FileTest::File,
        b"-d" => FileTest::Directory,
        b"-e" => FileTest::Exists,
        b"-x" => FileTest::Executable,
        _ => return None,
    };
    Some((test, negated))
}
