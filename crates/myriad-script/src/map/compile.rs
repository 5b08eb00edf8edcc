//! Compilation of the lines of a `map`.

use super::Map;
use crate::environment::Catalogue;
use crate::error::ScriptError;
use crate::hostnames::{HostnameError, Hostnames};
use crate::names::NameResolver;
use crate::template::Template;
use crate::template::parse::parse;

/// Declares the variables of named groups in the patterns of a map.
pub(crate) fn declare_captures<C: Catalogue>(
    lines: &[Vec<&str>],
    names: &mut NameResolver<C>,
) -> Result<(), Vec<ScriptError>> {
    let mut errors = Vec::new();
    for (item, line) in lines.iter().enumerate() {
        if let Some(pattern) = line.first().and_then(|key| key.strip_prefix('~')) {
            let declared = names.declare_captures(pattern.strip_prefix('*').unwrap_or(pattern));
            errors.extend(declared.err().map(|error| error.in_item(item)));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

impl Map {
    pub(crate) fn compile<C: Catalogue>(
        variable: &str,
        source: &str,
        lines: &[Vec<&str>],
        names: &mut NameResolver<C>,
    ) -> Result<Map, Vec<ScriptError>> {
        declare_captures(lines, names)?;
        let mut errors = Vec::new();
        let source = parse(source, names).unwrap_or_else(|error| {
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
            // These parameters apply to all lines, regardless of their position.
            hostnames: lines.iter().any(|line| line.as_slice() == ["hostnames"]),
            volatile: lines.iter().any(|line| line.as_slice() == ["volatile"]),
        };
        let mut defaults = 0;
        for (item, line) in lines.iter().enumerate() {
            if let Err(error) = map.add(line, &mut defaults, names) {
                errors.push(error.in_item(item));
            }
        }
        if errors.is_empty() { Ok(map) } else { Err(errors) }
    }

    fn add<C: Catalogue>(
        &mut self,
        line: &[&str],
        defaults: &mut u32,
        names: &mut NameResolver<C>,
    ) -> Result<(), ScriptError> {
        let &[key, value] = line else {
            return match line {
                ["hostnames" | "volatile"] => Ok(()),
                _ => Err(ScriptError::new("invalid number of the map parameters")),
            };
        };
        let value = parse(value, names)?;
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
            self.regexes.push((names.regex(pattern, caseless)?, index));
        } else {
            // A backslash makes a name literal that looks like a parameter, a pattern or a wildcard: `\default`, `\~x`.
            let added = match key.strip_prefix('\\') {
                Some(name) => self.names.insert_exact(name, index),
                None if self.hostnames => self.names.insert(key, index),
                None => self.names.insert_exact(key, index),
            };
            added.map_err(|refused| match refused {
                HostnameError::Conflict => ScriptError::new(format!("conflicting parameter \"{key}\"")),
                HostnameError::Invalid => ScriptError::new(format!("invalid hostname or wildcard \"{key}\"")),
            })?;
        }
        self.values.push(value);
        self.keys.push(key.into());
        Ok(())
    }
}
