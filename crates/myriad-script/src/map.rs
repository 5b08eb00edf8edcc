//! `map source $variable { … }`.

use crate::compiler::Compiler;
use crate::environment::{Builtin, Catalogue, Environment};
use crate::error::{EvalError, ScriptError};
use crate::frame::Frame;
use crate::hostnames::{Hostnames, RefusedHostname};
use crate::regex::Regex;
use crate::template::{CaptureForm, Template};
use crate::trace::Trace;

#[cfg(test)]
mod tests;

/// A compiled map.
#[derive(Debug)]
pub(crate) struct Map {
    /// The variable that it makes.
    variable: Box<str>,
    /// The keys as written, by the index of their value.
    keys: Vec<Box<str>>,
    source: Template,
    /// Indexes of `values`, so that a name with two entries keeps one value.
    names: Hostnames<u32>,
    regexes: Vec<(Regex, u32)>,
    values: Vec<Template>,
    default: Template,
    /// Names may hold wildcards, and a dot at the end of the source is ignored.
    hostnames: bool,
    volatile: bool,
}

impl Map {
    pub(crate) fn compile<C: Catalogue>(
        variable: &str,
        source: &str,
        lines: &[Vec<&str>],
        compiler: &mut Compiler<C>,
    ) -> Result<Map, Vec<ScriptError>> {
        compiler.declare_map_captures(lines)?;
        let mut errors = Vec::new();
        let source = compiler.template(source).unwrap_or_else(|error| {
            errors.push(error);
            Template::constant(b"")
        });
        let mut map = Map {
            variable: variable.into(),
            keys: Vec::new(),
            source,
            names: Hostnames::default(),
            regexes: Vec::new(),
            values: Vec::new(),
            default: Template::constant(b""),
            // Order does not matter to those who write it last.
            hostnames: lines.iter().any(|line| line.as_slice() == ["hostnames"]),
            volatile: lines.iter().any(|line| line.as_slice() == ["volatile"]),
        };
        let mut defaults = 0;
        for (item, line) in lines.iter().enumerate() {
            if let Err(error) = map.add(line, &mut defaults, compiler) {
                errors.push(error.in_item(item));
            }
        }
        if errors.is_empty() { Ok(map) } else { Err(errors) }
    }

    fn add<C: Catalogue>(
        &mut self,
        line: &[&str],
        defaults: &mut u32,
        compiler: &mut Compiler<C>,
    ) -> Result<(), ScriptError> {
        let &[key, value] = line else {
            return match line {
                ["hostnames" | "volatile"] => Ok(()),
                _ => Err(ScriptError::new("invalid number of the map parameters")),
            };
        };
        let value = compiler.template(value)?;
        if key == "default" {
            *defaults += 1;
            if *defaults > 1 {
                return Err(ScriptError::new("duplicate default map parameter"));
            }
            self.default = value;
            return Ok(());
        }
        let index = self.values.len() as u32;
        if let Some(pattern) = key.strip_prefix('~') {
            let (pattern, caseless) = match pattern.strip_prefix('*') {
                Some(pattern) => (pattern, true),
                None => (pattern, false),
            };
            self.regexes.push((compiler.regex(pattern, caseless)?, index));
        } else {
            // A backslash lets a name look like a parameter, a pattern or a wildcard: `\default`, `\~x`.
            let added = match key.strip_prefix('\\') {
                Some(name) => self.names.insert_exact(name, index),
                None if self.hostnames => self.names.insert(key, index),
                None => self.names.insert_exact(key, index),
            };
            added.map_err(|refused| match refused {
                RefusedHostname::Conflict => ScriptError::new(format!("conflicting parameter \"{key}\"")),
                RefusedHostname::Invalid => {
                    ScriptError::new(format!("invalid hostname or wildcard \"{key}\""))
                }
            })?;
        }
        self.values.push(value);
        self.keys.push(key.into());
        Ok(())
    }

    pub(crate) fn reads_only(&self, allowed: &dyn Fn(Builtin) -> bool, depth: u8) -> bool {
        [&self.source, &self.default]
            .into_iter()
            .chain(&self.values)
            .all(|part| part.reads_within(allowed, depth))
    }

    pub(crate) fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// Appends the value for this request.
    pub(crate) fn eval<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
        out: &mut Vec<u8>,
    ) -> Result<(), EvalError> {
        let mut matched = None;
        let value = self.source.with_value(env, frame, CaptureForm::Raw, |frame, subject| {
            let found = self.find(subject, frame, &mut matched)?;
            if env.traces() {
                let line = found.map(|index| &*self.keys[index as usize]);
                env.trace(Trace::Map { variable: &self.variable, subject, line });
            }
            Ok(match found {
                Some(index) => &self.values[index as usize],
                None => &self.default,
            })
        })?;
        if let Some(regex) = matched {
            regex.publish(frame);
        }
        value.eval(env, frame, out)
    }

    fn find<'m>(
        &'m self,
        subject: &[u8],
        frame: &mut Frame,
        matched: &mut Option<&'m Regex>,
    ) -> Result<Option<u32>, EvalError> {
        let mut lower = frame.take_buffer();
        lower.extend(subject.iter().map(u8::to_ascii_lowercase));
        if self.hostnames && lower.last() == Some(&b'.') {
            lower.pop();
        }
        let named = self.names.find(&lower).copied();
        frame.give_buffer(lower);
        if named.is_some() {
            return Ok(named);
        }
        for (regex, index) in &self.regexes {
            if regex.capture(subject, frame)? {
                *matched = Some(regex);
                return Ok(Some(*index));
            }
        }
        Ok(None)
    }
}
