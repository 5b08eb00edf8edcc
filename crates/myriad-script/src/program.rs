//! The rewrite module: `set`, `if`, `rewrite`, `return` and `break`, in the order in which they stand.

use crate::condition::Condition;
use crate::environment::Environment;
use crate::error::EvalError;
use crate::frame::Frame;
use crate::template::Template;

mod compile;
mod rewrite;
mod run;
mod source;
#[cfg(test)]
mod tests;

pub(crate) use compile::{compile_program, declare};
pub use source::{StepKind, StepSource};

use crate::compiler::Target;
use rewrite::Rewrite;

/// Names the configuration of one `if` block; the number is the embedder's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IfId(pub u32);

/// The compiled directives of one block.
#[derive(Debug, Default)]
pub struct Program {
    steps: Box<[Tagged]>,
}

/// A step and the tag by which its directive is known.
#[derive(Debug)]
struct Tagged {
    step: Step,
    tag: usize,
}

#[derive(Debug)]
enum Step {
    /// The name is as it was written, with `$`.
    Set {
        name: Box<str>,
        target: Target,
        value: Template,
    },
    If {
        condition: Condition,
        steps: Box<[Tagged]>,
        id: Option<IfId>,
    },
    Rewrite(Box<Rewrite>),
    Return {
        status: u16,
        text: Option<Template>,
    },
    Break,
}

/// What the request does after a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing changed the course: on with the location's next phase.
    Continue,
    /// The URI changed: search the location anew, at most ten times for a request.
    UriChanged,
    /// `break`: on with the next phase in this location, whatever the URI is now.
    Break,
    /// `return code [text]`; the text, if there is one, is [`Frame::output`].
    Return {
        /// The status to answer; 444 closes the connection.
        status: u16,
        /// Whether a text was written.
        text: bool,
    },
    /// A redirect to the URL (or path) in [`Frame::output`], in which no control character is left.
    Redirect {
        /// 301, 302, 303, 307 or 308.
        status: u16,
    },
}

/// The result of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// What to do now.
    pub action: Action,
    /// The last `if` block that held and has a configuration of its own: it replaces that of the location.
    pub matched_if: Option<IfId>,
}

fn only_set(steps: &[Tagged]) -> bool {
    steps.iter().all(|tagged| match &tagged.step {
        Step::Set { .. } | Step::Break => true,
        Step::If { steps, id, .. } => id.is_none() && only_set(steps),
        Step::Rewrite(_) | Step::Return { .. } => false,
    })
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
        let mut run = run::Run::new();
        let ended = if env.traces() {
            run.steps::<E, true>(&self.steps, env, frame)?
        } else {
            run.steps::<E, false>(&self.steps, env, frame)?
        };
        Ok(run.flow(ended))
    }
}
