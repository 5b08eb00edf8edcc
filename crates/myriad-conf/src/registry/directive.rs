//! A directive: what it is called, where it may stand, what it takes and what it sets, and its arguments as its setter reads
//! them.

use std::{borrow::Cow, fmt::Display};

use super::contexts::Contexts;
use crate::{
    diagnostic::Diagnostic,
    model::{AcmeIssuerConf, HttpConf, MainConf, RewriteStep, ServerConf, UpstreamConf},
    number::{NumberError, parse_millis, parse_number, parse_size},
    parsed::{Node, Word},
    settings::{OriginSettings, Protocol, Settings},
    text::Text,
};

/// How a directive of nginx fares here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It means what nginx documents.
    Same,
    /// It is obeyed, but means something else in the way that the note says.
    Differs(&'static str),
    /// It is accepted and changes nothing, for the reason that the note says.
    NoEffect(&'static str),
    /// It is read and checked; a later version acts on it, this one does as the note says.
    Later(&'static str),
    /// The configuration is refused, for this reason.
    Refused(&'static str),
    /// Myriad's own; nginx has no such directive.
    Own,
}

/// How many arguments, and whether a block follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arity {
    /// At least so many.
    pub min: usize,
    /// At most so many; `usize::MAX` for any number.
    pub max: usize,
    /// Its one argument is `on` or `off`.
    pub flag: bool,
    /// Whether it ends with a block rather than `;`.
    pub block: bool,
}

pub(super) const FLAG: Arity = Arity { min: 1, max: 1, flag: true, block: false };
pub(super) const ONE: Arity = exactly(1);
pub(super) const TWO: Arity = exactly(2);

pub(super) const fn exactly(count: usize) -> Arity {
    between(count, count)
}

pub(super) const fn between(min: usize, max: usize) -> Arity {
    Arity { min, max, flag: false, block: false }
}

pub(super) const fn at_least(min: usize) -> Arity {
    between(min, usize::MAX)
}

pub(super) const fn block(min: usize, max: usize) -> Arity {
    Arity { min, max, flag: false, block: true }
}

/// A block that the builder walks itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    Events,
    Http,
    Server,
    Location,
    If,
    LimitExcept,
    Upstream,
    AcmeIssuer,
}

/// What a directive sets, by the part of the model it belongs to.
#[derive(Clone, Copy)]
pub(crate) enum Set {
    Nothing,
    Main(fn(&mut MainConf, &mut Arguments<'_>) -> Done),
    Http(fn(&mut HttpConf, &mut Arguments<'_>) -> Done),
    Server(fn(&mut ServerConf, &mut Arguments<'_>) -> Done),
    Settings(fn(&mut Settings, &mut Arguments<'_>) -> Done),
    Origin(fn(&mut OriginSettings, &mut Arguments<'_>) -> Done),
    AcmeIssuer(fn(&mut AcmeIssuerConf, &mut Arguments<'_>) -> Done),
    Upstream(fn(&mut UpstreamConf, &mut Arguments<'_>) -> Done),
    Rewrite(fn(&mut Arguments<'_>) -> Result<RewriteStep, Diagnostic>),
    Block(Block),
}

/// `set!(Settings.flag => client.tcp_nodelay)`: the one argument, read by that method, goes to that field.
macro_rules! set {
    ($part:ident . $read:ident => $($field:ident).+) => {
        $crate::registry::directive::Set::$part(|conf, args| {
            conf.$($field).+ = args.$read(0)?;
            Ok(())
        })
    };
    ($part:ident . $read:ident => Some $($field:ident).+) => {
        $crate::registry::directive::Set::$part(|conf, args| {
            conf.$($field).+ = Some(args.$read(0)?);
            Ok(())
        })
    };
}
pub(super) use set;

/// One directive.
#[derive(Clone)]
pub struct Directive {
    /// Its name.
    pub name: Cow<'static, str>,
    /// The file of the registry that holds it: `access`, `cache`, …
    pub family: &'static str,
    /// The contexts where it may stand.
    pub contexts: Contexts,
    /// What it takes.
    pub arity: Arity,
    /// Whether it may be written more than once on one level.
    pub repeats: bool,
    /// Directives that count as one for repetition and inheritance, such as `allow` and `deny`.
    pub group: Option<&'static str>,
    /// The default, as it would be written.
    pub default: Option<&'static str>,
    /// How it fares here.
    pub status: Status,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Which member of the upstream family it belongs to.
    pub protocol: Option<Protocol>,
    pub(crate) set: Set,
}

impl Directive {
    pub(super) const fn new(
        name: &'static str,
        contexts: Contexts,
        arity: Arity,
        set: Set,
        doc: &'static str,
    ) -> Self {
        Self {
            name: Cow::Borrowed(name),
            family: "",
            contexts,
            arity,
            repeats: false,
            group: None,
            default: None,
            status: Status::Same,
            doc,
            protocol: None,
            set,
        }
    }

    pub(super) const fn repeats(mut self) -> Self {
        self.repeats = true;
        self
    }

    pub(super) const fn group(mut self, group: &'static str) -> Self {
        self.group = Some(group);
        self
    }

    pub(super) const fn default(mut self, text: &'static str) -> Self {
        self.default = Some(text);
        self
    }

    pub(super) const fn differs(mut self, note: &'static str) -> Self {
        self.status = Status::Differs(note);
        self
    }

    pub(super) const fn no_effect(mut self, note: &'static str) -> Self {
        self.status = Status::NoEffect(note);
        self
    }

    pub(super) const fn later(mut self, note: &'static str) -> Self {
        self.status = Status::Later(note);
        self
    }

    pub(super) const fn refused(mut self, reason: &'static str) -> Self {
        self.status = Status::Refused(reason);
        self
    }

    pub(super) const fn own(mut self) -> Self {
        self.status = Status::Own;
        self
    }

    /// What repetition is counted by.
    pub(crate) fn counted_as(&self) -> &str {
        self.group.unwrap_or(&self.name)
    }
}

/// The reason of directives that a later version brings.
pub(crate) const NOT_YET: &str = "not supported yet by this version of Myriad";

/// A row of the upstream family: the name's part after `fastcgi_` or `proxy_`, and which of them have it.
pub(crate) struct FamilyRow {
    row: Directive,
    only: Option<Protocol>,
}

impl FamilyRow {
    pub(super) const fn both(row: Directive) -> Self {
        Self { row, only: None }
    }

    pub(super) const fn fastcgi(row: Directive) -> Self {
        Self { row, only: Some(Protocol::FastCgi) }
    }

    pub(super) const fn proxy(row: Directive) -> Self {
        Self { row, only: Some(Protocol::Http) }
    }

    pub(super) fn named_for(&self, protocol: Protocol, family: &'static str) -> Option<Directive> {
        if self.only.is_some_and(|only| only != protocol) {
            return None;
        }
        let name = Cow::Owned(format!("{}{}", protocol.prefix(), self.row.name));
        Some(Directive { name, family, protocol: Some(protocol), ..self.row.clone() })
    }
}

/// What a setter returns.
pub(crate) type Done = Result<(), Diagnostic>;

/// A name that must be defined somewhere; checked when everything has been read.
pub(crate) enum Use {
    /// A `log_format`.
    LogFormat(Text),
    /// A cache zone.
    CacheZone(Text),
    /// A zone of limits, and the directive that would define it.
    LimitZone(Text, &'static str),
}

/// One directive as its setter sees it. Indexes count arguments from 0; the arity was checked before.
pub(crate) struct Arguments<'a> {
    pub(crate) node: &'a Node,
    pub(crate) directive: &'static Directive,
    /// Whether it (or its group) stands here for the first time on this level.
    pub(crate) first: bool,
    pub(crate) uses: &'a mut Vec<Use>,
    pub(crate) warnings: &'a mut Vec<Diagnostic>,
}

impl<'a> Arguments<'a> {
    pub(crate) fn len(&self) -> usize {
        self.node.args.len()
    }

    pub(crate) fn words(&self) -> &'a [Word] {
        &self.node.args
    }

    pub(crate) fn bytes(&self, index: usize) -> &'a [u8] {
        &self.node.args[index].text
    }

    /// Which member of the upstream family the directive belongs to.
    pub(crate) fn protocol(&self) -> Protocol {
        self.directive.protocol.unwrap_or(Protocol::Http)
    }

    /// Empties an inherited list where this level starts its own.
    pub(crate) fn start<T>(&self, list: &mut Vec<T>) {
        if self.first {
            list.clear();
        }
    }

    pub(crate) fn error(&self, index: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.node.args[index].span, message)
    }

    pub(crate) fn warn(&mut self, index: usize, message: impl Into<String>) {
        self.warnings.push(Diagnostic::warning(self.node.args[index].span, message));
    }

    /// `invalid value "x"`, with the directive's name and what it must be.
    pub(crate) fn invalid(&self, index: usize, must_be: impl Display) -> Diagnostic {
        let value = String::from_utf8_lossy(self.bytes(index));
        self.error(index, format!("invalid value \"{value}\" in \"{}\" directive", self.directive.name))
            .help(format!("it must be {must_be}"))
    }

    pub(crate) fn text(&self, index: usize) -> Result<Text, Diagnostic> {
        Ok(self.node.args[index].to_text())
    }

    /// A name of the configuration's own: UTF-8, not empty.
    pub(crate) fn name(&self, index: usize) -> Result<String, Diagnostic> {
        match std::str::from_utf8(self.bytes(index)) {
            Ok("") | Err(_) => Err(self.invalid(index, "a name")),
            Ok(name) => Ok(name.to_owned()),
        }
    }

    /// `$name`, without the `$`.
    pub(crate) fn variable(&self, index: usize) -> Result<Text, Diagnostic> {
        let mut text = self.node.args[index].to_text();
        let name = text.value.strip_prefix(b"$").unwrap_or_default();
        if name.is_empty() {
            return Err(self
                .error(index, format!("invalid variable name \"{}\"", text.lossy()))
                .help("it starts with `$`"));
        }
        text.value = name.to_vec();
        Ok(text)
    }

    pub(crate) fn flag(&self, index: usize) -> Result<bool, Diagnostic> {
        self.choice(index, &[("on", true), ("off", false)])
    }

    /// One of a few words, regardless of case as in nginx.
    pub(crate) fn choice<T: Copy>(&self, index: usize, choices: &[(&str, T)]) -> Result<T, Diagnostic> {
        let word = self.bytes(index);
        let found = choices.iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = choices.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            self.invalid(index, names.join(" or "))
        })
    }

    pub(crate) fn number(&self, index: usize) -> Result<u64, Diagnostic> {
        self.read(index, 0, "a number", parse_number)
    }

    /// A number that fits 32 bits.
    pub(crate) fn count(&self, index: usize) -> Result<u32, Diagnostic> {
        self.small(index, 0)
    }

    pub(crate) fn size(&self, index: usize) -> Result<u64, Diagnostic> {
        self.read(index, 0, "a size: a number, `k`, `m` or `g` after it", parse_size)
    }

    pub(crate) fn millis(&self, index: usize) -> Result<u64, Diagnostic> {
        self.read(index, 0, TIME, parse_millis)
    }

    /// The number after the first `skip` bytes of the word, as in `weight=5`.
    pub(crate) fn small(&self, index: usize, skip: usize) -> Result<u32, Diagnostic> {
        let number = self.read(index, skip, "a number", parse_number)?;
        u32::try_from(number).map_err(|_| self.invalid(index, "less than 4294967296"))
    }

    pub(crate) fn number_after(&self, index: usize, skip: usize) -> Result<u64, Diagnostic> {
        self.read(index, skip, "a number", parse_number)
    }

    pub(crate) fn size_after(&self, index: usize, skip: usize) -> Result<u64, Diagnostic> {
        self.read(index, skip, "a size: a number, `k`, `m` or `g` after it", parse_size)
    }

    pub(crate) fn millis_after(&self, index: usize, skip: usize) -> Result<u64, Diagnostic> {
        self.read(index, skip, TIME, parse_millis)
    }

    /// A number from `low` to `high`.
    pub(crate) fn within(&self, index: usize, low: u8, high: u8) -> Result<u8, Diagnostic> {
        let number = u8::try_from(self.number(index)?).ok().filter(|number| (low..=high).contains(number));
        number.ok_or_else(|| self.invalid(index, format!("between {low} and {high}")))
    }

    fn read<T>(
        &self,
        index: usize,
        skip: usize,
        form: &str,
        parse: fn(&[u8]) -> Result<T, NumberError>,
    ) -> Result<T, Diagnostic> {
        parse(&self.bytes(index)[skip..]).map_err(|error| match error {
            NumberError::Invalid => self.invalid(index, form),
            NumberError::TooLarge => self.invalid(index, "smaller: it is too large"),
        })
    }
}

const TIME: &str = "a time: numbers with `ms`, `s`, `m`, `h`, `d`, `w`, `M` or `y`, seconds without a unit";
