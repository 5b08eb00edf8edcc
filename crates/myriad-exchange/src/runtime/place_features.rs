//! Compiled settings of features for a location.

use std::any::{Any, TypeId};

/// Compiled settings of features for a location, by type; most locations have few. Settings that a module of a lower
/// layer uses are stored as a trait object of that module, such as `Box<dyn FolderHandler>`.
#[derive(Default)]
pub struct PlaceFeatures(Vec<(TypeId, Box<dyn Any + Send + Sync>)>);

impl PlaceFeatures {
    /// Stores the compiled settings of a feature, whose type identifies the feature.
    pub fn insert<T: Any + Send + Sync>(&mut self, compiled: T) {
        self.0.push((TypeId::of::<T>(), Box::new(compiled)));
    }

    /// Frees unused capacity.
    pub fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Removes and returns the settings of type `T`, which the caller stores elsewhere; `None` if there are none.
    pub fn take<T: Any>(&mut self) -> Option<T> {
        let at = self.0.iter().position(|(id, _)| *id == TypeId::of::<T>())?;
        let compiled: Box<dyn Any> = self.0.remove(at).1;
        compiled.downcast().ok().map(|kept| *kept)
    }

    /// Returns the settings of type `T`; `None` if the feature is not active in this location.
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
