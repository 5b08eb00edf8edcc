//! Compilation and evaluation of the conditions of `if`.

use crate::environment::{Catalogue, Environment, FileTest};
use crate::error::{EvalError, ScriptError};
use crate::frame::Frame;
use crate::names::NameResolver;
use crate::predicate::is_true;
use crate::regex::Regex;
use crate::template::parse::{parse, whole};
use crate::template::{CaptureForm, Template};

#[cfg(test)]
mod tests;

/// Compiled condition of `if`.
#[derive(Debug)]
pub struct CompiledCondition {
    test: ConditionTest,
    negated: bool,
}

#[derive(Debug)]
enum ConditionTest {
    True(Template),
    Equal { subject: Template, text: Template },
    Match { subject: Template, regex: Box<Regex> },
    File { kind: FileTest, path: Template },
}

impl CompiledCondition {
    pub(crate) fn compile<C: Catalogue>(
        words: &[&str],
        names: &mut NameResolver<C>,
    ) -> Result<CompiledCondition, ScriptError> {
        let words = without_brackets(words)?;
        let (Some(&first), rest) = (words.first(), words.get(1..).unwrap_or_default()) else {
            return Err(invalid(""));
        };
        if first.len() > 1 && first.starts_with('$') {
            return compare(first, rest, names);
        }
        let (kind, negated) = match first.strip_prefix('!') {
            Some(kind) => (kind, true),
            None => (first, false),
        };
        let kind = match kind {
            "-f" => FileTest::File,
            "-d" => FileTest::Directory,
            "-e" => FileTest::Exists,
            "-x" => FileTest::Executable,
            _ => return Err(invalid(first)),
        };
        let [path] = rest else {
            return Err(invalid(rest.last().unwrap_or(&first)));
        };
        let test = ConditionTest::File { kind, path: parse(path, names)? };
        Ok(CompiledCondition { test, negated })
    }

    /// Returns whether the condition is true for a request. A regex that matches replaces the captures of the frame (a
    /// regex without groups only clears them); a regex that does not match clears them.
    pub fn holds<E: Environment + ?Sized>(&self, env: &E, frame: &mut Frame) -> Result<bool, EvalError> {
        self.holds_form(env, frame, CaptureForm::Raw)
    }

    #[inline]
    pub(crate) fn holds_form<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        form: CaptureForm,
    ) -> Result<bool, EvalError> {
        let held = match &self.test {
            ConditionTest::True(subject) => {
                subject.with_value(env, frame, form, |_, value| Ok(is_true(value)))?
            }
            ConditionTest::Equal { subject, text } => equal(subject, text, env, frame, form)?,
            ConditionTest::Match { subject, regex } => {
                let matched =
                    subject.with_value(env, frame, form, |frame, value| regex.capture(value, frame))?;
                if matched {
                    regex.publish(frame);
                } else {
                    frame.clear_captures();
                }
                matched
            }
            ConditionTest::File { kind, path } => {
                let mut built = frame.take_buffer();
                let found = path
                    .eval_bounded(env, frame, &mut built, form, || "if".to_owned())
                    .map(|()| env.file_test(*kind, &built, frame));
                frame.give_buffer(built);
                found?
            }
        };
        Ok(held != self.negated)
    }
}

#[inline]
fn equal<E: Environment + ?Sized>(
    subject: &Template,
    text: &Template,
    env: &E,
    frame: &mut Frame,
    form: CaptureForm,
) -> Result<bool, EvalError> {
    if let Some(text) = text.as_static() {
        return subject.with_value(env, frame, form, |_, value| Ok(same(value, text)));
    }
    let mut wanted = frame.take_buffer();
    let result = text
        .eval_bounded(env, frame, &mut wanted, form, || "if".to_owned())
        .and_then(|()| subject.with_value(env, frame, form, |_, value| Ok(same(value, &wanted))));
    frame.give_buffer(wanted);
    result
}

/// Compares two values, without calling `memcmp` for empty slices: these may contain a dangling pointer, with which
/// glibc's vectorized `memcmp` is slow. `$query_string != ""` is common in configurations.
#[inline]
fn same(value: &[u8], text: &[u8]) -> bool {
    value.len() == text.len() && (text.is_empty() || value == text)
}

/// Compiles a condition that begins with a variable; `rest` is empty or an operator and its operand; anything else is
/// an error.
fn compare<C: Catalogue>(
    variable: &str,
    rest: &[&str],
    names: &mut NameResolver<C>,
) -> Result<CompiledCondition, ScriptError> {
    let is_name = |name: &&str| name.contains('-') && !name.contains(['$', '{']);
    let subject = match variable.strip_prefix('$').filter(is_name) {
        Some(name) => whole(name, names)?,
        None => parse(variable, names)?,
    };
    if !subject.is_single_variable() {
        return Err(invalid(variable));
    }
    let (operator, operand) = match rest {
        [] => return Ok(CompiledCondition { test: ConditionTest::True(subject), negated: false }),
        [operator, operand] => (*operator, *operand),
        [unexpected, ..] => {
            return Err(ScriptError::new(format!("unexpected \"{unexpected}\" in condition")));
        }
    };
    let (operator, negated) = match operator.strip_prefix('!') {
        Some(operator) => (operator, true),
        None => (operator, false),
    };
    let test = match operator {
        "=" => ConditionTest::Equal { subject, text: parse(operand, names)? },
        "~" | "~*" => {
            ConditionTest::Match { subject, regex: Box::new(names.regex(operand, operator == "~*")?) }
        }
        _ => return Err(ScriptError::new(format!("unexpected \"{}\" in condition", rest[0]))),
    };
    Ok(CompiledCondition { test, negated })
}

/// Removes the parentheses of `if ( … )`, which are part of the first and the last word or separate words. Words that
/// do not start with `(` are returned unchanged. Returns an error if the `)` is missing.
fn without_brackets<'w>(words: &[&'w str]) -> Result<Vec<&'w str>, ScriptError> {
    let mut bare: Vec<&str> = words.to_vec();
    let Some(inner) = bare.first().and_then(|first| first.strip_prefix('(')) else {
        return Ok(bare);
    };
    bare[0] = inner;
    let last = bare.len() - 1;
    let Some(inner) = bare[last].strip_suffix(')') else {
        return Err(invalid(bare[last]));
    };
    bare[last] = inner;
    // Remove words that only contained a parenthesis. An empty operand (`""`) remains: it is never the first word, and
    // a last word is only removed if it was `)`.
    if bare.first().is_some_and(|first| first.is_empty()) {
        bare.remove(0);
    }
    if bare.len() > 1 && words.last() == Some(&")") {
        bare.pop();
    }
    Ok(bare)
}

fn invalid(word: &str) -> ScriptError {
    ScriptError::new(format!("invalid condition \"{word}\""))
}

/// Returns the pattern of a condition with a regex, otherwise `None`; used to declare its named groups in advance.
pub(crate) fn pattern_of<'w>(words: &[&'w str]) -> Option<&'w str> {
    match without_brackets(words).ok()?.as_slice() {
        [_, "~" | "~*" | "!~" | "!~*", pattern] => Some(pattern),
        _ => None,
    }
}
