//! Registry of all variables, by name.

use super::{VariableRef, VariableRow};

/// All variables of this server. Created once; the compiler, the documentation and look-ups by name use it.
pub struct VariableRegistry<R: 'static> {
    rows: Vec<&'static VariableRow<R>>,
    names: Vec<&'static str>,
}

impl<R> VariableRegistry<R> {
    /// Creates a registry of the variables in `lists`.
    pub fn new(lists: impl IntoIterator<Item = &'static [VariableRow<R>]>) -> Self {
        let rows: Vec<_> = lists.into_iter().flatten().collect();
        let names = rows.iter().filter(|row| !row.is_prefix()).map(|row| row.name).collect();
        Self { rows, names }
    }

    /// Returns all variable definitions, in the order of the lists.
    pub fn rows(&self) -> &[&'static VariableRow<R>] {
        &self.rows
    }

    /// Returns the names of all variables, except for rows that define all variables with a prefix.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Returns a reference to the variable with a name (without `$`); `None` for an unknown name.
    pub fn named(&self, name: &str) -> Option<VariableRef<R>> {
        // A row with exactly this name takes precedence over a prefix.
        let own = self.rows.iter().find(|row| row.name == name);
        let row = own.or_else(|| self.rows.iter().find(|row| row.is_prefix() && name.starts_with(row.name)));
        row?.named(name)
    }
}
