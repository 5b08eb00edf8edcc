//! What features have compiled of a level's settings.

use std::any::{Any, TypeId};

/// What features have compiled for a place, found by its type: most places have few of these. What a room below the features is
/// to use is kept as the trait that the room knows (`Box<dyn FolderHandler>`).
#[derive(Default)]
pub struct PlaceFeatures(Vec<(TypeId, Box<dyn Any + Send + Sync>)>);

impl PlaceFeatures {
    /// Keeps what a feature has compiled.
    pub fn keep<T: Any + Send + Sync>(&mut self, compiled: T) {
        self.0.push((TypeId::of::<T>(), Box::new(compiled)));
    }

    /// Gives back the memory that was taken for what features might have kept.
    pub fn settle(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Takes out what a feature has kept, for a place of its own.
    pub fn take<T: Any>(&mut self) -> Option<T> {
        let at = self.0.iter().position(|(id, _)| *id == TypeId::of::<T>())?;
        let kept: Box<dyn Any> = self.0.remove(at).1;
        kept.downcast().ok().map(|kept| *kept)
    }

    /// What a feature has kept; none where it has nothing to do here.
    pub fn get<T: Any>(&self) -> Option<&T> {
        let kept = self.0.iter().find(|(id, _)| *id == TypeId::of::<T>());
        kept.and_then(|(_, compiled)| compiled.downcast_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::PlaceFeatures;

    #[test]
    fn a_feature_finds_what_it_has_kept_and_nothing_of_others() {
        let mut features = PlaceFeatures::default();
        assert_eq!(features.get::<u8>(), None);
        features.keep(1_u8);
        features.keep("text");
        assert_eq!((features.get::<u8>(), features.get::<&str>()), (Some(&1), Some(&"text")));
        assert_eq!(features.get::<u16>(), None);
        assert_eq!((features.take::<u8>(), features.take::<u8>()), (Some(1), None));
    }
}
