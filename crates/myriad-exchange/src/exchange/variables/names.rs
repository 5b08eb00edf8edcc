//! Resolution of variable names to their definitions.

use myriad_conf::registry::BuildFeature;
use myriad_script::{Builtin, Catalogue, VariableRole};

use super::unsupported::refusal;
use crate::exchange::Request;
use crate::runtime::{VariableRef, VariableRegistry};

/// Resolver of variable names while a configuration is compiled; collects the variables that the configuration uses.
pub struct VariableNames {
    registry: &'static VariableRegistry<Request>,
    used: Vec<VariableRef<Request>>,
}

impl VariableNames {
    /// Creates a resolver for the variables in `registry`.
    pub fn new(registry: &'static VariableRegistry<Request>) -> Self {
        Self { registry, used: Vec::new() }
    }

    /// Returns the variables that the configuration uses, indexed by [`Builtin`].
    pub fn into_used(self) -> Vec<VariableRef<Request>> {
        self.used
    }

    /// Returns the variable with the identifier `id`, which must be one that this resolver has assigned.
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
    fn builtin(&mut self, name: &str) -> Option<(Builtin, VariableRole)> {
        let variable = self.registry.named(name)?;
        let role = match variable.row.assign {
            Some(_) => VariableRole::Assignable,
            None if variable.row.yields => VariableRole::Shadowable,
            None => VariableRole::Fixed,
        };
        Some((self.intern(variable), role))
    }

    fn names(&self) -> &[&str] {
        self.registry.names()
    }

    fn refusal(&self, name: &str) -> Option<&'static str> {
        BuildFeature::missing_for_variable(name).map(|feature| feature.refusal).or_else(|| refusal(name))
    }

    fn other_module(&self, name: &str) -> Option<(&'static str, &'static str)> {
        myriad_conf::registry::module_of_variable(name)
    }
}
