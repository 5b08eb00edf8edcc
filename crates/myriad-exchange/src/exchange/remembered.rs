//! What features remember of a request.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::rc::Rc;

/// What features remember of a request from one of its steps to the next, each under a type of its own; most requests have nothing.
#[derive(Default)]
pub struct Remembered(RefCell<Vec<(TypeId, Rc<dyn Any>)>>);

impl Remembered {
    /// What is remembered, which is made where there is nothing yet.
    pub fn get_or_make<T: Any>(&self, make: impl FnOnce() -> T) -> Rc<T> {
        let known =
            self.0.borrow().iter().find(|(id, _)| *id == TypeId::of::<T>()).map(|(_, kept)| Rc::clone(kept));
        if let Some(Ok(known)) = known.map(Rc::downcast) {
            return known;
        }
        let made = Rc::new(make());
        self.0.borrow_mut().push((TypeId::of::<T>(), Rc::<T>::clone(&made)));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::Remembered;

    #[test]
    fn what_was_made_stays_and_is_told_apart_by_its_type() {
        let remembered = Remembered::default();
        assert_eq!(*remembered.get_or_make(|| 1_u8), 1);
        assert_eq!(*remembered.get_or_make(|| 2_u8), 1);
        assert_eq!(*remembered.get_or_make(|| 2_u16), 2);
    }
}
