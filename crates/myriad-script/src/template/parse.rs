//! Parser of the references `$name`, `${name}` and `$1` in a text, by nginx's rules: a literal `$` cannot be written.

use super::{Literal, Template, TemplatePart};
use crate::environment::Catalogue;
use crate::error::ScriptError;
use crate::names::{NameResolver, ResolvedVariable};

/// Compiles a text with variables. The `offset` of an error is the position of the `$` of the invalid reference.
pub(crate) fn parse<C: Catalogue>(text: &str, names: &mut NameResolver<C>) -> Result<Template, ScriptError> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        if dollar > 0 {
            parts.push(TemplatePart::Literal(Literal::new(&rest.as_bytes()[..dollar])));
        }
        let offset = text.len() - rest.len() + dollar;
        let (part, after) = reference(&rest[dollar + 1..], names).map_err(|error| error.at(offset))?;
        parts.push(part);
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(TemplatePart::Literal(Literal::new(rest.as_bytes())));
    }
    Ok(Template::from_parts(parts))
}

/// Parses a reference, given the text after its `$`. Returns the part, and the text after the reference.
fn reference<'t, C: Catalogue>(
    text: &'t str,
    names: &mut NameResolver<C>,
) -> Result<(TemplatePart, &'t str), ScriptError> {
    if let Some(digit @ b'1'..=b'9') = text.as_bytes().first() {
        names.readings_mut().note_capture();
        return Ok((TemplatePart::Capture(digit - b'0'), &text[1..]));
    }
    let (name, after) = if let Some(braced) = text.strip_prefix('{') {
        let end = name_end(braced);
        let (name, after) = braced.split_at(end);
        let Some(after) = after.strip_prefix('}') else {
            return Err(ScriptError::new(format!("the closing bracket in \"{name}\" variable is missing")));
        };
        (name, after)
    } else {
        text.split_at(name_end(text))
    };
    if name.is_empty() {
        return Err(ScriptError::new("invalid variable name"));
    }
    Ok((variable(name, names)?, after))
}

/// Compiles a reference that is a separate word, such as the variable of a condition; its name may contain `-`.
pub(crate) fn whole<C: Catalogue>(name: &str, names: &mut NameResolver<C>) -> Result<Template, ScriptError> {
    Ok(Template::from_parts(vec![variable(name, names)?]))
}

fn variable<C: Catalogue>(name: &str, names: &mut NameResolver<C>) -> Result<TemplatePart, ScriptError> {
    Ok(match names.resolve(&name.to_ascii_lowercase())? {
        ResolvedVariable::User(variable) => TemplatePart::User(variable),
        ResolvedVariable::Builtin(id) => TemplatePart::Builtin(id),
    })
}

fn name_end(text: &str) -> usize {
    text.bytes().position(|byte| !byte.is_ascii_alphanumeric() && byte != b'_').unwrap_or(text.len())
}
