//! Reports of the results of rewrite rules and maps while a request is explained (`myriad -t --explain`).

use myriad_script::{RuleOutcome, Trace};

use super::{DecisionSink, Request};

/// Reports the result of a rewrite rule or a map to `sink`.
pub(super) fn script(sink: &dyn DecisionSink, request: &Request, what: Trace<'_>) {
    match what {
        Trace::Rule { tag, outcome } => {
            let outcome = match outcome {
                RuleOutcome::Set(value) => format!("\"{}\"", String::from_utf8_lossy(value)),
                RuleOutcome::If(true) => "yes".to_owned(),
                RuleOutcome::If(false) => "no".to_owned(),
                RuleOutcome::NoMatch => "does not match".to_owned(),
                RuleOutcome::Rewritten(target) => {
                    format!("matches: {}", String::from_utf8_lossy(target))
                }
                RuleOutcome::Ends => "reached".to_owned(),
            };
            let span = request.runtime().positions.rules.get(tag).copied();
            sink.note("rule", "", outcome, span);
        }
        Trace::Map { variable, subject, line } => {
            let subject = String::from_utf8_lossy(subject);
            let line = line.map_or_else(
                || "its default".to_owned(),
                |line| format!("the line {}", if line.is_empty() { "\"\"" } else { line }),
            );
            sink.note("map", format!("${variable} of \"{subject}\""), line, None);
        }
    }
}
