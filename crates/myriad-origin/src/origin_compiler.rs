//! Interface of the configuration compiler that protocols use.

use std::sync::Arc;

use myriad_conf::settings::{OriginSettings, Settings};
use myriad_conf::{Span, Text};
use myriad_script::{Regex, Template};

use myriad_exchange::runtime::{OriginGroup, OriginTarget, OriginTlsPlace, ResolverPlace, SettingsCompiler};

/// Compiler of a place with an origin.
pub trait OriginCompiler: SettingsCompiler {
    /// Compiles a text that is part of the key of a stored page, so that it is available to rules.
    fn rule_template(&mut self, text: &Text) -> Template;

    /// Compiles a regular expression. Errors are reported.
    fn pattern(&mut self, pattern: &Text, caseless: bool) -> Option<Regex>;

    /// Returns the group of that name, else a new group with that address. `written` is its position in the
    /// configuration.
    fn address(&mut self, name: &str, written: &Text) -> OriginTarget;

    /// Returns the `upstream` block of that name, compared case-insensitively.
    fn named_upstream(&self, name: &str) -> Option<Arc<OriginGroup>>;

    /// Compiles the TLS settings of an origin; `at` is the position of its `*_pass` directive. Returns `None` if the settings have errors, which are reported.
    fn tls(&mut self, origin: &OriginSettings, at: Span) -> Option<OriginTlsPlace>;

    /// Returns the resolver for names that are only known at request time; `None` without `resolver`.
    fn name_resolver(&mut self, settings: &Settings) -> Option<ResolverPlace>;
}

impl dyn OriginCompiler + '_ {
    /// Compiles a target: a template if it contains variables, else the named group or address.
    pub fn target(&mut self, target: &Text) -> OriginTarget {
        if target.has_variables() {
            return OriginTarget::Variable(self.origin_template(target));
        }
        self.address(&target.lossy(), target)
    }
}
