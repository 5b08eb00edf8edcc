//! Where a request's way is told while it is explained (`myriad -t --explain`).

use myriad_conf::Span;

/// One thing that was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is about: `server`, `rule`, `location`, ...
    pub topic: &'static str,
    /// What was asked; empty where the directive at `span` says it.
    pub text: String,
    /// What it came to; may be empty.
    pub outcome: String,
    /// The directive.
    pub span: Option<Span>,
}

/// Takes the lines in, in the order in which a request's steps come to them.
///
/// A request that has a sink is one to be explained: it goes the way of any other, up to where that would have an effect.
pub trait Sink {
    /// Takes a line.
    fn take(&self, line: Line);
}

impl dyn Sink + '_ {
    /// Tells what was decided, and by which directive.
    pub fn note(
        &self,
        topic: &'static str,
        text: impl Into<String>,
        outcome: impl Into<String>,
        span: Option<Span>,
    ) {
        self.take(Line { topic, text: text.into(), outcome: outcome.into(), span });
    }
}
