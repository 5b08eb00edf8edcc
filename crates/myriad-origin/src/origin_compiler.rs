//! What a protocol compiles its settings with: the compiler of the configuration, as far as a protocol needs it.

use std::sync::Arc;

use myriad_conf::settings::{OriginTlsSettings, Settings};
use myriad_conf::{Span, Text};
use myriad_script::{Regex, Template};

use myriad_exchange::runtime::{OriginGroup, OriginTlsPlace, ResolverPlace, SettingsCompiler, Target};

/// The compilation of a place that asks an origin.
pub trait OriginCompiler: SettingsCompiler {
    /// Compiles a text of which the key of a stored page is made, so that rules have it.
    fn rule_template(&mut self, text: &Text) -> Template;

    /// Compiles a regex; an error is reported.
    fn pattern(&mut self, pattern: &Text, caseless: bool) -> Option<Regex>;

    /// The group of that name, else one made of an address; `written` is where it stands.
    fn address(&mut self, name: &str, written: &Text) -> Target;

    /// The `upstream` block of that name, without regard to case.
    fn named_upstream(&self, name: &str) -> Option<Arc<OriginGroup>>;

    /// TLS with an origin that is asked at `at`; none where the settings have errors, which are reported.
    fn tls(&mut self, settings: &OriginTlsSettings, at: Span) -> Option<OriginTlsPlace>;

    /// Where names are looked up that are known only when a request comes; none without `resolver`.
    fn name_resolver(&mut self, settings: &Settings) -> Option<ResolverPlace>;
}

impl dyn OriginCompiler + '_ {
    /// Who is asked: a template where the target holds variables, else the group or address that it names.
    pub fn target(&mut self, target: &Text) -> Target {
        if target.has_variables() {
            return Target::Variable(self.apart_template(target));
        }
        self.address(&target.lossy(), target)
    }
}
