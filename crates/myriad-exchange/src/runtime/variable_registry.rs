//! The registry of variables: the rows of the core and those that features bring, found by name.

use super::{VariableRef, VariableRow};

/// Every variable that a configuration may name. Made once, and handed to whoever compiles, documents or asks for a name.
pub struct VariableRegistry<R: 'static> {
    rows: Vec<&'static VariableRow<R>>,
    names: Vec<&'static str>,
}

impl<R> VariableRegistry<R> {
    /// The variables of these lists.
    pub fn new(lists: impl IntoIterator<Item = &'static [VariableRow<R>]>) -> Self {
        let rows: Vec<_> = lists.into_iter().flatten().collect();
        let names = rows.iter().filter(|row| !row.is_prefix()).map(|row| row.name).collect();
        Self { rows, names }
    }

    /// Every variable, list by list.
    pub fn rows(&self) -> &[&'static VariableRow<R>] {
        &self.rows
    }

    /// The names of all but those that stand for many.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// The variable that a name without its `$` stands for.
    pub fn named(&self, name: &str) -> Option<VariableRef<R>> {
        // What has a name of its own comes before those that only begin with a row's.
        let own = self.rows.iter().find(|row| row.name == name);
        let row = own.or_else(|| self.rows.iter().find(|row| row.is_prefix() && name.starts_with(row.name)));
        row?.named(name)
    }
}
