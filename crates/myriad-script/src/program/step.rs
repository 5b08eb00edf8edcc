//! Compiled directives of the rewrite module, and the result of a program.

use super::call::FunctionCall;
use super::rewrite::Rewrite;
use crate::condition::CompiledCondition;
use crate::names::ResolvedVariable;
use crate::template::Template;

/// Identifier of the settings of an `if` block, chosen by the embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IfId(pub u32);

/// Compiled directive with its number ([`StepSource::tag`](super::StepSource::tag)).
#[derive(Debug)]
pub(super) struct TaggedStep {
    pub(super) step: ProgramStep,
    pub(super) tag: usize,
}

#[derive(Debug)]
pub(super) enum ProgramStep {
    /// `set`; `name` is the variable as written, with its `$`.
    Set {
        name: Box<str>,
        target: ResolvedVariable,
        value: Template,
    },
    If {
        condition: CompiledCondition,
        steps: Box<[TaggedStep]>,
        id: Option<IfId>,
    },
    Call(Box<FunctionCall>),
    Rewrite(Box<Rewrite>),
    Return {
        status: u16,
        text: Option<Template>,
    },
    Break,
}

/// Action that the embedder must take after a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramAction {
    /// Continue with the next phase of the location.
    Continue,
    /// The URI changed: search for a location again. The embedder limits the number of rounds.
    UriChanged,
    /// `break`, or `rewrite` with this flag: continue with the next phase in this location, even if the URI changed.
    Break,
    /// `return status [text]`. The text, if any, is in [`Frame::output`](crate::Frame::output).
    Return {
        /// Status of the response; 444 closes the connection.
        status: u16,
        /// True if `return` has a text, which is then in [`Frame::output`](crate::Frame::output).
        text: bool,
    },
    /// `return` or `rewrite` with a redirect. The URL (or path) is in [`Frame::output`](crate::Frame::output), with
    /// control characters escaped.
    Redirect {
        /// Status of the redirect: 301, 302, 303, 307 or 308.
        status: u16,
    },
}

/// Result of running the directives of the rewrite module in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramResult {
    /// Action that the embedder must take next.
    pub action: ProgramAction,
    /// Identifier of the last entered `if` block that has settings; these settings replace those of the location.
    /// `None` if there is none.
    pub matched_if: Option<IfId>,
}

/// Returns whether the steps only set variables or stop the program by `break`, also within `if` blocks without
/// settings.
pub(super) fn only_set(steps: &[TaggedStep]) -> bool {
    steps.iter().all(|tagged| match &tagged.step {
        ProgramStep::Set { .. } | ProgramStep::Call(_) | ProgramStep::Break => true,
        ProgramStep::If { steps, id, .. } => id.is_none() && only_set(steps),
        ProgramStep::Rewrite(_) | ProgramStep::Return { .. } => false,
    })
}
