//! What was found in a configuration, and how much of it is told.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::lost::Lost;
use crate::{
    diagnostic::{Diagnostic, Severity},
    model::Model,
    span::Span,
};

/// Most findings that are kept; the rest is noise.
pub(super) const MAX_FINDINGS: usize = 200;
/// Most errors that are told at once; of more it is told how many there are.
const MAX_TOLD: usize = 50;

/// A configuration as far as it was understood: with errors, for those who look for more of them.
#[derive(Debug)]
pub struct Survey {
    /// The model without what was wrong. Fit to run where [`Survey::is_sound`].
    pub model: Model,
    /// Everything that was found, by its place.
    pub findings: Vec<Diagnostic>,
    pub(super) lost: Lost,
    /// Errors beyond those that are kept.
    pub(super) uncounted: usize,
}

impl Survey {
    /// Whether there is no error.
    pub fn is_sound(&self) -> bool {
        !has_errors(&self.findings)
    }

    /// Adds what a later stage found in the model. An error that one of those before it explains is left out, as is one that
    /// is there already: many levels inherit one directive.
    pub fn add(&mut self, found: impl IntoIterator<Item = Diagnostic>) {
        let of = |finding: &Diagnostic| (finding.span, finding.message.clone());
        let mut known: HashSet<(Span, String)> = self.findings.iter().map(of).collect();
        let found = found.into_iter().filter(|finding| !self.lost.explains(finding));
        let new: Vec<Diagnostic> = found.filter(|finding| known.insert(of(finding))).collect();
        self.findings.extend(new);
        self.findings.sort_by_key(|finding| finding.span);
        self.uncounted += bound(&mut self.findings, MAX_FINDINGS);
    }

    /// The model, its warnings and hints with it.
    ///
    /// # Errors
    /// Everything that was found, where there is an error among it.
    pub fn into_model(self) -> Result<Model, Vec<Diagnostic>> {
        let Self { model, findings, uncounted, .. } = self;
        let mut findings = gathered(findings);
        if !has_errors(&findings) {
            return Ok(Model { warnings: findings, ..model });
        }
        let more = uncounted + bound(&mut findings, MAX_TOLD);
        if more > 0 {
            let message = format!("{more} more errors are not shown");
            findings.push(Diagnostic::error(Span::default(), message));
        }
        Err(findings)
    }
}

/// Merges findings of one cause into the first of them, which lists the places of the others.
fn gathered(findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut first: HashMap<(u8, String), usize> = HashMap::new();
    let mut gathered: Vec<Diagnostic> = Vec::with_capacity(findings.len());
    for finding in findings {
        let key = match finding.repeats.as_ref().and_then(|repeats| repeats.cause) {
            Some(cause) => cause.to_owned(),
            // The related places differ where the message does not.
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

/// Leaves so many findings at most. Returns how many errors are gone.
pub(super) fn bound(findings: &mut Vec<Diagnostic>, most: usize) -> usize {
    if has_errors(findings) {
        // A hint is for who has a configuration that works.
        findings.retain(|finding| finding.severity != Severity::Hint);
        if findings.len() > most {
            // Warnings, however many, hide no error.
            findings.retain(|finding| finding.severity == Severity::Error);
        }
    }
    let gone = findings.iter().skip(most).filter(|finding| finding.severity == Severity::Error).count();
    findings.truncate(most);
    gone
}
