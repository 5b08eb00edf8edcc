//! Tables that the embedder keeps, as variables.

use std::fmt::Debug;

/// What computes a variable of texts, such as a database of addresses.
pub trait Table: Debug + Send + Sync {
    /// Appends the value that belongs to the texts, which are those that the variable was defined with, in their order.
    fn find(&self, texts: &[&[u8]], out: &mut Vec<u8>);
}
