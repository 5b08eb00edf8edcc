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

/// How many of the values of a type that were made last are compared with a new one. Those that a level is like stand around it
/// mostly: a few are enough, however many thousands there are.
const COMPARED: usize = 8;

/// What places share, by its type.
#[derive(Default)]
pub struct Shared {
    /// What features share among all their places.
    made: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    /// The values that were made last: of each type a `Vec<Arc<T>>`, the latest use first.
    latest: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
}

impl Shared {
    fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::downcast(Arc::clone(self.made.get(&TypeId::of::<T>())?)).ok()
    }

    fn put<T: Any + Send + Sync>(&mut self, made: &Arc<T>) {
        self.made.insert(TypeId::of::<T>(), Arc::clone(made) as _);
    }

    /// What was made, or what is like it and was made shortly before: so that equal parts of places are one piece of memory.
    pub fn alike<T: PartialEq + Any + Send + Sync>(&mut self, made: T) -> Arc<T> {
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
        let first = shared.alike("one".to_owned());
        let other = shared.alike("other".to_owned());
        assert!(!Arc::ptr_eq(&first, &other));
        assert!(Arc::ptr_eq(&first, &shared.alike("one".to_owned())));
        assert_eq!(*shared.alike(1_u64), 1, "each type for itself");
        // The latest use counts, and what was not used for long is made anew.
        for number in 0..COMPARED - 1 {
            shared.alike(number.to_string());
        }
        assert!(Arc::ptr_eq(&first, &shared.alike("one".to_owned())));
        assert!(!Arc::ptr_eq(&other, &shared.alike("other".to_owned())));
    }
}
