//! Interface through which features compile their settings.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use myriad_conf::model::{HttpConf, ServerName};
use myriad_conf::{Diagnostic, Text};
use myriad_script::{Assignment, Regex, Template};
use myriad_store::page::PageZone;

/// Compiler of a configuration, as features use it. Errors are reported through [`Self::report`] and make the
/// configuration invalid.
pub trait SettingsCompiler {
    /// Compiles a text with variables; after an error, the result is an empty text. The variables count as inputs of
    /// routing and of every response, which may exclude requests from the shortcut; [`Self::answer_template`] and
    /// [`Self::origin_template`] declare a narrower use.
    fn template(&mut self, text: &Text) -> Template;

    /// Like [`Self::template`], for a text that is evaluated only when a response is built from a page or file that has
    /// been found.
    fn answer_template(&mut self, text: &Text) -> Template;

    /// Like [`Self::template`], for a text that is evaluated only for requests that do not use the shortcut: requests
    /// to an origin.
    fn origin_template(&mut self, text: &Text) -> Template;

    /// Compiles the assignment of a text with variables to a variable, whose name includes `$`. Returns `None` after an
    /// error.
    fn assignment(&mut self, variable: &Text, value: &Text) -> Option<Assignment>;

    /// Compiles a case-insensitive regular expression. Returns `None` after an error.
    fn regex(&mut self, pattern: &Text) -> Option<Regex>;

    /// Returns the cache zone with a name, new or retained from the previous configuration; `None` if it is not
    /// defined.
    fn cache_zone(&mut self, name: &str) -> Option<Arc<PageZone>>;

    /// Returns the `server_name`s of the server that contains the level being compiled.
    fn server_names(&self) -> Vec<ServerName>;

    /// Returns the folder against which file names in the configuration are resolved.
    fn folder(&self) -> &std::path::Path;

    /// Returns the prefix or pattern, as written, of the location being compiled; empty outside of locations.
    fn location_name(&self) -> &[u8];

    /// Reports an error, which makes the configuration invalid.
    fn report(&mut self, error: Diagnostic);

    /// Returns the complete configuration.
    fn model(&self) -> &HttpConf;

    /// Returns the state that locations share while a configuration is compiled.
    fn shared(&mut self) -> &mut Shared;
}

impl dyn SettingsCompiler + '_ {
    /// Returns the state of type `T` that all locations share. The first call creates it with `make` from the
    /// configuration.
    pub fn share<T: Any + Send + Sync>(&mut self, make: impl FnOnce(&HttpConf) -> T) -> Arc<T> {
        if let Some(known) = self.shared().get() {
            return known;
        }
        let made = Arc::new(make(self.model()));
        self.shared().put(&made);
        made
    }
}

/// Number of recent values of a type that are compared with a new one. Levels with equal settings are usually adjacent,
/// so few suffice for thousands of levels.
const COMPARED: usize = 8;

/// State that locations share while a configuration is compiled, by type.
#[derive(Default)]
pub struct Shared {
    /// Values created by `share`, one per type.
    made: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    /// Recent values of each type as a `Vec<Arc<T>>`, most recently used first.
    latest: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
}

impl Shared {
    fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::downcast(Arc::clone(self.made.get(&TypeId::of::<T>())?)).ok()
    }

    fn put<T: Any + Send + Sync>(&mut self, made: &Arc<T>) {
        self.made.insert(TypeId::of::<T>(), Arc::clone(made) as _);
    }

    /// Returns an equal recent value if there is one, otherwise `made`, so that equal settings of levels share memory.
    pub fn deduplicate<T: PartialEq + Any + Send + Sync>(&mut self, made: T) -> Arc<T> {
        let latest = self.latest.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(Vec::<Arc<T>>::new()));
        let Some(latest) = (&mut **latest as &mut dyn Any).downcast_mut::<Vec<Arc<T>>>() else {
            return Arc::new(made);
        };
        let found = match latest.iter().position(|known| **known == made) {
            Some(at) => latest.remove(at),
            None => Arc::new(made),
        };
        latest.truncate(COMPARED - 1);
        latest.insert(0, Arc::clone(&found));
        found
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

    #[test]
    fn equal_values_that_are_made_one_after_another_are_one() {
        let mut shared = Shared::default();
        let first = shared.deduplicate("one".to_owned());
        let other = shared.deduplicate("other".to_owned());
        assert!(!Arc::ptr_eq(&first, &other));
        assert!(Arc::ptr_eq(&first, &shared.deduplicate("one".to_owned())));
        assert_eq!(*shared.deduplicate(1_u64), 1, "types are compared separately");
        // Values are ordered by last use. A value that was not used recently is stored again.
        for number in 0..COMPARED - 1 {
            shared.deduplicate(number.to_string());
        }
        assert!(Arc::ptr_eq(&first, &shared.deduplicate("one".to_owned())));
        assert!(!Arc::ptr_eq(&other, &shared.deduplicate("other".to_owned())));
    }
}
