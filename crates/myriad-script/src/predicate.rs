//! Lists of texts of which one must be "true": `*_cache_bypass`, `*_no_cache`, `access_log if=`.

use crate::environment::{Builtin, Environment};
use crate::error::EvalError;
use crate::frame::Frame;
use crate::template::{CaptureForm, Template};

/// nginx's truth: not empty and not `0`.
#[inline]
pub(crate) fn is_true(value: &[u8]) -> bool {
    !value.is_empty() && value != b"0"
}

/// Texts that are asked, in order and lazily, whether any of them is true.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Predicates {
    templates: Box<[Template]>,
}

impl Predicates {
    /// Makes the list; an empty one is never true.
    pub fn new(templates: Vec<Template>) -> Predicates {
        // A constant that is false can never answer; one that is true ends the list.
        let mut kept = Vec::with_capacity(templates.len());
        for template in templates {
            match template.as_static().map(is_true) {
                Some(false) => {}
                Some(true) => {
                    kept.push(template);
                    break;
                }
                None => kept.push(template),
            }
        }
        Predicates { templates: kept.into_boxed_slice() }
    }

    /// Whether no request can make the list true.
    pub fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    /// Whether one of the texts is neither empty nor `0`; those after it are not evaluated.
    #[inline]
    pub fn any_true<E: Environment + ?Sized>(&self, env: &E, frame: &mut Frame) -> Result<bool, EvalError> {
        self.any_true_among(env, frame, |_| true)
    }

    /// As [`Self::any_true`], of the texts that read nothing but the given variables of the embedder, be it through maps and
    /// their like.
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
