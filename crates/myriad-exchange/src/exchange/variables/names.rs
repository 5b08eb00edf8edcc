//! Names of variables to their rows.

use std::sync::OnceLock;

use myriad_script::{Builtin, Catalogue, Role};

use super::refused::refusal;
use super::rows::rows;
use crate::exchange::Request;
use crate::runtime::VariableRef;

/// Resolves names while a configuration is compiled, and collects the variables in use.
#[derive(Default)]
pub struct VariableNames {
    used: Vec<VariableRef<Request>>,
}

impl VariableNames {
    /// The variables in use, indexed by [`Builtin`].
    pub fn into_used(self) -> Vec<VariableRef<Request>> {
        self.used
    }

    /// The variable behind an id that this catalogue gave.
    pub fn variable(&self, id: Builtin) -> &VariableRef<Request> {
        &self.used[id.0 as usize]
    }

    fn intern(&mut self, variable: VariableRef<Request>) -> Builtin {
        let is_known =
            |known: &VariableRef<Request>| known.row.name == variable.row.name && known.rest == variable.rest;
        let index = self.used.iter().position(is_known).unwrap_or_else(|| {
            self.used.push(variable);
            self.used.len() - 1
        });
        Builtin(index as u32)
    }
}

impl Catalogue for VariableNames {
    fn builtin(&mut self, name: &str) -> Option<(Builtin, Role)> {
        // What has a name of its own comes before those that only begin with a row's.
        let row = rows().find(|row| row.name == name);
        let row = row.or_else(|| rows().find(|row| row.is_prefix() && name.starts_with(row.name)))?;
        let role = match row.assign {
            Some(_) => Role::Assignable,
            None if row.is_prefix() => Role::Shadowable,
            None => Role::Fixed,
        };
        Some((self.intern(row.named(name)?), role))
    }

    fn names(&self) -> &[&str] {
        static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
        NAMES.get_or_init(|| rows().filter(|row| !row.is_prefix()).map(|row| row.name).collect())
    }

    fn refusal(&self, name: &str) -> Option<&'static str> {
        refusal(name)
    }
}
