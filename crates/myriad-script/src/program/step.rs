//! Compiled directives of the rewrite module, and the action of a request after a program.

use super::call::Call;
use super::rewrite::Rewrite;
use crate::condition::Condition;
use crate::names::Resolved;
use crate::template::Template;

/// Identifies the settings of an `if` block. The number is chosen by the embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IfId(pub u32);

/// Step with the tag of its directive.
#[derive(Debug)]
pub(super) struct Tagged {
    pub(super) step: Step,
    pub(super) tag: usize,
}

#[derive(Debug)]
pub(super) enum Step {
    /// The name is stored as written, with `$`.
    Set {
        name: Box<str>,
        target: Resolved,
        value: Template,
    },
    If {
        condition: Condition,
        steps: Box<[Tagged]>,
        id: Option<IfId>,
    },
    Call(Box<Call>),
    Rewrite(Box<Rewrite>),
    Return {
        status: u16,
        text: Option<Template>,
    },
    Break,
}

/// Action of the request after a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
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
pub struct Flow {
    /// Next action.
    pub action: Action,
    /// Last true `if` block with settings, which replace those of the location.
    pub matched_if: Option<IfId>,
}

/// Returns whether the steps only set variables.
pub(super) fn only_set(steps: &[Tagged]) -> bool {
    steps.iter().all(|tagged| match &tagged.step {
        Step::Set { .. } | Step::Call(_) | Step::Break => true,
        Step::If { steps, id, .. } => id.is_none() && only_set(steps),
        Step::Rewrite(_) | Step::Return { .. } => false,
    })
}
