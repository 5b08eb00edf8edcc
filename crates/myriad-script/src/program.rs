//! Rewrite module: `set`, `if`, `rewrite`, `return`, `break` and function calls, in source order.

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

use run::ProgramRun;
pub use source::{StepKind, StepSource};
pub use step::{IfId, ProgramAction, ProgramResult};
use step::{TaggedStep, only_set};

/// Compiled directives of a block.
#[derive(Debug, Default)]
pub struct Program {
    steps: Box<[TaggedStep]>,
}

impl Program {
    /// Returns whether the program has no steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns whether the program only sets variables: it never redirects, rewrites or answers a request, and never
    /// selects the settings of an `if`.
    pub fn only_sets(&self) -> bool {
        only_set(&self.steps)
    }

    /// Runs the steps for a request.
    ///
    /// # Errors
    /// Returns an error, which means status 500, for a match that exceeds its limit, a cycle of variables, or an empty
    /// URI.
    pub fn run<E: Environment + ?Sized>(
        &self,
        env: &mut E,
        frame: &mut Frame,
    ) -> Result<ProgramResult, EvalError> {
        let mut run = ProgramRun::new();
        let action = if env.traces() {
            run.steps::<E, true>(&self.steps, env, frame)?
        } else {
            run.steps::<E, false>(&self.steps, env, frame)?
        };
        Ok(run.flow(action))
    }
}
