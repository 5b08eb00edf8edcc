//! Content handlers that features provide, in a form that does not depend on the features.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::text::Text;

/// Parameters of a directive that sets a content handler; the feature creates the handler from them.
pub trait HandlerPlan: Any + Debug + Send + Sync {}

/// Content handler of a location, provided by a feature.
#[derive(Clone, Debug)]
pub struct FeatureHandler {
    plan: Arc<dyn HandlerPlan>,
    /// Pattern of the exact or prefix location that directly contains the directive; otherwise empty.
    pub prefix: Text,
}

impl FeatureHandler {
    /// Creates a handler with an empty prefix. The builder sets the prefix for the location that contains the
    /// directive.
    pub fn new(plan: impl HandlerPlan) -> Self {
        Self { plan: Arc::new(plan), prefix: Text::default() }
    }

    /// Returns the parameters of the handler's directive; `None` if they are not of type `T`.
    pub fn plan<T: HandlerPlan>(&self) -> Option<&T> {
        (&*self.plan as &dyn Any).downcast_ref()
    }
}

impl PartialEq for FeatureHandler {
    /// Returns whether both handlers originate from the same directive and have the same prefix.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.plan, &other.plan) && self.prefix == other.prefix
    }
}

impl Eq for FeatureHandler {}
