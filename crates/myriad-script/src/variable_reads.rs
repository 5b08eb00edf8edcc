//! Records of the variables that each part of a configuration reads: the rules, each response, each `map` and similar
//! block.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::environment::Builtin;
use crate::variable::Variable;

/// Scope of a compiled text: the time at which it is evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EvaluationScope {
    /// Not specified: the text counts as part of the rules and of every response. A missing scope thus causes
    /// unnecessary reads, not missing ones.
    #[default]
    Unspecified,
    /// The text is evaluated while the server's rules determine the location and the page of a request.
    Rules,
    /// The text is evaluated while a response is generated from a page that has been found. The number is chosen by the
    /// embedder.
    Answer(u32),
    /// The text is evaluated with every scope that includes this one ([`Compiler::include`](crate::Compiler::include)),
    /// such as a log format. The number is chosen by the embedder.
    Shared(u32),
    /// The text is evaluated only for requests for which all of the server's rules have run.
    AfterRules,
    /// The text is evaluated when the user variable with this slot is read.
    Variable(u32),
}

/// Data that a scope reads, directly or through user variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeReads {
    /// Variables of the embedder that the scope reads.
    pub builtins: BTreeSet<Builtin>,
    /// True if the scope reads values that exist only after the rules have run: variables of `set`, or regex captures.
    pub made_by_rules: bool,
    /// True if the scope calls a function whose value varies with the time, random bytes or earlier calls.
    pub varies: bool,
}

/// Variables that each scope reads directly. Through the blocks of its user variables, a scope also reads variables of
/// the embedder. Reads outside of the rules have no influence on the rules.
#[derive(Debug, Default)]
pub(crate) struct VariableReads {
    scope: EvaluationScope,
    read: HashMap<EvaluationScope, DirectReads>,
}

#[derive(Debug, Default)]
struct DirectReads {
    builtins: BTreeSet<Builtin>,
    users: HashMap<u32, Arc<Variable>>,
    included: BTreeSet<EvaluationScope>,
    captures: bool,
    varies: bool,
}

impl VariableReads {
    /// Sets the scope of the following compilations. Returns the previous scope.
    pub(crate) fn set_scope(&mut self, scope: EvaluationScope) -> EvaluationScope {
        std::mem::replace(&mut self.scope, scope)
    }

    /// Records that the current scope reads a variable of the embedder.
    pub(crate) fn note(&mut self, id: Builtin) {
        self.now().builtins.insert(id);
    }

    /// Records that the current scope reads a user variable, and the variable of the embedder that it hides.
    pub(crate) fn note_user(&mut self, variable: &Arc<Variable>) {
        let read = self.now();
        read.users.insert(variable.slot(), Arc::clone(variable));
        read.builtins.extend(variable.shadowed());
    }

    /// Records that the current scope reads captures of the latest match.
    pub(crate) fn note_capture(&mut self) {
        self.now().captures = true;
    }

    /// Records that the current scope calls a function whose value varies with the time, random bytes or earlier calls.
    pub(crate) fn note_varying(&mut self) {
        self.now().varies = true;
    }

    /// Records that the current scope also evaluates the texts of `scope`.
    pub(crate) fn include(&mut self, scope: EvaluationScope) {
        self.now().included.insert(scope);
    }

    fn now(&mut self) -> &mut DirectReads {
        self.read.entry(self.scope).or_default()
    }

    /// Returns the data that a scope reads, also through user variables. `is_computed` returns whether a user variable
    /// always has the value of its block.
    pub(crate) fn of(&self, scope: EvaluationScope, is_computed: impl Fn(&Variable) -> bool) -> ScopeReads {
        let mut found = ScopeReads::default();
        let mut next = vec![scope];
        if matches!(scope, EvaluationScope::Rules | EvaluationScope::Answer(_)) {
            next.push(EvaluationScope::Unspecified);
        }
        let mut seen = BTreeSet::new();
        while let Some(scope) = next.pop() {
            let Some(read) = self.read.get(&scope).filter(|_| seen.insert(scope)) else { continue };
            found.builtins.extend(&read.builtins);
            found.made_by_rules |= read.captures || !read.users.values().all(|user| is_computed(user));
            found.varies |= read.varies;
            next.extend(&read.included);
            next.extend(read.users.keys().map(|slot| EvaluationScope::Variable(*slot)));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::compiler;

    /// Compiles a text in `scope`. Returns the number of variables of the embedder that the scope `asked` reads, and
    /// `made_by_rules`.
    fn reads(scope: EvaluationScope, text: &str, asked: EvaluationScope) -> (usize, bool) {
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
    fn unscoped_variables_count_as_rules_and_as_any_response() {
        for asked in [EvaluationScope::Rules, EvaluationScope::Answer(0), EvaluationScope::Answer(7)] {
            assert_eq!(reads(EvaluationScope::Unspecified, "$host$mine", asked), (1, true), "{asked:?}");
        }
        assert_eq!(reads(EvaluationScope::Unspecified, "$host", EvaluationScope::AfterRules), (0, false));
    }

    #[test]
    fn scopes_do_not_mix() {
        assert_eq!(reads(EvaluationScope::Answer(1), "$host$mine", EvaluationScope::Answer(2)), (0, false));
        assert_eq!(reads(EvaluationScope::Answer(1), "$host$mine", EvaluationScope::Rules), (0, false));
        assert_eq!(reads(EvaluationScope::AfterRules, "$host$mine", EvaluationScope::Rules), (0, false));
        assert_eq!(reads(EvaluationScope::Rules, "$host", EvaluationScope::Rules), (1, false));
    }

    #[test]
    fn tables_are_looked_through_and_are_nothing_that_rules_make() {
        assert_eq!(reads(EvaluationScope::Answer(1), "$table", EvaluationScope::Answer(1)), (3, false));
        assert_eq!(reads(EvaluationScope::Answer(1), "$table$mine", EvaluationScope::Answer(1)), (3, true));
        assert_eq!(reads(EvaluationScope::Answer(1), "$1", EvaluationScope::Answer(1)), (0, true));
    }

    #[test]
    fn a_table_that_is_set_too_may_show_what_rules_made() {
        let mut compiler = compiler();
        compiler.declare_lazy("$table").unwrap();
        compiler.define_map("$table", "$scheme", &[vec!["default", "$host"]]).unwrap();
        compiler.set_scope(EvaluationScope::Answer(0));
        compiler.template("$table").unwrap();
        assert!(!compiler.reads(EvaluationScope::Answer(0)).made_by_rules);
        compiler.declare_set("$table").unwrap();
        assert!(compiler.reads(EvaluationScope::Answer(0)).made_by_rules);
    }

    #[test]
    fn what_is_shared_counts_where_it_is_included() {
        let mut compiler = compiler();
        compiler.declare_set("$mine").unwrap();
        compiler.set_scope(EvaluationScope::Shared(3));
        compiler.template("$host$mine").unwrap();
        compiler.set_scope(EvaluationScope::Answer(0));
        compiler.include(EvaluationScope::Shared(3));
        let of = |scope| compiler.reads(scope);
        assert_eq!(
            (of(EvaluationScope::Answer(0)).builtins.len(), of(EvaluationScope::Answer(0)).made_by_rules),
            (1, true)
        );
        assert_eq!(of(EvaluationScope::Answer(1)), ScopeReads::default());
    }
}
