//! Implementation of [`OriginCompiler`], by which origin protocols compile their settings.

use myriad_origin::OriginCompiler;
use std::sync::Arc;

use myriad_conf::settings::{OriginSettings, Settings};
use myriad_conf::{Span, Text};
use myriad_script::{Regex, Template};

use super::RuntimeCompiler;
use myriad_exchange::runtime::{OriginGroup, OriginTarget, OriginTlsPlace, ResolverPlace};

impl OriginCompiler for RuntimeCompiler<'_> {
    fn rule_template(&mut self, text: &Text) -> Template {
        self.in_rules(|compile| compile.template(text))
    }

    fn pattern(&mut self, pattern: &Text, caseless: bool) -> Option<Regex> {
        let source = self.utf8(pattern);
        self.scripts
            .regex(source, caseless)
            .map_err(|error| self.report_script_error(pattern.span, error))
            .ok()
    }

    fn address(&mut self, name: &str, written: &Text) -> OriginTarget {
        if let Some(group) = self.groups.get(name) {
            return OriginTarget::Group(Arc::clone(group));
        }
        let config = self.single_group(name, written);
        OriginTarget::Group(self.add_group(config, None, None))
    }

    fn named_upstream(&self, name: &str) -> Option<Arc<OriginGroup>> {
        let upstream =
            self.http.upstreams.iter().find(|upstream| upstream.name.eq_ignore_ascii_case(name))?;
        self.groups.get(&upstream.name).map(Arc::clone)
    }

    fn tls(&mut self, origin: &OriginSettings, at: Span) -> Option<OriginTlsPlace> {
        self.origin_tls(origin, at)
    }

    fn name_resolver(&mut self, settings: &Settings) -> Option<ResolverPlace> {
        self.resolver(settings)
    }
}
