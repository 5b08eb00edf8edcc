//! Registry of the variables of the core and of features, by name.

use super::{VariableRef, VariableRow};

/// All variables that a configuration may name. It is created once and passed to the compiler, the documentation and
/// lookups by name.
pub struct VariableRegistry<R: 'static> {
    rows: Vec<&'static VariableRow<R>>,
    names: Vec<&'static str>,
}

impl<R> VariableRegistry<R> {
    /// Creates a registry of the variables in these lists.
    pub fn new(lists: impl IntoIterator<Item = &'static [VariableRow<R>]>) -> Self {
        let rows: Vec<_> = lists.into_iter().flatten().collect();
        let names = rows.iter().filter(|row| !row.is_prefix()).map(|row| row.name).collect();
        Self { rows, names }
    }

    /// Returns every variable, list by list.
    pub fn rows(&self) -> &[&'static VariableRow<R>] {
        &self.rows
    }

    /// Returns the names of all variables except prefixes.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Returns the variable of a name without its `$`.
    pub fn named(&self, name: &str) -> Option<VariableRef<R>> {
        // An exact name takes precedence over a prefix.
        let own = self.rows.iter().find(|row| row.name == name);
        let row = own.or_else(|| self.rows.iter().find(|row| row.is_prefix() && name.starts_with(row.name)));
        row?.named(name)
    }
}
