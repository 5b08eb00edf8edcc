//! What a feature compiles its settings with: the compiler of the configuration, as far as a feature needs it.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use myriad_conf::model::{HttpConf, ServerName};
use myriad_conf::{Diagnostic, Text};
use myriad_page::PageZone;
use myriad_script::{Assignment, Regex, Template};

/// The compilation of a configuration that is under way.
pub trait SettingsCompiler {
    /// Compiles a text with variables. An error is reported; then the text comes to nothing. Where nobody has said when it is
    /// evaluated, it counts as a part of the rules and of every answer; the two below say it.
    fn template(&mut self, text: &Text) -> Template;

    /// As [`Self::template`], for a text that is evaluated when the answer of the place is made of a page or file that has been
    /// found, and not before.
    fn answer_template(&mut self, text: &Text) -> Template;

    /// As [`Self::template`], for a text that is evaluated for requests alone for which all rules were run: when an origin is asked.
    fn apart_template(&mut self, text: &Text) -> Template;

    /// Compiles the assignment of a value, a text with variables, to a variable, named with its `$`. An error is reported; then
    /// there is none.
    fn assignment(&mut self, variable: &Text, value: &Text) -> Option<Assignment>;

    /// Compiles a regex, case disregarded. An error is reported.
    fn regex(&mut self, pattern: &Text) -> Option<Regex>;

    /// The cache zone of that name, kept from before a reload or made now; none where nothing defines it.
    fn cache_zone(&mut self, name: &str) -> Option<Arc<PageZone>>;

    /// The names of the server that the level stands in.
    fn server_names(&self) -> Vec<ServerName>;

    /// The folder of the configuration, from which the names of its files start.
    fn folder(&self) -> &std::path::Path;

    /// The name or pattern of the location that the level stands in, as it is written; empty outside of one.
    fn location_name(&self) -> &[u8];

    /// Reports an error, so that the configuration is refused.
    fn report(&mut self, error: Diagnostic);

    /// The configuration as a whole.
    fn model(&self) -> &HttpConf;

    /// What features share among their places.
    fn shared(&mut self) -> &mut Shared;
}

impl dyn SettingsCompiler + '_ {
    /// What the places of a feature share: made of the whole configuration where it is first asked for.
    pub fn share<T: Any + Send + Sync>(&mut self, make: impl FnOnce(&HttpConf) -> T) -> Arc<T> {
        if let Some(known) = self.shared().get() {
            return known;
        }
        let made = Arc::new(make(self.model()));
        self.shared().put(&made);
        made
    }
}

/// What features share among their places, by its type.
#[derive(Default)]
pub struct Shared(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Shared {
    fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::downcast(Arc::clone(self.0.get(&TypeId::of::<T>())?)).ok()
    }

    fn put<T: Any + Send + Sync>(&mut self, made: &Arc<T>) {
        self.0.insert(TypeId::of::<T>(), Arc::clone(made) as _);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_is_found_by_its_type() {
        let mut shared = Shared::default();
        assert!(shared.get::<String>().is_none());
        shared.put(&Arc::new("one".to_owned()));
        shared.put(&Arc::new(2_u64));
        assert_eq!(shared.get::<String>().as_deref().map(String::as_str), Some("one"));
        assert_eq!(shared.get::<u64>().as_deref(), Some(&2));
    }
}
