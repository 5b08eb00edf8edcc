//! Result of a resolution with its diagnostics, and limits on their number.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::lost_definitions::LostDefinitions;
use crate::{
    diagnostic::{Diagnostic, Severity},
    model::Model,
    span::Span,
};

/// Maximum number of diagnostics of a configuration that are stored.
pub(super) const MAX_FINDINGS: usize = 200;
/// Maximum number of errors of a configuration that are reported; of the rest, only the number is.
const MAX_REPORTED: usize = 50;

/// Result of resolving a configuration that may contain errors, so that later stages (compilation) can find more of
/// them.
#[derive(Debug)]
pub struct Survey {
    /// Model of the valid parts. It must not be run unless [`Survey::is_sound`] returns true.
    pub model: Model,
    /// Diagnostics, sorted by position.
    pub findings: Vec<Diagnostic>,
    pub(super) lost: LostDefinitions,
    /// Number of errors that are not stored.
    pub(super) uncounted: usize,
}

impl Survey {
    /// Returns whether the configuration has no errors, so that the model may be run.
    pub fn is_sound(&self) -> bool {
        !has_errors(&self.findings)
    }

    /// Adds the diagnostics of a later stage. Skips consequences of earlier errors, and duplicates, which occur because
    /// many levels inherit the same directive.
    pub fn add(&mut self, found: impl IntoIterator<Item = Diagnostic>) {
        let of = |finding: &Diagnostic| (finding.span, finding.message.clone());
        let mut known: HashSet<(Span, String)> = self.findings.iter().map(of).collect();
        let found = found.into_iter().filter(|finding| !self.lost.explains(finding));
        let new: Vec<Diagnostic> = found.filter(|finding| known.insert(of(finding))).collect();
        self.findings.extend(new);
        self.findings.sort_by_key(|finding| finding.span);
        self.uncounted += truncate(&mut self.findings, MAX_FINDINGS);
    }

    /// Returns the model, which contains the warnings and hints.
    ///
    /// # Errors
    /// Returns the diagnostics without hints if at least one of them is an error; at most 50, and the number
    /// of further errors. If there are more than 50, warnings are omitted.
    pub fn into_model(self) -> Result<Model, Vec<Diagnostic>> {
        let Self { model, findings, uncounted, .. } = self;
        let mut findings = merge_repeats(findings);
        if !has_errors(&findings) {
            return Ok(Model { warnings: findings, ..model });
        }
        let more = uncounted + truncate(&mut findings, MAX_REPORTED);
        if more > 0 {
            let message = match more {
                1 => "1 more error is not shown".to_owned(),
                _ => format!("{more} more errors are not shown"),
            };
            findings.push(Diagnostic::error(Span::default(), message));
        }
        Err(findings)
    }
}

/// Merges diagnostics with the same cause into the first, to which the positions of the others are added.
fn merge_repeats(findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut first: HashMap<(u8, String), usize> = HashMap::new();
    let mut gathered: Vec<Diagnostic> = Vec::with_capacity(findings.len());
    for finding in findings {
        let key = match finding.repeats.as_ref().and_then(|repeats| repeats.cause) {
            Some(cause) => cause.to_owned(),
            // Diagnostics with related positions are not merged, because these may differ although the message is
            // equal.
            None if !finding.related.is_empty() || finding.span == Span::default() => {
                gathered.push(finding);
                continue;
            }
            None => [finding.message.as_str(), &finding.help.join("\n")].join("\n"),
        };
        match first.entry((finding.severity as u8, key)) {
            Entry::Occupied(known) => {
                gathered[*known.get()].repeats.get_or_insert_default().also.push(finding.span);
            }
            Entry::Vacant(new) => {
                new.insert(gathered.len());
                gathered.push(finding);
            }
        }
    }
    gathered
}

fn has_errors(findings: &[Diagnostic]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}

/// Limits the diagnostics to the first `most`. If there are errors, first removes all hints, and then, if more than
/// `most` diagnostics remain, all warnings. Returns the number of errors removed.
pub(super) fn truncate(findings: &mut Vec<Diagnostic>, most: usize) -> usize {
    if has_errors(findings) {
        // Hints are only useful for a valid configuration.
        findings.retain(|finding| finding.severity != Severity::Hint);
        if findings.len() > most {
            // Warnings must not displace errors.
            findings.retain(|finding| finding.severity == Severity::Error);
        }
    }
    let gone = findings.iter().skip(most).filter(|finding| finding.severity == Severity::Error).count();
    findings.truncate(most);
    gone
}
