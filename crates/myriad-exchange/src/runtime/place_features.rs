//! Compiled feature settings of a level.

use std::any::{Any, TypeId};

/// Compiled feature settings of a place, by type; most places have few. Settings used by a module that features depend
/// on are stored as a trait object of that module (`Box<dyn FolderHandler>`).
#[derive(Default)]
pub struct PlaceFeatures(Vec<(TypeId, Box<dyn Any + Send + Sync>)>);

impl PlaceFeatures {
    /// Stores the compiled settings of a feature.
    pub fn insert<T: Any + Send + Sync>(&mut self, compiled: T) {
        self.0.push((TypeId::of::<T>(), Box::new(compiled)));
    }

    /// Frees unused capacity.
    pub fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Removes and returns the settings of a feature, for storage in a dedicated field.
    pub fn take<T: Any>(&mut self) -> Option<T> {
        let at = self.0.iter().position(|(id, _)| *id == TypeId::of::<T>())?;
        let compiled: Box<dyn Any> = self.0.remove(at).1;
        compiled.downcast().ok().map(|kept| *kept)
    }

    /// Returns the settings of a feature; `None` if it is not active in this place.
    pub fn get<T: Any>(&self) -> Option<&T> {
        let compiled = self.0.iter().find(|(id, _)| *id == TypeId::of::<T>());
        compiled.and_then(|(_, compiled)| compiled.downcast_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::PlaceFeatures;

    #[test]
    fn feature_finds_only_its_own_stored_value() {
        let mut features = PlaceFeatures::default();
        assert_eq!(features.get::<u8>(), None);
        features.insert(1_u8);
        features.insert("text");
        assert_eq!((features.get::<u8>(), features.get::<&str>()), (Some(&1), Some(&"text")));
        assert_eq!(features.get::<u16>(), None);
        assert_eq!((features.take::<u8>(), features.take::<u8>()), (Some(1), None));
    }
}
