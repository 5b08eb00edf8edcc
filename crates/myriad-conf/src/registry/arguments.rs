//! Typed access to the arguments of a directive, for setters. Methods panic if `index` is out of range.

use std::fmt::Display;

use myriad_base::digits::decimal_fraction;

use super::{
    directive::Arguments,
    name_use::{NameKind, NameUse},
};
use crate::{
    diagnostic::Diagnostic,
    number::{NumberError, parse_millis, parse_number, parse_size},
    parsed::Word,
    settings::{Protocol, tls_display_name},
    text::Text,
};

impl<'a> Arguments<'a> {
    /// Returns the number of arguments.
    pub fn len(&self) -> usize {
        self.node.args.len()
    }

    /// Returns whether the directive has no arguments.
    pub fn is_empty(&self) -> bool {
        self.node.args.is_empty()
    }

    /// Returns the arguments with their positions and quoting.
    pub fn words(&self) -> &'a [Word] {
        &self.node.args
    }

    /// Returns the bytes of an argument, without quotes.
    pub fn bytes(&self, index: usize) -> &'a [u8] {
        &self.node.args[index].text
    }

    /// Returns the origin protocol of the directive, whose prefix its name has: `proxy` of `proxy_bind`.
    ///
    /// # Panics
    /// Panics if the row is not a [`FamilyRow`](super::FamilyRow): only these have a protocol.
    pub fn protocol(&self) -> Protocol {
        self.directive.protocol.expect("only directives of origin protocols read their protocol")
    }

    /// Records that the directive uses `name`, which must not contain variables. After the whole configuration has been
    /// read, it is an error if no directive defines a name of this kind.
    pub fn use_name(&mut self, name: Text, of: &'static NameKind) {
        self.uses.push(NameUse { name, of, protocol: self.directive.protocol });
    }

    /// Clears `list` if this is the first occurrence of the directive (or of its group) on its level, so that the
    /// arguments replace inherited values instead of being added to them.
    pub fn start<T>(&self, list: &mut Vec<T>) {
        if self.first {
            list.clear();
        }
    }

    /// Creates an error with `message` at the position of the argument `index`.
    pub fn error(&self, index: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.node.args[index].span, message)
    }

    /// Adds a warning with `message` at the position of the argument `index`.
    pub fn warn(&mut self, index: usize, message: impl Into<String>) {
        self.warnings.push(Diagnostic::warning(self.node.args[index].span, message));
    }

    /// Creates the error `invalid value "x" in "name" directive` at the position of the argument `index`, with the
    /// advice that the value must be `must_be`.
    pub fn invalid(&self, index: usize, must_be: impl Display) -> Diagnostic {
        let value = tls_display_name(self.bytes(index));
        self.error(index, format!("invalid value \"{value}\" in \"{}\" directive", self.directive.name))
            .help(format!("it must be {must_be}"))
    }

    /// Returns an argument as text, which may contain variables. Never fails.
    pub fn text(&self, index: usize) -> Result<Text, Diagnostic> {
        Ok(self.node.args[index].to_text())
    }

    /// Returns an argument as a name. Fails if it is empty or not UTF-8.
    pub fn name(&self, index: usize) -> Result<String, Diagnostic> {
        match std::str::from_utf8(self.bytes(index)) {
            Ok("") | Err(_) => Err(self.invalid(index, "a name")),
            Ok(name) => Ok(name.to_owned()),
        }
    }

    /// Parses an argument `$name` and returns the name without `$`. Returns an error if there is no `$` or name.
    pub fn variable(&self, index: usize) -> Result<Text, Diagnostic> {
        let mut text = self.node.args[index].to_text();
        let name = text.value.strip_prefix(b"$").unwrap_or_default();
        if name.is_empty() {
            return Err(self
                .error(index, format!("invalid variable name \"{}\"", text.lossy()))
                .help("a variable name starts with `$`"));
        }
        text.value = name.to_vec();
        Ok(text)
    }

    /// Parses an argument `on` (true) or `off` (false), case-insensitively. Returns an error for other words.
    pub fn flag(&self, index: usize) -> Result<bool, Diagnostic> {
        self.choice(index, &[("on", true), ("off", false)])
    }

    /// Parses an argument that is one of the words in `choices`, case-insensitively as in nginx, and returns the value
    /// of the word. Returns an error for other words.
    pub fn choice<T: Copy>(&self, index: usize, choices: &[(&str, T)]) -> Result<T, Diagnostic> {
        let word = self.bytes(index);
        let found = choices.iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = choices.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            self.invalid(index, names.join(" or "))
        })
    }

    /// Parses an argument as a number, at most `i64::MAX`; returns an error if it is not one.
    pub fn number(&self, index: usize) -> Result<u64, Diagnostic> {
        self.read(index, 0, &NUMBER, parse_number)
    }

    /// Parses an argument as a 32-bit number; returns an error if it is not one.
    pub fn count(&self, index: usize) -> Result<u32, Diagnostic> {
        self.small(index, 0)
    }

    /// Parses an argument as a size with an optional `k`, `m` or `g`, and returns bytes; returns an error if it is not
    /// one.
    pub fn size(&self, index: usize) -> Result<u64, Diagnostic> {
        self.read(index, 0, &SIZE, parse_size)
    }

    /// Parses an argument as a time and returns milliseconds; returns an error if it is not one. A number without a
    /// unit is in seconds.
    pub fn millis(&self, index: usize) -> Result<u64, Diagnostic> {
        self.read(index, 0, &TIME, parse_millis)
    }

    /// Parses the 32-bit number after the first `skip` bytes of an argument, as in `weight=5`; returns an error if it
    /// is not one.
    pub fn small(&self, index: usize, skip: usize) -> Result<u32, Diagnostic> {
        let number = self.read(index, skip, &NUMBER, parse_number)?;
        u32::try_from(number).map_err(|_| self.invalid(index, "less than 4294967296"))
    }

    /// Parses the number after the first `skip` bytes of an argument, as in `max=5`; returns an error if it is not one.
    pub fn number_after(&self, index: usize, skip: usize) -> Result<u64, Diagnostic> {
        self.read(index, skip, &NUMBER, parse_number)
    }

    /// Parses the size after the first `skip` bytes of an argument, as in `size=10m`, and returns bytes; returns an
    /// error if it is not one.
    pub fn size_after(&self, index: usize, skip: usize) -> Result<u64, Diagnostic> {
        self.read(index, skip, &SIZE, parse_size)
    }

    /// Parses the time after the first `skip` bytes of an argument, as in `inactive=60s`, and returns milliseconds;
    /// returns an error if it is not one.
    pub fn millis_after(&self, index: usize, skip: usize) -> Result<u64, Diagnostic> {
        self.read(index, skip, &TIME, parse_millis)
    }

    /// Parses the percentage after the first `skip` bytes of an argument, as in `sample=1%`, and returns millionths.
    /// Returns an error unless the percentage, rounded to four decimals, is from 0.0001% to 100%.
    pub fn millionths_after(&self, index: usize, skip: usize) -> Result<u32, Diagnostic> {
        let percent = self.bytes(index)[skip..].strip_suffix(b"%");
        match percent.and_then(decimal_fraction).map(|percent| (percent * 10_000.0).round()) {
            Some(parsed) if (1.0..=1_000_000.0).contains(&parsed) => Ok(parsed as u32),
            _ => Err(self.invalid(index, "a percentage above 0% and up to 100%, such as 1%")),
        }
    }

    /// Parses an argument as a number from `low` to `high`, inclusive; returns an error if it is not one.
    pub fn within(&self, index: usize, low: u8, high: u8) -> Result<u8, Diagnostic> {
        let number = u8::try_from(self.number(index)?).ok().filter(|number| (low..=high).contains(number));
        number.ok_or_else(|| self.invalid(index, format!("between {low} and {high}")))
    }

    fn read<T>(
        &self,
        index: usize,
        skip: usize,
        form: &NumberForm,
        parse: fn(&[u8]) -> Result<T, NumberError>,
    ) -> Result<T, Diagnostic> {
        parse(&self.bytes(index)[skip..]).map_err(|error| match error {
            NumberError::Invalid => self.invalid(index, form.syntax),
            NumberError::TooLarge => self.invalid(index, format!("at most {}{}", i64::MAX, form.unit)),
        })
    }
}

/// Description of a kind of number in errors.
struct NumberForm {
    /// Syntax that is required.
    syntax: &'static str,
    /// Unit of the parsed number, with a space before it; empty if it has none.
    unit: &'static str,
}

const NUMBER: NumberForm = NumberForm { syntax: "a number", unit: "" };
const SIZE: NumberForm =
    NumberForm { syntax: "a size: a number with an optional `k`, `m` or `g`", unit: " bytes" };
const TIME: NumberForm = NumberForm {
    syntax: "a time: numbers with `ms`, `s`, `m`, `h`, `d`, `w`, `M` or `y`; seconds without a unit",
    unit: " milliseconds",
};
