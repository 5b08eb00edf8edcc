//! Lists of texts that are true if at least one text is true: `*_cache_bypass`, `*_no_cache`, `access_log if=`.

use crate::environment::{Builtin, Environment};
use crate::error::EvalError;
use crate::frame::Frame;
use crate::template::{CaptureForm, Template};

/// Returns whether a value is true in the sense of nginx: neither empty nor `0`.
#[inline]
pub(crate) fn is_true(value: &[u8]) -> bool {
    !value.is_empty() && value != b"0"
}

/// List of texts that is true if the value of one of them is neither empty nor `0`. The texts are evaluated in order
/// until one is true.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Predicates {
    templates: Box<[Template]>,
}

impl Predicates {
    /// Creates a list. An empty list is never true.
    pub fn new(templates: Vec<Template>) -> Predicates {
        // A false constant is dropped. After a true constant, the remaining texts are never evaluated.
        let mut reachable = Vec::with_capacity(templates.len());
        for template in templates {
            match template.as_static().map(is_true) {
                Some(false) => {}
                Some(true) => {
                    reachable.push(template);
                    break;
                }
                None => reachable.push(template),
            }
        }
        Predicates { templates: reachable.into_boxed_slice() }
    }

    /// Returns whether the list is empty or contains only false constants, so that it is false for every request.
    pub fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    /// Returns whether one of the texts is neither empty nor `0`. The texts after the first such text are not
    /// evaluated.
    #[inline]
    pub fn any_true<E: Environment + ?Sized>(&self, env: &E, frame: &mut Frame) -> Result<bool, EvalError> {
        self.any_true_among(env, frame, |_| true)
    }

    /// Returns whether one of the texts is neither empty nor `0`. Texts that read anything except allowed variables of
    /// the embedder, directly or through maps and similar blocks, are ignored ([`Template::reads_only`]).
    pub fn any_true_of<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        allowed: impl Fn(Builtin) -> bool,
    ) -> Result<bool, EvalError> {
        self.any_true_among(env, frame, |template| template.reads_only(&allowed))
    }

    #[inline]
    fn any_true_among<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        counts: impl Fn(&Template) -> bool,
    ) -> Result<bool, EvalError> {
        for template in self.templates.iter().filter(|template| counts(template)) {
            if template.with_value(env, frame, CaptureForm::Raw, |_, value| Ok(is_true(value)))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
