//! Copy-on-write groups of settings, shared between levels.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Group of settings that a clone shares until one of the two is changed, so that a location only uses memory for the
/// groups that it changes. This matters for configurations with fifty thousand locations, most of which change few
/// groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyOnWrite<T>(Arc<T>);

impl<T> Deref for CopyOnWrite<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for CopyOnWrite<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T> From<T> for CopyOnWrite<T> {
    fn from(group: T) -> Self {
        Self(Arc::new(group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_shares_group_until_it_changes_it() {
        let outer = CopyOnWrite::from(vec![1]);
        let mut inner = outer.clone();
        assert!(Arc::ptr_eq(&inner.0, &outer.0));
        inner.push(2);
        assert!(!Arc::ptr_eq(&inner.0, &outer.0));
        assert_eq!((&*outer, &*inner), (&vec![1], &vec![1, 2]));
    }
}
