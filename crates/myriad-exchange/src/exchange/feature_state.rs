//! State that optional features attach to a request.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::rc::Rc;

/// State that optional features attach to a request, one value per type. Most requests have none.
#[derive(Default)]
pub struct FeatureState(RefCell<Vec<(TypeId, Rc<dyn Any>)>>);

impl FeatureState {
    /// Returns the request's value of type `T`; `None` if it has none.
    pub fn get<T: Any>(&self) -> Option<Rc<T>> {
        let known =
            self.0.borrow().iter().find(|(id, _)| *id == TypeId::of::<T>()).map(|(_, kept)| Rc::clone(kept));
        known.and_then(|known| known.downcast().ok())
    }

    /// Returns the request's value of type `T`, which `make` creates on the first call.
    pub fn get_or_make<T: Any>(&self, make: impl FnOnce() -> T) -> Rc<T> {
        if let Some(known) = self.get() {
            return known;
        }
        let made = Rc::new(make());
        self.0.borrow_mut().push((TypeId::of::<T>(), Rc::<T>::clone(&made)));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::FeatureState;

    #[test]
    fn first_value_of_each_type_is_retained() {
        let remembered = FeatureState::default();
        assert_eq!(remembered.get::<u8>(), None);
        assert_eq!(*remembered.get_or_make(|| 1_u8), 1);
        assert_eq!(*remembered.get_or_make(|| 2_u8), 1);
        assert_eq!(*remembered.get_or_make(|| 2_u16), 2);
    }
}
