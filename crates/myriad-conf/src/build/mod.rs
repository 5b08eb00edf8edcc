//! Syntax tree to [`Model`].
//!
//! Each block is walked twice: first its plain directives, laid over a copy of what the level around it says, then its
//! inner blocks, which start from the outcome. So it does not matter whether a directive stands before or after a block.

pub(crate) mod acme;
mod checks;
mod folders;
mod hints;
mod http;
mod level;
mod location;
mod lost;
mod unkeyed;

use std::collections::HashSet;

use crate::{
    diagnostic::{Diagnostic, Severity},
    model::{HttpConf, MainConf, Model},
    parsed::{Node, Parsed},
    registry::{Block, Contexts, Set, Use},
    span::Span,
};
use level::Level;
use lost::Lost;

/// After so many findings the rest is noise.
const MAX_FINDINGS: usize = 200;
/// Errors that are told at once; of more, how many there are.
const MAX_TOLD: usize = 50;

/// A configuration as far as it was understood: with errors, for those who look for more of them.
#[derive(Debug)]
pub struct Survey {
    /// Without what was wrong. Fit to run where [`Survey::is_sound`].
    pub model: Model,
    /// Everything that was found, by its place.
    pub findings: Vec<Diagnostic>,
    lost: Lost,
    /// Errors beyond those that are kept.
    uncounted: usize,
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
        let Self { model, mut findings, uncounted, .. } = self;
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

fn has_errors(findings: &[Diagnostic]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}

/// Leaves so many findings at most. Returns how many errors are gone.
fn bound(findings: &mut Vec<Diagnostic>, most: usize) -> usize {
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

/// Checks a configuration against the registry and resolves it; every error of every file comes back at once.
///
/// # Errors
/// Everything that was found, where there is an error among it.
pub fn build(parsed: &Parsed) -> Result<Model, Vec<Diagnostic>> {
    survey(parsed).into_model()
}

/// The same for who goes on with what could be understood.
pub fn survey(parsed: &Parsed) -> Survey {
    let mut builder = Builder { parsed, findings: parsed.errors.clone(), uses: Vec::new() };
    let (main, mut http) = builder.main(&parsed.nodes);
    if let Some(http) = &mut http {
        builder.check_acme(http);
        builder.check_uses(http);
        builder.check_servers(http);
        builder.check_zones(http);
        builder.hint_at_keys(http);
        builder.hint_at_unkeyed_input(http);
    }
    let mut findings = builder.findings;
    let lost = Lost::by(parsed, &findings);
    // Those of the parser come first, and follow from nothing.
    let own = findings.split_off(parsed.errors.len());
    findings.extend(own.into_iter().filter(|finding| !lost.explains(finding)));
    findings.sort_by_key(|finding| finding.span);
    let uncounted = bound(&mut findings, MAX_FINDINGS);
    Survey { model: Model { main, http, warnings: Vec::new() }, findings, lost, uncounted }
}

/// What is collected on the way.
struct Builder<'p> {
    parsed: &'p Parsed,
    findings: Vec<Diagnostic>,
    uses: Vec<Use>,
}

impl Builder<'_> {
    fn main(&mut self, nodes: &[Node]) -> (MainConf, Option<HttpConf>) {
        let mut main = MainConf::default();
        let mut http = None;
        let mut level = Level::new(Contexts::MAIN);
        for node in nodes {
            let Some(mut args) = self.accept(node, &mut level) else { continue };
            match args.directive.set {
                Set::Main(set) => {
                    let done = set(&mut main, &mut args);
                    self.note(done);
                }
                Set::Block(Block::Events) => self.events(node, &mut main),
                Set::Block(Block::Http) => http = Some(self.http(node)),
                _ => {}
            }
        }
        (main, http)
    }

    fn events(&mut self, node: &Node, main: &mut MainConf) {
        let mut level = Level::new(Contexts::EVENTS);
        for node in node.block.iter().flatten() {
            let Some(mut args) = self.accept(node, &mut level) else { continue };
            if let Set::Main(set) = args.directive.set {
                let done = set(main, &mut args);
                self.note(done);
            }
        }
    }

    /// Keeps the value, or the error.
    fn note<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|diagnostic| self.findings.push(diagnostic)).ok()
    }
}
