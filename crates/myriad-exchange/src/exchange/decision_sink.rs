//! Receiver of the decisions made while a request is explained (`myriad -t --explain`).

use myriad_conf::Span;

/// Decision made while the processing of a request is explained to a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedDecision {
    /// Kind of decision: `server`, `rule`, `location`, …
    pub topic: &'static str,
    /// Condition that was checked, or a log message; empty if the directive at `span` is sufficient.
    pub text: String,
    /// Result of the decision, as text; empty if the decision has no result to show.
    pub outcome: String,
    /// Position of the deciding directive in the configuration; `None` if there is none.
    pub span: Option<Span>,
}

/// Receives the decisions about an explained request, in the order in which they are made.
///
/// A request with a sink is processed like other requests, but only up to the first step with an effect, such as a
/// request to an origin.
pub trait DecisionSink {
    /// Receives the next decision.
    fn take(&self, line: ExplainedDecision);
}

impl dyn DecisionSink + '_ {
    /// Reports a decision to this sink. `span` is the position of the directive that caused the decision; `None`
    /// without such a directive.
    pub fn note(
        &self,
        topic: &'static str,
        text: impl Into<String>,
        outcome: impl Into<String>,
        span: Option<Span>,
    ) {
        self.take(ExplainedDecision { topic, text: text.into(), outcome: outcome.into(), span });
    }
}
