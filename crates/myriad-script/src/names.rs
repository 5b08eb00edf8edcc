//! Resolution of variable names while a configuration is compiled: variables of the embedder and of the configuration.

use std::collections::HashMap;
use std::sync::Arc;

use crate::environment::{Builtin, Catalogue, VariableRole};
use crate::error::ScriptError;
use crate::regex::{Regex, group_names};
use crate::suggestion::nearest;
use crate::variable::Variable;
use crate::variable_reads::{EvaluationScope, VariableReads};

/// Variable that a name refers to.
#[derive(Debug, Clone)]
pub(crate) enum ResolvedVariable {
    User(Arc<Variable>),
    Builtin(Builtin),
}

/// Names of a configuration. [`Self::resolve`] requires lower case without `$`; functions that declare names accept any
/// form.
#[derive(Debug)]
pub(crate) struct NameResolver<C> {
    catalogue: C,
    user: HashMap<Box<str>, Arc<Variable>>,
    /// Compiled regexes by pattern and case-insensitivity. Each has its own index in the thread-local table of capture
    /// locations.
    regexes: HashMap<(Box<str>, bool), Regex>,
    /// Records of the variables that each scope reads.
    readings: VariableReads,
}

impl<C: Catalogue> NameResolver<C> {
    pub(crate) fn new(catalogue: C) -> NameResolver<C> {
        NameResolver {
            catalogue,
            user: HashMap::new(),
            regexes: HashMap::new(),
            readings: VariableReads::default(),
        }
    }

    pub(crate) fn catalogue(&self) -> &C {
        &self.catalogue
    }

    pub(crate) fn into_catalogue(self) -> C {
        self.catalogue
    }

    /// Returns the variables that each scope reads, as far as compiled.
    pub(crate) fn readings(&self) -> &VariableReads {
        &self.readings
    }

    /// Returns the variables that each scope reads, to record further reads.
    pub(crate) fn readings_mut(&mut self) -> &mut VariableReads {
        &mut self.readings
    }

    /// Sets the scope to which following reads are attributed. Returns the previous scope.
    pub(crate) fn set_scope(&mut self, scope: EvaluationScope) -> EvaluationScope {
        self.readings.set_scope(scope)
    }

    /// Iterates over the user variables declared so far.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &Arc<Variable>> {
        self.user.values()
    }

    /// Resolves a name that a text refers to, and records the read. Returns an error for an unknown name; the caller
    /// adds its offset.
    pub(crate) fn resolve(&mut self, name: &str) -> Result<ResolvedVariable, ScriptError> {
        if let Some(variable) = self.user.get(name) {
            self.readings.note_user(variable);
            return Ok(ResolvedVariable::User(Arc::clone(variable)));
        }
        if let Some((id, _)) = self.catalogue.builtin(name) {
            self.readings.note(id);
            return Ok(ResolvedVariable::Builtin(id));
        }
        if let Some(reason) = self.catalogue.refusal(name) {
            return Err(ScriptError::new(format!("the variable \"${name}\" is refused: {reason}")));
        }
        let known = self.user.keys().map(AsRef::as_ref).chain(self.catalogue.names().iter().copied());
        let near = nearest(name, known);
        if near.is_none()
            && let Some((module, reason)) = self.catalogue.other_module(name)
        {
            let message = format!("\"${name}\" is a variable of {module}, not supported by Myriad: {reason}");
            return Err(ScriptError { cause: Some(module), ..ScriptError::new(message) }.undefined(name));
        }
        let mut message = format!("unknown \"{name}\" variable");
        if let Some(near) = near {
            message.push_str(", did you mean \"$");
            message.push_str(near);
            message.push_str("\"?");
        }
        Err(ScriptError::new(message).undefined(name))
    }

    /// Returns the variable that `set $name` assigns: an assignable variable of the embedder, or a user variable, which
    /// is created if necessary. Returns an error for an invalid name, and for a read-only variable of the embedder.
    pub(crate) fn target(&mut self, name: &str) -> Result<ResolvedVariable, ScriptError> {
        let lower = lower_name(name)?;
        match self.catalogue.builtin(&lower) {
            Some((id, VariableRole::Assignable)) => Ok(ResolvedVariable::Builtin(id)),
            _ => self.assigned(name).map(ResolvedVariable::User),
        }
    }

    /// Returns the user variable with this name, created if necessary, and marks it as assigned by something other than
    /// a block such as `map`.
    pub(crate) fn assigned(&mut self, name: &str) -> Result<Arc<Variable>, ScriptError> {
        let variable = self.user_variable(name)?;
        variable.mark_assigned();
        Ok(variable)
    }

    /// Returns the user variable with this name, created if necessary. Returns an error for an invalid name, and if the
    /// embedder has a variable with this name that must not be hidden.
    pub(crate) fn user_variable(&mut self, name: &str) -> Result<Arc<Variable>, ScriptError> {
        let lower = lower_name(name)?;
        if let Some(variable) = self.user.get(lower.as_str()) {
            return Ok(Arc::clone(variable));
        }
        let shadowed = match self.catalogue.builtin(&lower) {
            Some((_, VariableRole::Fixed | VariableRole::Assignable)) => {
                return Err(ScriptError::new(format!("the duplicate \"{lower}\" variable")));
            }
            Some((id, VariableRole::Shadowable)) => Some(id),
            None => None,
        };
        let variable = Variable::new(&lower, self.user.len() as u32, shadowed);
        self.user.insert(lower.into_boxed_str(), Arc::clone(&variable));
        Ok(variable)
    }

    /// Declares the variables of a pattern's named groups. An invalid pattern is not reported here, but by
    /// [`Self::regex`].
    pub(crate) fn declare_captures(&mut self, pattern: &str) -> Result<(), ScriptError> {
        for name in group_names(pattern) {
            self.user_variable(&name)?;
        }
        Ok(())
    }

    /// Compiles a regular expression, given without `~`; an equal one is compiled only once. Its named groups become
    /// user variables.
    pub(crate) fn regex(&mut self, pattern: &str, caseless: bool) -> Result<Regex, ScriptError> {
        let key: (Box<str>, bool) = (pattern.into(), caseless);
        if let Some(known) = self.regexes.get(&key) {
            return Ok(known.clone());
        }
        let index = self.regexes.len();
        let regex = Regex::compile(pattern, caseless, index, |name| Ok(self.assigned(name)?.slot()))?;
        self.regexes.insert(key, regex.clone());
        Ok(regex)
    }
}

/// Returns a name without `$` and in lower case, or an error for an invalid name.
///
/// A declared name may contain `-`, because an `if` can read such a variable as a separate word. In other texts the `-`
/// ends the name.
fn lower_name(name: &str) -> Result<String, ScriptError> {
    let bare = name.strip_prefix('$').unwrap_or(name);
    if bare.is_empty()
        || !bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    {
        return Err(ScriptError::new(format!("invalid variable name \"{name}\"")));
    }
    Ok(bare.to_ascii_lowercase())
}
