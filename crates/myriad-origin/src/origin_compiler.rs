//! Interface of the configuration compiler for origin protocols.

use std::sync::Arc;

use myriad_conf::settings::{OriginSettings, Settings};
use myriad_conf::{Span, Text};
use myriad_script::{Regex, Template};

use myriad_exchange::runtime::{OriginGroup, OriginTarget, OriginTlsPlace, ResolverPlace, SettingsCompiler};

/// Compiler of a location with an origin.
pub trait OriginCompiler: SettingsCompiler {
    /// Compiles a text that becomes part of a cache key; its variables count as read while the request is routed.
    fn rule_template(&mut self, text: &Text) -> Template;

    /// Compiles a regular expression; `None` after an error, which is reported.
    fn pattern(&mut self, pattern: &Text, caseless: bool) -> Option<Regex>;

    /// Returns the upstream group with this name, otherwise a new group with this address. `written` is the text in the
    /// configuration, for error messages.
    fn address(&mut self, name: &str, written: &Text) -> OriginTarget;

    /// Returns the `upstream` block with this name, compared case-insensitively; `None` if there is none.
    fn named_upstream(&self, name: &str) -> Option<Arc<OriginGroup>>;

    /// Compiles the TLS settings of an origin; `at` is the position of its `*_pass` directive. `None` after an error,
    /// which is reported.
    fn tls(&mut self, origin: &OriginSettings, at: Span) -> Option<OriginTlsPlace>;

    /// Returns the resolver of the location for names that are only known at request time; `None` without `resolver`.
    fn name_resolver(&mut self, settings: &Settings) -> Option<ResolverPlace>;
}

impl dyn OriginCompiler + '_ {
    /// Compiles the target of `*_pass`: a template if it contains variables, otherwise the group or address that it
    /// names.
    pub fn target(&mut self, target: &Text) -> OriginTarget {
        if target.has_variables() {
            return OriginTarget::Variable(self.origin_template(target));
        }
        self.address(&target.lossy(), target)
    }
}
