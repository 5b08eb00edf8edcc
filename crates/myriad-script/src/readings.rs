//! What of a configuration reads which variable: its rules, each answer, each `map`, `geo` and `split_clients`.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::environment::Builtin;
use crate::variable::Variable;

/// When that which is being compiled is evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Nobody has said when: it counts as a part of the rules and of every answer, so that what is forgotten is read in vain
    /// rather than missed.
    #[default]
    Unsaid,
    /// While it is decided where a request goes and which page it gets.
    Rules,
    /// While an answer is made of a page that has been found; answers are numbered by the embedder.
    Answer(u32),
    /// With every answer that includes it ([`Compiler::include`](crate::Compiler::include)): the format of a log. Numbered by
    /// the embedder.
    Shared(u32),
    /// For requests alone for which all rules were run.
    Apart,
    /// When the user variable in that slot is read.
    Variable(u32),
}

/// What a scope reads, itself and through others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeReads {
    /// The embedder's variables.
    pub builtins: BTreeSet<Builtin>,
    /// Whether it reads what only rules that were run can have made: what is `set`, or was captured by a regular expression.
    pub made_by_rules: bool,
    /// Whether it follows from the moment of the request, too: it calls a function that varies.
    pub varies: bool,
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
    users: HashMap<u32, Arc<Variable>>,
    included: BTreeSet<Scope>,
    captures: bool,
    varies: bool,
}

impl Readings {
    /// Says what is compiled from now on. Returns what was said before.
    pub(crate) fn set_scope(&mut self, scope: Scope) -> Scope {
        std::mem::replace(&mut self.scope, scope)
    }

    /// Notes that what is compiled now reads a variable of the embedder.
    pub(crate) fn note(&mut self, id: Builtin) {
        self.now().builtins.insert(id);
    }

    /// Notes that what is compiled now reads a user variable, and the embedder's that shows where nothing has set it.
    pub(crate) fn note_user(&mut self, variable: &Arc<Variable>) {
        let read = self.now();
        read.users.insert(variable.slot(), Arc::clone(variable));
        read.builtins.extend(variable.shadowed());
    }

    /// Notes that what is compiled now reads what the latest match has captured.
    pub(crate) fn note_capture(&mut self) {
        self.now().captures = true;
    }

    /// Notes that what is compiled now may come to something else the next time.
    pub(crate) fn note_varying(&mut self) {
        self.now().varies = true;
    }

    /// Notes that what is compiled now holds all that another scope does.
    pub(crate) fn include(&mut self, scope: Scope) {
        self.now().included.insert(scope);
    }

    fn now(&mut self) -> &mut Read {
        self.read.entry(self.scope).or_default()
    }

    /// What a scope reads. `is_computed` says of a user variable whether its value is always that of its block.
    pub(crate) fn of(&self, scope: Scope, is_computed: impl Fn(&Variable) -> bool) -> ScopeReads {
        let mut found = ScopeReads::default();
        let mut next = vec![scope];
        if matches!(scope, Scope::Rules | Scope::Answer(_)) {
            next.push(Scope::Unsaid);
        }
        let mut seen = BTreeSet::new();
        while let Some(scope) = next.pop() {
            let Some(read) = self.read.get(&scope).filter(|_| seen.insert(scope)) else { continue };
            found.builtins.extend(&read.builtins);
            found.made_by_rules |= read.captures || !read.users.values().all(|user| is_computed(user));
            found.varies |= read.varies;
            next.extend(&read.included);
            next.extend(read.users.keys().map(|slot| Scope::Variable(*slot)));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compiler;

    /// Compiles a text in a scope, and says how many of the embedder's variables another reads, and whether what rules made.
    fn reads(scope: Scope, text: &str, asked: Scope) -> (usize, bool) {
        let mut compiler = compiler();
        compiler.declare_set("$mine").unwrap();
        compiler.declare_lazy("$table").unwrap();
        let lines = [vec!["default", "$host$uri"]];
        compiler.define_map("$table", "$scheme", &lines).unwrap();
        compiler.set_scope(scope);
        compiler.template(text).unwrap();
        let reads = compiler.reads(asked);
        (reads.builtins.len(), reads.made_by_rules)
    }

    #[test]
    fn what_nobody_has_placed_counts_as_rules_and_as_every_answer() {
        for asked in [Scope::Rules, Scope::Answer(0), Scope::Answer(7)] {
            assert_eq!(reads(Scope::Unsaid, "$host$mine", asked), (1, true), "{asked:?}");
        }
        assert_eq!(reads(Scope::Unsaid, "$host", Scope::Apart), (0, false));
    }

    #[test]
    fn scopes_do_not_mix() {
        assert_eq!(reads(Scope::Answer(1), "$host$mine", Scope::Answer(2)), (0, false));
        assert_eq!(reads(Scope::Answer(1), "$host$mine", Scope::Rules), (0, false));
        assert_eq!(reads(Scope::Apart, "$host$mine", Scope::Rules), (0, false));
        assert_eq!(reads(Scope::Rules, "$host", Scope::Rules), (1, false));
    }

    #[test]
    fn tables_are_looked_through_and_are_nothing_that_rules_make() {
        assert_eq!(reads(Scope::Answer(1), "$table", Scope::Answer(1)), (3, false));
        assert_eq!(reads(Scope::Answer(1), "$table$mine", Scope::Answer(1)), (3, true));
        assert_eq!(reads(Scope::Answer(1), "$1", Scope::Answer(1)), (0, true));
    }

    #[test]
    fn a_table_that_is_set_too_may_show_what_rules_made() {
        let mut compiler = compiler();
        compiler.declare_lazy("$table").unwrap();
        compiler.define_map("$table", "$scheme", &[vec!["default", "$host"]]).unwrap();
        compiler.set_scope(Scope::Answer(0));
        compiler.template("$table").unwrap();
        assert!(!compiler.reads(Scope::Answer(0)).made_by_rules);
        compiler.declare_set("$table").unwrap();
        assert!(compiler.reads(Scope::Answer(0)).made_by_rules);
    }

    #[test]
    fn what_is_shared_counts_where_it_is_included() {
        let mut compiler = compiler();
        compiler.declare_set("$mine").unwrap();
        compiler.set_scope(Scope::Shared(3));
        compiler.template("$host$mine").unwrap();
        compiler.set_scope(Scope::Answer(0));
        compiler.include(Scope::Shared(3));
        let of = |scope| compiler.reads(scope);
        assert_eq!((of(Scope::Answer(0)).builtins.len(), of(Scope::Answer(0)).made_by_rules), (1, true));
        assert_eq!(of(Scope::Answer(1)), ScopeReads::default());
    }
}
