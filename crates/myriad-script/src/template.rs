//! Text with variables: `"$scheme://${host}/$1"`.

use std::sync::Arc;

use crate::environment::{Builtin, Environment};
use crate::error::{EvalError, MOST_TEXT};
use crate::escape::escape_args;
use crate::frame::Frame;
use crate::variable::Variable;

pub(crate) mod parse;
#[cfg(test)]
mod tests;

/// A compiled text with variables, as nginx's complex value.
#[derive(Debug, Clone)]
pub struct Template {
    shape: Shape,
}

/// The two cheap shapes are most of what configurations hold.
#[derive(Debug, Clone)]
enum Shape {
    Static(Box<[u8]>),
    Single(Part),
    Joined(Box<[Part]>),
}

#[derive(Debug, Clone)]
pub(crate) enum Part {
    Literal(Box<[u8]>),
    User(Arc<Variable>),
    Builtin(Builtin),
    /// `$1` to `$9`.
    Capture(u8),
}

/// How many maps may stand behind each other for [`Template::reads_only`] to look through them.
const DEEPEST: u8 = 8;

/// One piece of an evaluated template, for callers that treat text and values differently (`log_format`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text of the template itself.
    Literal(&'a [u8]),
    /// The value of a variable.
    Value(&'a [u8]),
    /// A variable that does not exist for this request; nginx logs it as `-`.
    Missing,
}

/// How captures are written: nginx escapes them again where they go into arguments or redirects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaptureForm {
    Raw,
    Escaped,
}

impl Template {
    /// Makes a template of constant bytes.
    pub fn constant(text: &[u8]) -> Template {
        Template { shape: Shape::Static(text.into()) }
    }

    pub(crate) fn from_parts(mut parts: Vec<Part>) -> Template {
        let shape = match parts.len() {
            0 => Shape::Static(Box::default()),
            1 => match parts.remove(0) {
                Part::Literal(text) => Shape::Static(text),
                part => Shape::Single(part),
            },
            _ => Shape::Joined(parts.into_boxed_slice()),
        };
        Template { shape }
    }

    /// The whole text, if it holds no variable.
    pub fn as_static(&self) -> Option<&[u8]> {
        match &self.shape {
            Shape::Static(text) => Some(text),
            _ => None,
        }
    }

    /// The variable that is the whole template, if the embedder provides it.
    pub fn as_builtin(&self) -> Option<Builtin> {
        match self.shape {
            Shape::Single(Part::Builtin(id)) => Some(id),
            _ => None,
        }
    }

    pub(crate) fn is_single_variable(&self) -> bool {
        matches!(self.shape, Shape::Single(_))
    }

    /// Whether the template reads one of the given variables itself (not through a map).
    pub fn reads(&self, wanted: impl Fn(Builtin) -> bool) -> bool {
        self.parts().iter().any(|part| matches!(part, Part::Builtin(id) if wanted(*id)))
    }

    /// Whether nothing but text and the given variables of the embedder makes the value, be it through maps and their like.
    /// Before [`Compiler::finish`](crate::Compiler::finish) no map is looked through.
    pub fn reads_only(&self, allowed: impl Fn(Builtin) -> bool) -> bool {
        self.reads_within(&allowed, DEEPEST)
    }

    pub(crate) fn reads_within(&self, allowed: &dyn Fn(Builtin) -> bool, depth: u8) -> bool {
        self.parts().iter().all(|part| match part {
            Part::Literal(_) => true,
            Part::Builtin(id) => allowed(*id),
            Part::User(variable) => depth > 0 && variable.reads_only(allowed, depth - 1),
            Part::Capture(_) => false,
        })
    }

    fn parts(&self) -> &[Part] {
        match &self.shape {
            Shape::Static(_) => &[],
            Shape::Single(part) => std::slice::from_ref(part),
            Shape::Joined(parts) => parts,
        }
    }

    /// Appends the value to `out`.
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
            Shape::Static(text) => out.extend_from_slice(text),
            Shape::Single(part) => part.append(env, frame, out, form)?,
            Shape::Joined(parts) => {
                for part in parts {
                    part.append(env, frame, out, form)?;
                }
            }
        }
        Ok(())
    }

    /// As [`Template::eval`], for a directive of the rewrite module, which makes no more than [`MOST_TEXT`] bytes of variables.
    pub(crate) fn eval_bounded<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        out: &mut Vec<u8>,
        form: CaptureForm,
        directive: impl FnOnce() -> String,
    ) -> Result<(), EvalError> {
        if let Shape::Static(text) = &self.shape {
            out.extend_from_slice(text);
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

    /// Gives the value as a slice, borrowed where it lies ready and built in `scratch` (cleared first) where not.
    pub fn value<'a, E: Environment + ?Sized>(
        &'a self,
        env: &'a E,
        frame: &'a mut Frame,
        scratch: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], EvalError> {
        match &self.shape {
            Shape::Static(text) => return Ok(text),
            Shape::Single(Part::Builtin(id)) => {
                if let Some(value) = env.variable_ref(*id) {
                    return Ok(value.unwrap_or_default());
                }
            }
            Shape::Single(Part::User(variable)) => {
                variable.ensure(env, frame)?;
                return Ok(frame.slot(variable.slot()));
            }
            Shape::Single(_) | Shape::Joined(_) => {}
        }
        scratch.clear();
        self.eval(env, frame, scratch)?;
        Ok(scratch)
    }

    /// Gives the value to `f` together with the frame, which `f` may change (a match sets captures).
    pub(crate) fn with_value<E: Environment + ?Sized, T>(
        &self,
        env: &E,
        frame: &mut Frame,
        form: CaptureForm,
        f: impl FnOnce(&mut Frame, &[u8]) -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        match &self.shape {
            Shape::Static(text) => return f(frame, text),
            Shape::Single(Part::Builtin(id)) => {
                if let Some(value) = env.variable_ref(*id) {
                    return f(frame, value.unwrap_or_default());
                }
            }
            Shape::Single(Part::User(variable)) => {
                variable.ensure(env, frame)?;
                let value = frame.lend_slot(variable.slot());
                let result = f(frame, &value);
                frame.return_slot(variable.slot(), value);
                return result;
            }
            Shape::Single(_) | Shape::Joined(_) => {}
        }
        let mut value = frame.take_buffer();
        let result = self.eval_form(env, frame, &mut value, form).and_then(|()| f(frame, &value));
        frame.give_buffer(value);
        result
    }

    /// Gives the pieces in order to `sink`, each variable as it is or as missing.
    pub fn for_each_piece<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        mut sink: impl FnMut(Piece<'_>),
    ) -> Result<(), EvalError> {
        if let Shape::Static(text) = &self.shape {
            sink(Piece::Literal(text));
            return Ok(());
        }
        for part in self.parts() {
            part.piece(env, frame, &mut sink)?;
        }
        Ok(())
    }
}

impl Part {
    #[inline]
    fn append<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        out: &mut Vec<u8>,
        form: CaptureForm,
    ) -> Result<(), EvalError> {
        match self {
            Part::Literal(text) => out.extend_from_slice(text),
            Part::User(variable) => {
                variable.ensure(env, frame)?;
                out.extend_from_slice(frame.slot(variable.slot()));
            }
            Part::Builtin(id) => match env.variable_ref(*id) {
                Some(value) => out.extend_from_slice(value.unwrap_or_default()),
                None => {
                    env.variable(*id, frame, out)?;
                }
            },
            Part::Capture(group) => {
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

    fn piece<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        sink: &mut impl FnMut(Piece<'_>),
    ) -> Result<(), EvalError> {
        match self {
            Part::Literal(text) => sink(Piece::Literal(text)),
            Part::User(variable) => {
                variable.ensure(env, frame)?;
                sink(Piece::Value(frame.slot(variable.slot())));
            }
            Part::Builtin(id) => {
                if let Some(value) = env.variable_ref(*id) {
                    sink(value.map_or(Piece::Missing, Piece::Value));
                    return Ok(());
                }
                let mut value = frame.take_buffer();
                let found = env.variable(*id, frame, &mut value);
                match found {
                    Ok(true) => sink(Piece::Value(&value)),
                    Ok(false) => sink(Piece::Missing),
                    Err(_) => {}
                }
                frame.give_buffer(value);
                found?;
            }
            Part::Capture(group) => {
                sink(frame.capture(usize::from(*group)).map_or(Piece::Missing, Piece::Value));
            }
        }
        Ok(())
    }
}
