//! The rewrite module: `set`, `if`, `rewrite`, `return`, `break` and calls of functions, in the order in which they stand.

use crate::environment::Environment;
use crate::error::EvalError;
use crate::frame::Frame;

mod call;
pub(crate) mod compile;
mod rewrite;
mod run;
mod source;
mod step;
#[cfg(test)]
mod tests;

use run::Run;
pub use source::{StepKind, StepSource};
pub use step::{Action, Flow, IfId};
use step::{Tagged, only_set};

/// The compiled directives of one block.
#[derive(Debug, Default)]
pub struct Program {
    steps: Box<[Tagged]>,
}

impl Program {
    /// Whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether all that it does is to set variables: it sends no request elsewhere, answers none, and puts none in a place
    /// of an `if`.
    pub fn only_sets(&self) -> bool {
        only_set(&self.steps)
    }

    /// Runs the steps over a request.
    ///
    /// An error means 500: a match that hit its limit, a cycle of variables, an empty URI.
    pub fn run<E: Environment + ?Sized>(&self, env: &mut E, frame: &mut Frame) -> Result<Flow, EvalError> {
        let mut run = Run::new();
        let ended = if env.traces() {
            run.steps::<E, true>(&self.steps, env, frame)?
        } else {
            run.steps::<E, false>(&self.steps, env, frame)?
        };
        Ok(run.flow(ended))
    }
}
