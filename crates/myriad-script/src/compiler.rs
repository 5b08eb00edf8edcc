//! Turns the texts of a configuration into scripts, and owns the names of user variables while it does.

use std::collections::HashMap;
use std::sync::Arc;

use crate::assignment::Assignment;
use crate::condition::Condition;
use crate::environment::{Builtin, Catalogue, Role};
use crate::error::ScriptError;
use crate::geo::Geo;
use crate::lazy::Lazy;
use crate::map::Map;
use crate::predicate::Predicates;
use crate::program::{Program, StepSource, compile_program};
use crate::regex::{Regex, group_names};
use crate::split_clients::SplitClients;
use crate::suggestion::nearest;
use crate::template::{self, Resolve, Resolved, Template};
use crate::variable::Variable;

/// Compiles the scripts of one configuration: first declare every name, then compile, then [`Compiler::finish`].
#[derive(Debug)]
pub struct Compiler<C> {
    catalogue: C,
    user: HashMap<Box<str>, Arc<Variable>>,
    lazies: HashMap<u32, Lazy>,
    /// Names declared by `declare_lazy`, which must be defined before the end.
    promised: Vec<Arc<Variable>>,
    regexes: usize,
}

/// Where `set` puts its value.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    User(Arc<Variable>),
    Builtin(Builtin),
}

impl<C: Catalogue> Compiler<C> {
    /// Starts an empty configuration.
    pub fn new(catalogue: C) -> Compiler<C> {
        Compiler { catalogue, user: HashMap::new(), lazies: HashMap::new(), promised: Vec::new(), regexes: 0 }
    }

    /// The embedder's catalogue, which may have learnt names on the way.
    pub fn catalogue(&self) -> &C {
        &self.catalogue
    }

    /// Declares the variable of a `set`; `name` with or without `$`. The embedder's assignable ones are left to it.
    pub fn declare_set(&mut self, name: &str) -> Result<(), ScriptError> {
        self.target(name).map(|_| ())
    }

    /// Declares the variable of a `geo` or `split_clients`; `name` with or without `$`.
    pub fn declare_lazy(&mut self, name: &str) -> Result<(), ScriptError> {
        let variable = self.own(name)?;
        self.promised.push(variable);
        Ok(())
    }

    /// Declares the variable of a `map` and those that named groups of its patterns make.
    pub fn declare_map<W: AsRef<str>>(
        &mut self,
        name: &str,
        lines: &[Vec<W>],
    ) -> Result<(), Vec<ScriptError>> {
        self.declare_lazy(name).map_err(one)?;
        self.declare_map_captures(&words(lines))
    }

    pub(crate) fn declare_map_captures(&mut self, lines: &[Vec<&str>]) -> Result<(), Vec<ScriptError>> {
        let mut errors = Vec::new();
        for (item, line) in lines.iter().enumerate() {
            if let Some(pattern) = line.first().and_then(|key| key.strip_prefix('~')) {
                let declared = self.declare_captures(pattern.strip_prefix('*').unwrap_or(pattern));
                errors.extend(declared.err().map(|error| error.in_item(item)));
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Declares the variables that a pattern's named groups make; errors of the pattern itself wait for `regex`.
    pub fn declare_captures(&mut self, pattern: &str) -> Result<(), ScriptError> {
        for name in group_names(pattern) {
            self.own(&name)?;
        }
        Ok(())
    }

    /// Declares everything that the steps of a program (and the blocks in it) make.
    pub fn declare_program(&mut self, steps: &[StepSource<'_>]) -> Result<(), Vec<ScriptError>> {
        crate::program::declare(self, steps)
    }

    /// The user variables declared so far, for names that are known only when scripts run.
    pub fn variables(&self) -> impl Iterator<Item = &Arc<Variable>> {
        self.user.values()
    }

    /// Makes or finds a user variable that the embedder fills itself ([`Variable::assign`]).
    pub fn variable(&mut self, name: &str) -> Result<Arc<Variable>, ScriptError> {
        let variable = self.own(name)?;
        variable.mark_assigned();
        Ok(variable)
    }

    /// Compiles a text with variables.
    pub fn template(&mut self, text: &str) -> Result<Template, ScriptError> {
        template::parse(text, self)
    }

    /// Compiles a list of texts of which one must be true (`*_cache_bypass`, `*_no_cache`, `access_log if=`).
    pub fn predicates<T: AsRef<str>>(&mut self, texts: &[T]) -> Result<Predicates, ScriptError> {
        let templates: Result<Vec<_>, _> = texts
            .iter()
            .enumerate()
            .map(|(item, text)| self.template(text.as_ref()).map_err(|error| error.in_item(item)))
            .collect();
        Ok(Predicates::new(templates?))
    }

    /// Compiles a regular expression (without `~`); its named groups become variables.
    pub fn regex(&mut self, pattern: &str, caseless: bool) -> Result<Regex, ScriptError> {
        let index = self.regexes;
        self.regexes += 1;
        Regex::compile(pattern, caseless, index, |name| Ok(self.variable(name)?.slot()))
    }

    /// Compiles the words of an `if`, with or without the brackets around them.
    pub fn condition<T: AsRef<str>>(&mut self, words: &[T]) -> Result<Condition, ScriptError> {
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        Condition::compile(&words, self)
    }

    /// Compiles the directives of the rewrite module that stand in one block, in their order.
    pub fn program(&mut self, steps: &[StepSource<'_>]) -> Result<Program, Vec<ScriptError>> {
        compile_program(self, steps)
    }

    /// Compiles a `set` that stands outside of programs; `name` bears its `$`.
    pub fn assignment(&mut self, name: &str, value: &str) -> Result<Assignment, ScriptError> {
        Assignment::compile(name, value, self)
    }

    /// Compiles `map source $name { lines }`; each line is the words before its `;`.
    pub fn define_map<W: AsRef<str>>(
        &mut self,
        name: &str,
        source: &str,
        lines: &[Vec<W>],
    ) -> Result<(), Vec<ScriptError>> {
        let variable = self.own(name).map_err(one)?;
        let map = Map::compile(name, source, &words(lines), self)?;
        self.lazies.insert(variable.slot(), Lazy::Map(map));
        Ok(())
    }

    /// Compiles `geo [$address] $name { lines }`; without `address` it is `$remote_addr`.
    pub fn define_geo<W: AsRef<str>>(
        &mut self,
        name: &str,
        address: Option<&str>,
        lines: &[Vec<W>],
    ) -> Result<(), Vec<ScriptError>> {
        let variable = self.own(name).map_err(one)?;
        let geo = Geo::compile(address.unwrap_or("$remote_addr"), &words(lines), self)?;
        self.lazies.insert(variable.slot(), Lazy::Geo(geo));
        Ok(())
    }

    /// Compiles `split_clients source $name { lines }`.
    pub fn define_split_clients<W: AsRef<str>>(
        &mut self,
        name: &str,
        source: &str,
        lines: &[Vec<W>],
    ) -> Result<(), Vec<ScriptError>> {
        let variable = self.own(name).map_err(one)?;
        let split = SplitClients::compile(source, &words(lines), self)?;
        self.lazies.insert(variable.slot(), Lazy::SplitClients(split));
        Ok(())
    }

    /// Binds the maps to their variables; until then they are empty. Gives back the catalogue.
    ///
    /// Fails for names that were declared as maps and never defined.
    pub fn finish(mut self) -> Result<C, Vec<ScriptError>> {
        let mut errors = Vec::new();
        for variable in &self.promised {
            if !self.lazies.contains_key(&variable.slot()) {
                errors.push(ScriptError::new(format!("variable \"{}\" is never defined", variable.name())));
            }
        }
        for variable in self.user.values() {
            if let Some(lazy) = self.lazies.remove(&variable.slot()) {
                variable.bind(lazy);
            }
        }
        if errors.is_empty() { Ok(self.catalogue) } else { Err(errors) }
    }

    /// Where `set $name` goes.
    pub(crate) fn target(&mut self, name: &str) -> Result<Target, ScriptError> {
        let lower = lower_name(name)?;
        match self.catalogue.builtin(&lower) {
            Some((id, Role::Assignable)) => Ok(Target::Builtin(id)),
            _ => self.variable(name).map(Target::User),
        }
    }

    /// Makes or finds the user variable of a name.
    fn own(&mut self, name: &str) -> Result<Arc<Variable>, ScriptError> {
        let lower = lower_name(name)?;
        if let Some(variable) = self.user.get(lower.as_str()) {
            return Ok(Arc::clone(variable));
        }
        let shadowed = match self.catalogue.builtin(&lower) {
            Some((_, Role::Fixed | Role::Assignable)) => {
                return Err(ScriptError::new(format!("the duplicate \"{lower}\" variable")));
            }
            Some((id, Role::Shadowable)) => Some(id),
            None => None,
        };
        let variable = Variable::new(&lower, self.user.len() as u32, shadowed);
        self.user.insert(lower.into_boxed_str(), Arc::clone(&variable));
        Ok(variable)
    }
}

impl<C: Catalogue> Resolve for Compiler<C> {
    fn resolve(&mut self, name: &str) -> Result<Resolved, ScriptError> {
        if let Some(variable) = self.user.get(name) {
            return Ok(Resolved::User(Arc::clone(variable)));
        }
        if let Some((id, _)) = self.catalogue.builtin(name) {
            return Ok(Resolved::Builtin(id));
        }
        if let Some(reason) = self.catalogue.refusal(name) {
            return Err(ScriptError::new(format!("the variable \"${name}\" is refused: {reason}")));
        }
        let known = self.user.keys().map(AsRef::as_ref).chain(self.catalogue.names().iter().copied());
        let mut message = format!("unknown \"{name}\" variable");
        if let Some(near) = nearest(name, known) {
            message.push_str(", did you mean \"$");
            message.push_str(near);
            message.push_str("\"?");
        }
        Err(ScriptError::new(message).undefined(name))
    }
}

fn one(error: ScriptError) -> Vec<ScriptError> {
    vec![error]
}

fn words<W: AsRef<str>>(lines: &[Vec<W>]) -> Vec<Vec<&str>> {
    lines.iter().map(|line| line.iter().map(AsRef::as_ref).collect()).collect()
}

/// A name without `$` and in lower case; refuses what no reference could name.
fn lower_name(name: &str) -> Result<String, ScriptError> {
    let bare = name.strip_prefix('$').unwrap_or(name);
    if bare.is_empty() || !bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(ScriptError::new(format!("invalid variable name \"{name}\"")));
    }
    Ok(bare.to_ascii_lowercase())
}
