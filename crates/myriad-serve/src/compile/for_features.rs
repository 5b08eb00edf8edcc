//! Implementation of [`SettingsCompiler`], by which features compile their settings.

use std::sync::Arc;

use myriad_conf::model::{HttpConf, ServerName};
use myriad_conf::{Diagnostic, Text};
use myriad_script::{Assignment, Regex, Template};

use super::RuntimeCompiler;
use myriad_exchange::runtime::{SettingsCompiler, Shared};
use myriad_store::page::PageZone;

impl SettingsCompiler for RuntimeCompiler<'_> {
    fn template(&mut self, text: &Text) -> Template {
        RuntimeCompiler::template(self, text)
    }

    fn answer_template(&mut self, text: &Text) -> Template {
        self.in_answer(|compile| compile.template(text))
    }

    fn origin_template(&mut self, text: &Text) -> Template {
        self.after_all_rules(|compile| compile.template(text))
    }

    fn assignment(&mut self, variable: &Text, value: &Text) -> Option<Assignment> {
        let (name, text) = (self.utf8(variable), self.utf8(value));
        self.scripts
            .assignment(name, text)
            .map_err(|error| self.report_script_error(variable.span, error))
            .ok()
    }

    fn regex(&mut self, pattern: &Text) -> Option<Regex> {
        let source = self.utf8(pattern);
        self.scripts.regex(source, true).map_err(|error| self.report_script_error(pattern.span, error)).ok()
    }

    fn cache_zone(&mut self, name: &str) -> Option<Arc<PageZone>> {
        self.zone(name)
    }

    fn server_names(&self) -> Vec<ServerName> {
        self.server_names.clone()
    }

    fn folder(&self) -> &std::path::Path {
        self.environment.folder
    }

    fn location_name(&self) -> &[u8] {
        &self.location_name
    }

    fn report(&mut self, error: Diagnostic) {
        self.errors.push(error);
    }

    fn model(&self) -> &HttpConf {
        self.http
    }

    fn shared(&mut self) -> &mut Shared {
        &mut self.shared
    }
}
