//! Interface of tables of the embedder, which compute variables.

use std::fmt::Debug;

/// Table that computes the value of a variable from the values of other texts, such as a database that is searched for
/// the value of `$remote_addr`.
pub trait VariableTable: Debug + Send + Sync {
    /// Appends the value of the variable to `out`. `texts` are the values of its input texts, in the order of the
    /// variable's definition.
    fn find(&self, texts: &[&[u8]], out: &mut Vec<u8>);
}
