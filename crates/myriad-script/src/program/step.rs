//! What a directive of the rewrite module is compiled to, and what a request does after it.

use super::call::Call;
use super::rewrite::Rewrite;
use crate::condition::Condition;
use crate::names::Resolved;
use crate::template::Template;

/// Names the configuration of one `if` block; the number is the embedder's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IfId(pub u32);

/// A step and the tag by which its directive is known.
#[derive(Debug)]
pub(super) struct Tagged {
    pub(super) step: Step,
    pub(super) tag: usize,
}

#[derive(Debug)]
pub(super) enum Step {
    /// The name is as it was written, with `$`.
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

/// Whether all that the steps do is to set variables.
pub(super) fn only_set(steps: &[Tagged]) -> bool {
    steps.iter().all(|tagged| match &tagged.step {
        Step::Set { .. } | Step::Call(_) | Step::Break => true,
        Step::If { steps, id, .. } => id.is_none() && only_set(steps),
        Step::Rewrite(_) | Step::Return { .. } => false,
    })
}
