//! Receiver of the decisions about a request that is explained (`myriad -t --explain`).

use myriad_conf::Span;

/// Decision about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedDecision {
    /// Subject: `server`, `rule`, `location`, ...
    pub topic: &'static str,
    /// Condition that was checked; empty if the directive at `span` is sufficient.
    pub text: String,
    /// Result; may be empty.
    pub outcome: String,
    /// Location of the directive in the configuration.
    pub span: Option<Span>,
}

/// Receives the decisions in the order in which the steps of a request make them.
///
/// A request with a sink is explained: it is processed like any other, up to the first step with an effect.
pub trait DecisionSink {
    /// Receives a decision.
    fn take(&self, line: ExplainedDecision);
}

impl dyn DecisionSink + '_ {
    /// Reports a decision and the directive that caused it.
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
