//! Programs of the rewrite module: `set`, `if`, `rewrite`, `return`, `break` and function calls, in source order.

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

/// Compiled directives of the rewrite module in a block.
#[derive(Debug, Default)]
pub struct Program {
    steps: Box<[TaggedStep]>,
}

impl Program {
    /// Returns whether the program contains no directives.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns whether the program only sets variables: it never redirects or rewrites a request, never responds to
    /// one, and never selects the settings of an `if` block. It may contain `break`.
    pub fn only_sets(&self) -> bool {
        only_set(&self.steps)
    }

    /// Runs the program for a request.
    ///
    /// # Errors
    /// Returns an error, which means status 500: a regex match fails, variables form a cycle, a function has no value,
    /// a text is too long, a URI is empty, or the embedder rejects an assignment.
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
