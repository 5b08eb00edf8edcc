//! Texts with variables: `"$scheme://${host}/$1"`.

use std::sync::Arc;

use crate::environment::{Builtin, Environment};
use crate::error::{EvalError, MOST_TEXT};
use crate::escape::escape_args;
use crate::frame::Frame;
use crate::variable::Variable;
use literal::Literal;

mod literal;
pub(crate) mod parse;
#[cfg(test)]
mod tests;

/// Compiled text with variables, like nginx's complex value. Templates of the same compiler are equal if they consist
/// of the same texts and variables.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    shape: TemplateShape,
}

/// Structure of a template. The two simple forms cover most texts of configurations.
#[derive(Debug, Clone, PartialEq)]
enum TemplateShape {
    Static(Literal),
    Single(TemplatePart),
    Joined(Box<[TemplatePart]>),
}

#[derive(Debug, Clone)]
pub(crate) enum TemplatePart {
    Literal(Literal),
    User(Arc<Variable>),
    Builtin(Builtin),
    /// Text of a group of the latest regex match: `$1` to `$9`.
    Capture(u8),
}

/// Parts are equal if they are the same text, the same variable or the same capture group.
impl PartialEq for TemplatePart {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Literal(text), Self::Literal(other)) => text == other,
            (Self::User(variable), Self::User(other)) => Arc::ptr_eq(variable, other),
            (Self::Builtin(id), Self::Builtin(other)) => id == other,
            (Self::Capture(number), Self::Capture(other)) => number == other,
            _ => false,
        }
    }
}

/// Maximum number of nested maps and similar blocks that [`Template::reads_only`] follows.
const DEEPEST: u8 = 8;

/// Format of the values of variables in a template (`log_format`); its constant texts are written unchanged.
pub trait ValueForm {
    /// Appends a value in this format.
    fn append(&self, value: &[u8], out: &mut Vec<u8>);

    /// Converts the value at the end of `out`, from offset `from` on, to this format. A computed value is first
    /// appended unchanged, because most values need no conversion.
    fn convert_appended(&self, out: &mut Vec<u8>, from: usize);

    /// Returns the text that is written for a variable of the embedder that does not exist for this request, and for a
    /// regex group that did not participate in the match.
    fn missing(&self) -> &[u8];
}

/// Form in which captures are inserted: unchanged, or (`Escaped`) percent-encoded if the URI was sent with escapes.
/// nginx escapes captures in arguments and redirects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaptureForm {
    Raw,
    Escaped,
}

impl Template {
    /// Creates a template of constant bytes.
    pub fn constant(text: &[u8]) -> Template {
        Template { shape: TemplateShape::Static(Literal::new(text)) }
    }

    pub(crate) fn from_parts(mut parts: Vec<TemplatePart>) -> Template {
        let shape = match parts.len() {
            0 => TemplateShape::Static(Literal::new(b"")),
            1 => match parts.remove(0) {
                TemplatePart::Literal(text) => TemplateShape::Static(text),
                part => TemplateShape::Single(part),
            },
            _ => TemplateShape::Joined(parts.into_boxed_slice()),
        };
        Template { shape }
    }

    /// Returns the text of a template without variables; `None` if it has variables.
    pub fn as_static(&self) -> Option<&[u8]> {
        match &self.shape {
            TemplateShape::Static(text) => Some(text.bytes()),
            _ => None,
        }
    }

    /// Returns the variable if the template consists of a single variable of the embedder; otherwise `None`.
    pub fn as_builtin(&self) -> Option<Builtin> {
        match self.shape {
            TemplateShape::Single(TemplatePart::Builtin(id)) => Some(id),
            _ => None,
        }
    }

    pub(crate) fn is_single_variable(&self) -> bool {
        matches!(self.shape, TemplateShape::Single(_))
    }

    /// Returns whether the template contains a variable of the embedder that `wanted` accepts. User variables are not
    /// followed, neither to a map nor to a variable that they hide.
    pub fn reads(&self, wanted: impl Fn(Builtin) -> bool) -> bool {
        self.parts().iter().any(|part| matches!(part, TemplatePart::Builtin(id) if wanted(*id)))
    }

    /// Returns whether the value depends only on constants and allowed variables of the embedder, directly or through
    /// at most eight nested maps and similar blocks. Captures and variables that are assigned (`set`) are not allowed.
    /// Before [`Compiler::finish`](crate::Compiler::finish), the result for a template with a user variable is false.
    pub fn reads_only(&self, allowed: impl Fn(Builtin) -> bool) -> bool {
        self.reads_within(&allowed, DEEPEST)
    }

    pub(crate) fn reads_within(&self, allowed: &dyn Fn(Builtin) -> bool, depth: u8) -> bool {
        self.parts().iter().all(|part| match part {
            TemplatePart::Literal(_) => true,
            TemplatePart::Builtin(id) => allowed(*id),
            TemplatePart::User(variable) => depth > 0 && variable.reads_only(allowed, depth - 1),
            TemplatePart::Capture(_) => false,
        })
    }

    fn parts(&self) -> &[TemplatePart] {
        match &self.shape {
            TemplateShape::Static(_) => &[],
            TemplateShape::Single(part) => std::slice::from_ref(part),
            TemplateShape::Joined(parts) => parts,
        }
    }

    /// Evaluates the template for a request, and appends the value to `out`. Variables that do not exist for the
    /// request, and groups that did not participate in a match, are empty.
    pub fn eval<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        out: &mut Vec<u8>,
    ) -> Result<(), EvalError> {
        self.eval_form(env, frame, out, CaptureForm::Raw)
    }

    pub(crate) fn eval_form<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        out: &mut Vec<u8>,
        form: CaptureForm,
    ) -> Result<(), EvalError> {
        match &self.shape {
            TemplateShape::Static(text) => text.append(out),
            TemplateShape::Single(part) => part.append(env, frame, out, form)?,
            TemplateShape::Joined(parts) => {
                for part in parts {
                    part.append(env, frame, out, form)?;
                }
            }
        }
        Ok(())
    }

    /// Evaluates the template for a directive of the rewrite module, and appends the value to `out`. Returns an error
    /// that names the directive if `out` then has more than [`MOST_TEXT`] bytes and the template has variables.
    pub(crate) fn eval_bounded<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        out: &mut Vec<u8>,
        form: CaptureForm,
        directive: impl FnOnce() -> String,
    ) -> Result<(), EvalError> {
        if let TemplateShape::Static(text) = &self.shape {
            text.append(out);
            return Ok(());
        }
        for part in self.parts() {
            part.append(env, frame, out, form)?;
            if out.len() > MOST_TEXT {
                return Err(EvalError::TooLong { directive: directive() });
            }
        }
        Ok(())
    }

    /// Evaluates the template. Returns the value as a slice: borrowed if possible, otherwise built in `scratch`, which
    /// is cleared first.
    pub fn value<'a, E: Environment + ?Sized>(
        &'a self,
        env: &'a E,
        frame: &'a mut Frame,
        scratch: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], EvalError> {
        match &self.shape {
            TemplateShape::Static(text) => return Ok(text.bytes()),
            TemplateShape::Single(TemplatePart::Builtin(id)) => {
                if let Some(value) = env.variable_ref(*id) {
                    return Ok(value.unwrap_or_default());
                }
            }
            TemplateShape::Single(TemplatePart::User(variable)) => {
                variable.ensure(env, frame)?;
                return Ok(frame.slot(variable.slot()));
            }
            TemplateShape::Single(_) | TemplateShape::Joined(_) => {}
        }
        scratch.clear();
        self.eval(env, frame, scratch)?;
        Ok(scratch)
    }

    /// Evaluates the template, and calls `f` with the value and the frame, which `f` may change (a match sets
    /// captures).
    pub(crate) fn with_value<E: Environment + ?Sized, T>(
        &self,
        env: &E,
        frame: &mut Frame,
        form: CaptureForm,
        f: impl FnOnce(&mut Frame, &[u8]) -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        match &self.shape {
            TemplateShape::Static(text) => return f(frame, text.bytes()),
            TemplateShape::Single(TemplatePart::Builtin(id)) => {
                if let Some(value) = env.variable_ref(*id) {
                    return f(frame, value.unwrap_or_default());
                }
            }
            TemplateShape::Single(TemplatePart::User(variable)) => {
                variable.ensure(env, frame)?;
                let value = frame.lend_slot(variable.slot());
                let result = f(frame, &value);
                frame.return_slot(variable.slot(), value);
                return result;
            }
            TemplateShape::Single(_) | TemplateShape::Joined(_) => {}
        }
        let mut value = frame.take_buffer();
        let result = self.eval_form(env, frame, &mut value, form).and_then(|()| f(frame, &value));
        frame.give_buffer(value);
        result
    }

    /// Appends the value to `out`, with the value of each variable and capture in the given format; computed values of
    /// the embedder that are plain ([`Environment::is_plain`]) are not converted.
    pub fn write<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        out: &mut Vec<u8>,
        form: &impl ValueForm,
    ) -> Result<(), EvalError> {
        if let TemplateShape::Static(text) = &self.shape {
            text.append(out);
            return Ok(());
        }
        for part in self.parts() {
            part.write(env, frame, out, form)?;
        }
        Ok(())
    }
}

impl TemplatePart {
    #[inline]
    fn append<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        out: &mut Vec<u8>,
        form: CaptureForm,
    ) -> Result<(), EvalError> {
        match self {
            TemplatePart::Literal(text) => text.append(out),
            TemplatePart::User(variable) => {
                variable.ensure(env, frame)?;
                out.extend_from_slice(frame.slot(variable.slot()));
            }
            TemplatePart::Builtin(id) => match env.variable_ref(*id) {
                Some(value) => out.extend_from_slice(value.unwrap_or_default()),
                None => {
                    env.variable(*id, frame, out)?;
                }
            },
            TemplatePart::Capture(group) => {
                let value = frame.capture(usize::from(*group)).unwrap_or_default();
                if form == CaptureForm::Escaped && env.uri_was_escaped() {
                    escape_args(value, out);
                } else {
                    out.extend_from_slice(value);
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn write<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        out: &mut Vec<u8>,
        form: &impl ValueForm,
    ) -> Result<(), EvalError> {
        match self {
            TemplatePart::Literal(text) => text.append(out),
            TemplatePart::User(variable) => {
                variable.ensure(env, frame)?;
                form.append(frame.slot(variable.slot()), out);
            }
            TemplatePart::Builtin(id) => match env.variable_ref(*id) {
                Some(Some(value)) => form.append(value, out),
                Some(None) => out.extend_from_slice(form.missing()),
                None => {
                    let from = out.len();
                    if env.variable(*id, frame, out)? {
                        if !env.is_plain(*id) {
                            form.convert_appended(out, from);
                        }
                    } else {
                        out.truncate(from);
                        out.extend_from_slice(form.missing());
                    }
                }
            },
            TemplatePart::Capture(group) => match frame.capture(usize::from(*group)) {
                Some(value) => form.append(value, out),
                None => out.extend_from_slice(form.missing()),
            },
        }
        Ok(())
    }
}
