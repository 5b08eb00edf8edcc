//! Settings of features, stored by type, so that this crate does not depend on the features.

use std::any::{Any, TypeId};
use std::fmt::Debug;
use std::sync::Arc;

use super::CopyOnWrite;

/// Settings of a feature on a level. Implement with [`feature_settings!`](crate::feature_settings).
pub trait FeatureSettings: Any + Clone + Debug + Default + PartialEq + Send + Sync {
    /// Returns the defaults, which apply if none of the feature's directives is set.
    fn unwritten() -> &'static Self;

    /// Returns the settings with which an inner level starts, if these differ from `self`. `None` if the inner level
    /// inherits `self` unchanged, which is right for most directives.
    fn within(&self) -> Option<Self> {
        None
    }
}

/// `feature_settings!(Autoindex)` implements [`FeatureSettings`](crate::settings::FeatureSettings) for a type, with its
/// [`Default`] as defaults. A second argument implements `within`.
#[macro_export]
macro_rules! feature_settings {
    ($settings:ty) => {
        $crate::feature_settings!($settings, |_| None);
    };
    ($settings:ty, $within:expr) => {
        impl $crate::settings::FeatureSettings for $settings {
            fn unwritten() -> &'static Self {
                static UNWRITTEN: std::sync::LazyLock<$settings> = std::sync::LazyLock::new(Default::default);
                &UNWRITTEN
            }

            fn within(&self) -> Option<Self> {
                let within: fn(&Self) -> Option<Self> = $within;
                within(self)
            }
        }
    };
}

/// Object-safe form of [`FeatureSettings`], in which settings of different features are stored together.
trait ErasedSettings: Any + Debug + Send + Sync {
    fn within(&self) -> Option<Arc<dyn ErasedSettings>>;

    fn equals(&self, other: &dyn ErasedSettings) -> bool;
}

impl<T: FeatureSettings> ErasedSettings for T {
    fn within(&self) -> Option<Arc<dyn ErasedSettings>> {
        FeatureSettings::within(self).map(|settings| Arc::new(settings) as Arc<dyn ErasedSettings>)
    }

    fn equals(&self, other: &dyn ErasedSettings) -> bool {
        cast::<T>(other).is_some_and(|other| self == other)
    }
}

/// Settings of the features whose directives are used on a level or its outer levels. Clones share them until changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Features(CopyOnWrite<Vec<(TypeId, Arc<dyn ErasedSettings>)>>);

impl Features {
    pub(super) fn get<T: FeatureSettings>(&self) -> &T {
        let written = self.0.iter().find(|(id, _)| *id == TypeId::of::<T>());
        written.and_then(|(_, settings)| cast(&**settings)).unwrap_or_else(|| T::unwritten())
    }

    pub(super) fn get_mut<T: FeatureSettings>(&mut self) -> &mut T {
        let id = TypeId::of::<T>();
        let all = &mut *self.0;
        let index = all.iter().position(|(known, _)| *known == id).unwrap_or_else(|| {
            all.push((id, Arc::new(T::unwritten().clone())));
            all.len() - 1
        });
        let settings = &mut all[index].1;
        if Arc::get_mut(settings).is_none() {
            let own: T = cast::<T>(&**settings).unwrap_or_else(|| T::unwritten()).clone();
            *settings = Arc::new(own);
        }
        let own: Option<&mut dyn Any> = Arc::get_mut(settings).map(|settings| settings as _);
        own.and_then(<dyn Any>::downcast_mut)
            .expect("feature settings are not shared and match the id of their type")
    }

    /// Returns the initial settings of an inner level: these, except for features whose settings are not inherited
    /// unchanged.
    pub(super) fn within(&self) -> Self {
        let mut within = self.clone();
        for (index, (_, settings)) in self.0.iter().enumerate() {
            if let Some(other) = settings.within().filter(|other| !settings.equals(&**other)) {
                within.0[index].1 = other;
            }
        }
        within
    }
}

/// Compares the features that have settings, in order of first use, and their settings.
impl PartialEq for Features {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self
                .0
                .iter()
                .zip(other.0.iter())
                .all(|((_, one), (_, two))| Arc::ptr_eq(one, two) || one.equals(&**two))
    }
}

impl Eq for Features {}

fn cast<T: FeatureSettings>(settings: &dyn ErasedSettings) -> Option<&T> {
    (settings as &dyn Any).downcast_ref()
}

#[cfg(test)]
mod tests {
    use super::Features;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Words(Vec<&'static str>);
    crate::feature_settings!(Words);

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Forgotten(u8);
    crate::feature_settings!(Forgotten, |_| Some(Forgotten::default()));

    #[test]
    fn what_is_not_written_is_the_default() {
        assert_eq!(*Features::default().get::<Words>(), Words::default());
    }

    #[test]
    fn a_level_within_begins_with_what_holds_around_it_and_changes_only_itself() {
        let mut outer = Features::default();
        outer.get_mut::<Words>().0.push("outer");
        let mut inner = outer.within();
        assert_eq!(inner.get::<Words>(), outer.get::<Words>());
        inner.get_mut::<Words>().0.push("inner");
        assert_eq!(inner.get::<Words>().0, ["outer", "inner"]);
        assert_eq!(outer.get::<Words>().0, ["outer"]);
    }

    #[test]
    fn levels_with_same_settings_are_equal() {
        let mut one = Features::default();
        one.get_mut::<Words>().0.push("same");
        let mut two = Features::default();
        assert_ne!(one, two);
        two.get_mut::<Words>().0.push("same");
        assert_eq!(one, two);
        two.get_mut::<Words>().0.push("more");
        assert_ne!(one, two);
    }

    #[test]
    fn feature_can_define_initial_value_of_inner_level() {
        let mut outer = Features::default();
        outer.get_mut::<Forgotten>().0 = 1;
        outer.get_mut::<Words>().0.push("kept");
        let inner = outer.within();
        assert_eq!(inner.get::<Forgotten>().0, 0);
        assert_eq!(inner.get::<Words>().0, ["kept"]);
        assert_eq!(outer.clone().get::<Forgotten>().0, 1);
    }
}
