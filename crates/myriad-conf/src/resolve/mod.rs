//! Resolves a syntax tree into a [`Model`].
//!
//! Each block is processed in two steps: first its simple directives are applied to a copy of the settings of the outer
//! level, then its inner blocks are resolved, starting from the result. The order of simple directives and blocks does
//! therefore not matter.

pub(crate) mod acme;
mod builder;
mod checks;
mod default_settings;
mod folders;
mod hints;
mod http;
mod level;
mod location;
mod lost_definitions;
mod stream;
mod survey;

use crate::{
    diagnostic::Diagnostic,
    model::{HttpConf, MainConf, Model},
    parsed::{Node, ParsedConfiguration},
    registry::{BlockKind, Contexts, Registry, Set},
};
use builder::Builder;
pub use default_settings::defaults;
use level::OpenLevel;
use lost_definitions::LostDefinitions;
pub use survey::Survey;
use survey::{MAX_FINDINGS, truncate};

/// Checks a parsed configuration against the registry and resolves it. Errors of all files are reported together.
///
/// # Errors
/// Returns the diagnostics, as [`Survey::into_model`] does, if at least one of them is an error.
pub fn build(parsed: &ParsedConfiguration, registry: &Registry) -> Result<Model, Vec<Diagnostic>> {
    survey(parsed, registry).into_model()
}

/// Resolves a configuration like [`build`], but returns the valid parts even if there are errors.
pub fn survey(parsed: &ParsedConfiguration, registry: &Registry) -> Survey {
    let mut builder = Builder { parsed, registry, findings: parsed.errors.clone(), uses: Vec::new() };
    let (main, mut http, stream) = builder.main(&parsed.nodes);
    if let Some(http) = &mut http {
        builder.check_acme(http);
        builder.check_uses(http, "http");
        builder.check_servers(http);
        builder.check_zones(http);
        for examine in registry.http_examinations() {
            examine(http, &mut builder.findings);
        }
    }
    if let Some(stream) = &stream {
        builder.check_stream(stream, http.as_ref());
    }
    let mut findings = builder.findings;
    let lost = LostDefinitions::by(parsed, &findings);
    // Errors of the parser are first, and are never consequences of others.
    let own = findings.split_off(parsed.errors.len());
    findings.extend(own.into_iter().filter(|finding| !lost.explains(finding)));
    findings.sort_by_key(|finding| finding.span);
    let uncounted = truncate(&mut findings, MAX_FINDINGS);
    Survey { model: Model { main, http, stream, warnings: Vec::new() }, findings, lost, uncounted }
}

impl Builder<'_> {
    fn main(&mut self, nodes: &[Node]) -> (MainConf, Option<HttpConf>, Option<HttpConf>) {
        let mut main = default_settings::main_conf(self.registry);
        let (mut http, mut stream) = (None, None);
        let mut level = OpenLevel::new(Contexts::MAIN);
        for node in nodes {
            let Some(mut args) = self.accept(node, &mut level) else { continue };
            match args.directive.set {
                Set::Main(set) => {
                    let done = set(&mut main, &mut args);
                    self.note(done);
                }
                Set::Block(BlockKind::Events) => self.events(node, &mut main),
                Set::Block(BlockKind::Http) => http = Some(self.http(node)),
                Set::Block(BlockKind::Stream) => stream = Some(self.stream(node)),
                _ => {}
            }
        }
        (main, http, stream)
    }

    fn events(&mut self, node: &Node, main: &mut MainConf) {
        let mut level = OpenLevel::new(Contexts::EVENTS);
        for node in node.block.iter().flatten() {
            let Some(mut args) = self.accept(node, &mut level) else { continue };
            if let Set::Main(set) = args.directive.set {
                let done = set(main, &mut args);
                self.note(done);
            }
        }
    }
}
