//! Compiler of the texts of a configuration into templates, conditions, programs and tables.

use std::collections::HashMap;
use std::sync::Arc;

use crate::assignment::Assignment;
use crate::condition::CompiledCondition;
use crate::environment::Catalogue;
use crate::error::ScriptError;
use crate::lazy::{self, Lazy};
use crate::map;
use crate::names::NameResolver;
use crate::predicate::Predicates;
use crate::program::{self, Program, StepSource};
use crate::regex::Regex;
use crate::table::VariableTable;
use crate::template::Template;
use crate::template::parse::parse;
use crate::variable::Variable;
use crate::variable_reads::{EvaluationScope, ScopeReads};

/// Compiles the scripts of a configuration. Usage: declare all names, compile, then call [`Compiler::finish`].
#[derive(Debug)]
pub struct Compiler<C> {
    names: NameResolver<C>,
    lazies: HashMap<u32, Lazy>,
    /// Variables declared by `declare_lazy` or `declare_map`, which must be defined before `finish`.
    declared: Vec<Arc<Variable>>,
}

impl<C: Catalogue> Compiler<C> {
    /// Creates a compiler without any declared names.
    pub fn new(catalogue: C) -> Compiler<C> {
        Compiler { names: NameResolver::new(catalogue), lazies: HashMap::new(), declared: Vec::new() }
    }

    /// Returns the catalogue of the embedder's variables, which may have assigned identifiers to names during
    /// compilation.
    pub fn catalogue(&self) -> &C {
        self.names.catalogue()
    }

    /// Sets the scope of the following compilations, i.e. the time at which their results are evaluated. Blocks such as
    /// `map` have their own scopes. Returns the previous scope.
    pub fn set_scope(&mut self, scope: EvaluationScope) -> EvaluationScope {
        self.names.set_scope(scope)
    }

    /// Declares that whatever is evaluated in the current scope also evaluates the given scope.
    pub fn include(&mut self, scope: EvaluationScope) {
        self.names.readings_mut().include(scope);
    }

    /// Returns the data that a scope reads, directly or through user variables. Complete once all texts are compiled.
    pub fn reads(&self, scope: EvaluationScope) -> ScopeReads {
        let is_computed =
            |variable: &Variable| !variable.is_assigned() && self.lazies.contains_key(&variable.slot());
        self.names.readings().of(scope, is_computed)
    }

    /// Declares the variable of a `set`; `name` may omit the `$`. Has no effect for assignable variables of the
    /// embedder. Returns an error for an invalid name, and for the name of a read-only variable of the embedder.
    pub fn declare_set(&mut self, name: &str) -> Result<(), ScriptError> {
        self.names.target(name).map(drop)
    }

    /// Declares the variable of a `geo`, a `split_clients` or a table of the embedder; `name` may omit the `$`. Returns
    /// an error for an invalid name, and for the name of a variable of the embedder that must not be hidden.
    pub fn declare_lazy(&mut self, name: &str) -> Result<(), ScriptError> {
        let variable = self.names.user_variable(name)?;
        self.declared.push(variable);
        Ok(())
    }

    /// Declares the variable of a `map`, and the variables of named groups in its patterns.
    pub fn declare_map<W: AsRef<str>>(
        &mut self,
        name: &str,
        lines: &[Vec<W>],
    ) -> Result<(), Vec<ScriptError>> {
        self.declare_lazy(name).map_err(single_error)?;
        map::compile::declare_captures(&words(lines), &mut self.names)
    }

    /// Declares the variables of a pattern's named groups. Returns an error if the embedder has a variable with such a
    /// name that must not be hidden. An invalid pattern is not reported here, but by [`Self::regex`].
    pub fn declare_captures(&mut self, pattern: &str) -> Result<(), ScriptError> {
        self.names.declare_captures(pattern)
    }

    /// Declares all variables that a program defines, including nested blocks.
    pub fn declare_program(&mut self, steps: &[StepSource<'_>]) -> Result<(), Vec<ScriptError>> {
        program::compile::declare(&mut self.names, steps)
    }

    /// Iterates over all user variables, for the lookup of names that are only known at run time.
    pub fn variables(&self) -> impl Iterator<Item = &Arc<Variable>> {
        self.names.variables()
    }

    /// Returns the user variable with this name, created if necessary, for an embedder that assigns it
    /// ([`Variable::assign`]). Returns an error for an invalid name, and for the name of a variable of the embedder
    /// that must not be hidden.
    pub fn variable(&mut self, name: &str) -> Result<Arc<Variable>, ScriptError> {
        self.names.assigned(name)
    }

    /// Compiles a text with variables.
    pub fn template(&mut self, text: &str) -> Result<Template, ScriptError> {
        parse(text, &mut self.names)
    }

    /// Compiles a list of texts that is true if at least one text is neither empty nor `0` (`*_cache_bypass`,
    /// `*_no_cache`, `access_log if=`).
    pub fn predicates<T: AsRef<str>>(&mut self, texts: &[T]) -> Result<Predicates, ScriptError> {
        let templates: Result<Vec<_>, _> = texts
            .iter()
            .enumerate()
            .map(|(item, text)| self.template(text.as_ref()).map_err(|error| error.in_item(item)))
            .collect();
        Ok(Predicates::new(templates?))
    }

    /// Compiles a regular expression, given without `~`. Its named groups become user variables.
    pub fn regex(&mut self, pattern: &str, caseless: bool) -> Result<Regex, ScriptError> {
        self.names.regex(pattern, caseless)
    }

    /// Compiles the words of an `if`, with or without the parentheses.
    pub fn condition<T: AsRef<str>>(&mut self, words: &[T]) -> Result<CompiledCondition, ScriptError> {
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        CompiledCondition::compile(&words, &mut self.names)
    }

    /// Compiles the directives of the rewrite module in a block, in order. Reports the errors of several directives
    /// together.
    pub fn program(&mut self, steps: &[StepSource<'_>]) -> Result<Program, Vec<ScriptError>> {
        program::compile::program(&mut self.names, steps)
    }

    /// Compiles an assignment outside of programs; `name` may omit the `$`.
    pub fn assignment(&mut self, name: &str, value: &str) -> Result<Assignment, ScriptError> {
        Assignment::compile(name, value, &mut self.names)
    }

    /// Compiles `map source $name { lines }`; each line is given as its words.
    pub fn define_map<W: AsRef<str>>(
        &mut self,
        name: &str,
        source: &str,
        lines: &[Vec<W>],
    ) -> Result<(), Vec<ScriptError>> {
        let variable = self.names.user_variable(name).map_err(single_error)?;
        let map =
            self.in_scope_of(&variable, |names| lazy::compile::map(name, source, &words(lines), names))?;
        self.lazies.insert(variable.slot(), map);
        Ok(())
    }

    /// Compiles `geo [$address] $name { lines }`; without an address, `$remote_addr` is used.
    pub fn define_geo<W: AsRef<str>>(
        &mut self,
        name: &str,
        address: Option<&str>,
        lines: &[Vec<W>],
    ) -> Result<(), Vec<ScriptError>> {
        let variable = self.names.user_variable(name).map_err(single_error)?;
        let address = address.unwrap_or("$remote_addr");
        let geo = self.in_scope_of(&variable, |names| lazy::compile::geo(address, &words(lines), names))?;
        self.lazies.insert(variable.slot(), geo);
        Ok(())
    }

    /// Compiles `split_clients source $name { lines }`.
    pub fn define_split_clients<W: AsRef<str>>(
        &mut self,
        name: &str,
        source: &str,
        lines: &[Vec<W>],
    ) -> Result<(), Vec<ScriptError>> {
        let variable = self.names.user_variable(name).map_err(single_error)?;
        let split =
            self.in_scope_of(&variable, |names| lazy::compile::split_clients(source, &words(lines), names))?;
        self.lazies.insert(variable.slot(), split);
        Ok(())
    }

    /// Defines a variable that a table of the embedder computes from the values of `sources`. `follows` are texts with
    /// further variables on which the value depends, such as the clock if the table may change.
    pub fn define_table(
        &mut self,
        name: &str,
        sources: &[&str],
        follows: &[&str],
        table: Arc<dyn VariableTable>,
    ) -> Result<(), Vec<ScriptError>> {
        let variable = self.names.user_variable(name).map_err(single_error)?;
        let lazy =
            self.in_scope_of(&variable, |names| lazy::compile::table(sources, follows, table, names))?;
        self.lazies.insert(variable.slot(), lazy);
        Ok(())
    }

    /// Runs a compilation in the scope of a variable, so that its reads are attributed to the variable.
    fn in_scope_of<T>(&mut self, variable: &Variable, compile: impl FnOnce(&mut NameResolver<C>) -> T) -> T {
        let around = self.names.set_scope(EvaluationScope::Variable(variable.slot()));
        let compiled = compile(&mut self.names);
        self.names.set_scope(around);
        compiled
    }

    /// Binds maps, `geo` and similar blocks to their variables, which count as unset before. Returns the catalogue.
    ///
    /// # Errors
    /// Returns an error for each variable that was declared by [`Self::declare_lazy`] or [`Self::declare_map`], but
    /// never defined.
    pub fn finish(mut self) -> Result<C, Vec<ScriptError>> {
        let mut errors = Vec::new();
        for variable in &self.declared {
            if !self.lazies.contains_key(&variable.slot()) {
                errors.push(ScriptError::new(format!("variable \"{}\" is never defined", variable.name())));
            }
        }
        for variable in self.names.variables() {
            if let Some(lazy) = self.lazies.remove(&variable.slot()) {
                variable.bind(lazy);
            }
        }
        if errors.is_empty() { Ok(self.names.into_catalogue()) } else { Err(errors) }
    }
}

fn single_error(error: ScriptError) -> Vec<ScriptError> {
    vec![error]
}

fn words<W: AsRef<str>>(lines: &[Vec<W>]) -> Vec<Vec<&str>> {
    lines.iter().map(|line| line.iter().map(AsRef::as_ref).collect()).collect()
}
