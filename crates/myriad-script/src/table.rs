//! Interface of tables of the embedder, which compute variables.

use std::fmt::Debug;

/// Table that computes a variable from texts, such as a database of addresses.
pub trait VariableTable: Debug + Send + Sync {
    /// Appends the value for the texts, which are in the order of the variable's definition.
    fn find(&self, texts: &[&[u8]], out: &mut Vec<u8>);
}
