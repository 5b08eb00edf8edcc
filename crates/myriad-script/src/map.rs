//! Table of `map source $variable { … }`.

use crate::environment::{Builtin, Environment};
use crate::error::EvalError;
use crate::frame::Frame;
use crate::hostnames::Hostnames;
use crate::regex::Regex;
use crate::template::{CaptureForm, Template};
use crate::trace::Trace;

pub(crate) mod compile;
#[cfg(test)]
mod tests;

/// Compiled table of a `map` block: keys, and the values of a variable.
#[derive(Debug)]
pub(crate) struct Map {
    /// Name of the variable that the map defines.
    variable: Box<str>,
    /// Keys as written, at the index of their value in `values`.
    keys: Vec<Box<str>>,
    source: Template,
    /// Keys that are texts or wildcard names, with the index of their value.
    names: Hostnames<u32>,
    regexes: Vec<(Regex, u32)>,
    values: Vec<Template>,
    default: Template,
    /// True with `hostnames`: keys may contain wildcards, and a trailing dot of the source is ignored.
    hostnames: bool,
    volatile: bool,
}

impl Map {
    pub(crate) fn reads_only(&self, allowed: &dyn Fn(Builtin) -> bool, depth: u8) -> bool {
        [&self.source, &self.default]
            .into_iter()
            .chain(&self.values)
            .all(|part| part.reads_within(allowed, depth))
    }

    pub(crate) fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// Appends the value of the map's variable for the request `env`. The groups of a matching regular expression
    /// become captures.
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

    /// Returns the index of the matching line in `keys` and `values`; `None` for the default. A matching regex is
    /// stored in `matched`. As in nginx, an empty subject matches no regular expression, not even `~^$`.
    fn find<'m>(
        &'m self,
        subject: &[u8],
        frame: &mut Frame,
        matched: &mut Option<&'m Regex>,
    ) -> Result<Option<u32>, EvalError> {
        let subject = if self.hostnames { subject.strip_suffix(b".").unwrap_or(subject) } else { subject };
        let named = self.find_name(subject, frame);
        if named.is_some() || subject.is_empty() {
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

    /// Returns the index of the line whose key, a text or a wildcard name, matches `subject`.
    fn find_name(&self, subject: &[u8], frame: &mut Frame) -> Option<u32> {
        if self.names.is_empty() {
            return None;
        }
        let mut lower = frame.take_buffer();
        lower.extend_from_slice(subject);
        lower.make_ascii_lowercase();
        let named = self.names.find(&lower).copied();
        frame.give_buffer(lower);
        named
    }
}
