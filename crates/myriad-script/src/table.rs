//! Tables of the embedder, used as variables.

use std::fmt::Debug;

/// Computes a variable from texts, such as a database of addresses.
pub trait VariableTable: Debug + Send + Sync {
    /// Appends the value for the texts, in the order in which the variable was defined with them.
    fn find(&self, texts: &[&[u8]], out: &mut Vec<u8>);
}
