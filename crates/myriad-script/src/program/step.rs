//! Compiled directives of the rewrite module, and the action of a request after a program.

use super::call::FunctionCall;
use super::rewrite::Rewrite;
use crate::condition::CompiledCondition;
use crate::names::ResolvedVariable;
use crate::template::Template;

/// Identifies the settings of an `if` block. The number is chosen by the embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IfId(pub u32);

/// Step with the tag of its directive.
#[derive(Debug)]
pub(super) struct TaggedStep {
    pub(super) step: ProgramStep,
    pub(super) tag: usize,
}

#[derive(Debug)]
pub(super) enum ProgramStep {
    /// The name is stored as written, with `$`.
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

/// Action of the request after a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramAction {
    /// Continue with the next phase of the location.
    Continue,
    /// The URI changed: search for a location again, at most ten times per request.
    UriChanged,
    /// `break`: continue with the next phase in this location, independent of the URI.
    Break,
    /// `return code [text]`. The text, if any, is in [`Frame::output`].
    Return {
        /// Status of the response; 444 closes the connection.
        status: u16,
        /// True if a text was written.
        text: bool,
    },
    /// Redirect to the URL (or path) in [`Frame::output`], with all control characters escaped.
    Redirect {
        /// 301, 302, 303, 307 or 308.
        status: u16,
    },
}

/// Result of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramResult {
    /// Next action.
    pub action: ProgramAction,
    /// Last true `if` block with settings, which replace those of the location.
    pub matched_if: Option<IfId>,
}

/// Returns whether the steps only set variables.
pub(super) fn only_set(steps: &[TaggedStep]) -> bool {
    steps.iter().all(|tagged| match &tagged.step {
        ProgramStep::Set { .. } | ProgramStep::Call(_) | ProgramStep::Break => true,
        ProgramStep::If { steps, id, .. } => id.is_none() && only_set(steps),
        ProgramStep::Rewrite(_) | ProgramStep::Return { .. } => false,
    })
}
