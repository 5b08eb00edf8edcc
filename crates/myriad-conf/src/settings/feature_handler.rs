//! Content handlers of features. This crate does not depend on the features.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::text::Text;

/// Parameters of a handler directive, from which the feature creates the handler.
pub trait HandlerPlan: Any + Debug + Send + Sync {}

/// Content handler of a location, provided by a feature.
#[derive(Clone, Debug)]
pub struct FeatureHandler {
    plan: Arc<dyn HandlerPlan>,
    /// Prefix that the location matches; empty if it has none.
    pub prefix: Text,
}

impl FeatureHandler {
    /// Creates a handler. The location that contains the directive sets the prefix.
    pub fn new(plan: impl HandlerPlan) -> Self {
        Self { plan: Arc::new(plan), prefix: Text::default() }
    }

    /// Returns the parameters of the directive, or `None` if they have another type.
    pub fn plan<T: HandlerPlan>(&self) -> Option<&T> {
        (&*self.plan as &dyn Any).downcast_ref()
    }
}

impl PartialEq for FeatureHandler {
    /// Returns whether both were inherited from the same directive.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.plan, &other.plan) && self.prefix == other.prefix
    }
}

impl Eq for FeatureHandler {}
