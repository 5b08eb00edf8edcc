//! What of a configuration reads which variable: its rules, and each `map`, `geo` and `split_clients`.

use std::collections::{BTreeSet, HashMap};

use crate::environment::Builtin;
use crate::variable::Variable;

/// What is being compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scope {
    /// What decides where a request goes and which page it gets.
    Rules,
    /// The block that computes the user variable in that slot.
    Variable(u32),
    /// Anything else.
    #[default]
    Other,
}

/// The variables that each scope reads by itself. A scope reads the embedder's variables also through the blocks of the user
/// variables that it reads; what nothing in the rules names has no part in them.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    scope: Scope,
    read: HashMap<Scope, Read>,
}

#[derive(Debug, Default)]
struct Read {
    builtins: BTreeSet<Builtin>,
    users: BTreeSet<u32>,
}

impl Readings {
    /// Says what is compiled from now on. Returns what was said before.
    pub(crate) fn set_scope(&mut self, scope: Scope) -> Scope {
        std::mem::replace(&mut self.scope, scope)
    }

    /// Notes that what is compiled now reads a variable of the embedder.
    pub(crate) fn note(&mut self, id: Builtin) {
        self.read.entry(self.scope).or_default().builtins.insert(id);
    }

    /// Notes that what is compiled now reads a user variable, and the embedder's that shows where nothing has set it.
    pub(crate) fn note_user(&mut self, variable: &Variable) {
        let read = self.read.entry(self.scope).or_default();
        read.users.insert(variable.slot());
        read.builtins.extend(variable.shadowed());
    }

    /// The embedder's variables that a scope reads, itself and through user variables.
    pub(crate) fn of(&self, scope: Scope) -> BTreeSet<Builtin> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut next = vec![scope];
        while let Some(read) = next.pop().and_then(|scope| self.read.get(&scope)) {
            found.extend(&read.builtins);
            next.extend(
                read.users.iter().filter(|slot| seen.insert(**slot)).map(|slot| Scope::Variable(*slot)),
            );
        }
        found
    }
}
