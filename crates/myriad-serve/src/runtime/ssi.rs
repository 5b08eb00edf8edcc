//! Server side includes at a place, and the names that pages may read.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_script::Variable;

use super::TypeSet;

/// `ssi*`.
pub(crate) struct SsiRules {
    /// How pages are read.
    pub page: myriad_ssi::Rules,
    /// `ssi_last_modified`.
    pub last_modified: bool,
    /// `ssi_types`.
    pub types: TypeSet,
}

/// The variables that the configuration makes, for pages that name them.
pub(crate) type VariablesByName = HashMap<Box<str>, Arc<Variable>>;
