//! Syntax tree to [`Model`].
//!
//! Each block is walked twice: first its plain directives, laid over a copy of what the level around it says, then its
//! inner blocks, which start from the outcome. So it does not matter whether a directive stands before or after a block.

pub(crate) mod acme;
mod checks;
mod http;
mod level;
mod location;

use crate::{
    diagnostic::{Diagnostic, Severity},
    model::{HttpConf, MainConf, Model},
    parsed::{Node, Parsed},
    registry::{Block, Contexts, Set, Use},
};
use level::Level;

/// After so many findings the rest is noise.
const MAX_FINDINGS: usize = 200;

/// Checks a configuration against the registry and resolves it; every error of every file comes back at once.
pub fn build(parsed: &Parsed) -> Result<Model, Vec<Diagnostic>> {
    let mut builder = Builder { parsed, findings: parsed.errors.clone(), uses: Vec::new() };
    let (main, mut http) = builder.main(&parsed.nodes);
    if let Some(http) = &mut http {
        builder.check_acme(http);
        builder.check_uses(http);
        builder.check_servers(http);
    }
    let mut findings = builder.findings;
    findings.sort_by_key(|finding| finding.span);
    let is_refused = findings.iter().any(|finding| finding.severity == Severity::Error);
    if is_refused && findings.len() > MAX_FINDINGS {
        // Warnings, however many, hide no error.
        findings.retain(|finding| finding.severity == Severity::Error);
    }
    findings.truncate(MAX_FINDINGS);
    if is_refused {
        return Err(findings);
    }
    Ok(Model { main, http, warnings: findings })
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
