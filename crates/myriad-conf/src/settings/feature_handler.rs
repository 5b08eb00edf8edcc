//! Content handlers of features, which this crate does not know by name.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::text::Text;

/// What a handler's directive says, for whoever makes the handler of it.
pub trait HandlerPlan: Any + Debug + Send + Sync {}

/// What makes the content of a location, given by a feature.
#[derive(Clone, Debug)]
pub struct FeatureHandler {
    plan: Arc<dyn HandlerPlan>,
    /// The prefix that the location matches by; empty where there is none.
    pub prefix: Text,
}

impl FeatureHandler {
    /// A handler; the location that its directive stands in fills the prefix in.
    pub fn new(plan: impl HandlerPlan) -> Self {
        Self { plan: Arc::new(plan), prefix: Text::default() }
    }

    /// What the directive says, where it is of that type.
    pub fn plan<T: HandlerPlan>(&self) -> Option<&T> {
        (&*self.plan as &dyn Any).downcast_ref()
    }
}

impl PartialEq for FeatureHandler {
    /// Whether both are one directive's, inherited.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.plan, &other.plan) && self.prefix == other.prefix
    }
}

impl Eq for FeatureHandler {}
