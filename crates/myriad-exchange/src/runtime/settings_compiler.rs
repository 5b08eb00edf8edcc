//! Interface of the configuration compiler for features.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use myriad_conf::model::{HttpConf, ServerName};
use myriad_conf::{Diagnostic, Text};
use myriad_script::{Assignment, Regex, Template};
use myriad_store::page::PageZone;

/// Compilation of a configuration.
pub trait SettingsCompiler {
    /// Compiles a text with variables. An error is reported; the text is then empty. The text is treated as an input of
    /// the rules and of every response; the two methods below declare a narrower use.
    fn template(&mut self, text: &Text) -> Template;

    /// Compiles like [`Self::template`] a text that is evaluated only when the response of the place is built from a
    /// page or file that has been found.
    fn answer_template(&mut self, text: &Text) -> Template;

    /// Compiles like [`Self::template`] a text that is evaluated only for requests that have run all rules: requests to
    /// an origin.
    fn origin_template(&mut self, text: &Text) -> Template;

    /// Compiles the assignment of a text with variables to a variable, named with its `$`. Returns `None` after an
    /// error, which is reported.
    fn assignment(&mut self, variable: &Text, value: &Text) -> Option<Assignment>;

    /// Compiles a case-insensitive regex. An error is reported.
    fn regex(&mut self, pattern: &Text) -> Option<Regex>;

    /// Returns the cache zone of that name, retained over a reload or newly created; `None` if it is not defined.
    fn cache_zone(&mut self, name: &str) -> Option<Arc<PageZone>>;

    /// Returns the names of the server that contains the level.
    fn server_names(&self) -> Vec<ServerName>;

    /// Returns the folder of the configuration, against which file names are resolved.
    fn folder(&self) -> &std::path::Path;

    /// Returns the name or pattern, as written, of the location that contains the level; empty outside of locations.
    fn location_name(&self) -> &[u8];

    /// Reports an error, which makes the configuration invalid.
    fn report(&mut self, error: Diagnostic);

    /// Returns the complete configuration.
    fn model(&self) -> &HttpConf;

    /// Returns the state that features share among their places.
    fn shared(&mut self) -> &mut Shared;
}

impl dyn SettingsCompiler + '_ {
    /// Returns the state that the places of a feature share. It is created from the complete configuration on first
    /// use.
    pub fn share<T: Any + Send + Sync>(&mut self, make: impl FnOnce(&HttpConf) -> T) -> Arc<T> {
        if let Some(known) = self.shared().get() {
            return known;
        }
        let made = Arc::new(make(self.model()));
        self.shared().put(&made);
        made
    }
}

/// Number of the latest values of a type that are compared with a new value. Levels with equal settings are usually
/// adjacent, so a few are sufficient for thousands of levels.
const COMPARED: usize = 8;

/// State shared by places, by type.
#[derive(Default)]
pub struct Shared {
    /// State that features share among all their places.
    made: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    /// Latest values of each type as a `Vec<Arc<T>>`, most recently used first.
    latest: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
}

impl Shared {
    fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::downcast(Arc::clone(self.made.get(&TypeId::of::<T>())?)).ok()
    }

    fn put<T: Any + Send + Sync>(&mut self, made: &Arc<T>) {
        self.made.insert(TypeId::of::<T>(), Arc::clone(made) as _);
    }

    /// Returns an equal recent value if one exists, otherwise `made`, so that equal parts of places share memory.
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
        assert_eq!(*shared.deduplicate(1_u64), 1, "each type for itself");
        // The order is by last use; a value that was not used recently is created again.
        for number in 0..COMPARED - 1 {
            shared.deduplicate(number.to_string());
        }
        assert!(Arc::ptr_eq(&first, &shared.deduplicate("one".to_owned())));
        assert!(!Arc::ptr_eq(&other, &shared.deduplicate("other".to_owned())));
    }
}
