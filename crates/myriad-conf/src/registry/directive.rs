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

/// What holds where a directive is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// Nothing.
    None,
    /// What the directive would say with this text behind its name, or in its block: the outermost level of a configuration is read
    /// from it, so that no default is said twice.
    Text(&'static str),
    /// No text of its own says it; the sentence, in Markdown, tells the docs what follows from what.
    Computed(&'static str),
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

/// `on` or `off`.
pub const FLAG: Arity = Arity { min: 1, max: 1, flag: true, block: false };
/// One argument.
pub const ONE: Arity = exactly(1);
/// Two arguments.
pub const TWO: Arity = exactly(2);

/// So many arguments.
pub const fn exactly(count: usize) -> Arity {
    between(count, count)
}

/// From so many arguments to so many.
pub const fn between(min: usize, max: usize) -> Arity {
    Arity { min, max, flag: false, block: false }
}

/// So many arguments or more.
pub const fn at_least(min: usize) -> Arity {
    between(min, usize::MAX)
}

/// From so many arguments to so many, and a block.
pub const fn block(min: usize, max: usize) -> Arity {
    Arity { min, max, flag: false, block: true }
}

/// A block that the builder walks itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// `events`.
    Events,
    /// `http`.
    Http,
    /// `server` in `http`.
    Server,
    /// `location`.
    Location,
    /// `if`.
    If,
    /// `limit_except`.
    LimitExcept,
    /// `upstream`.
    Upstream,
    /// `acme_issuer`.
    AcmeIssuer,
}

/// What a directive sets, by the part of the model it belongs to.
#[derive(Clone, Copy)]
pub enum Set {
    /// Nothing: it is accepted or refused without effect.
    Nothing,
    /// The process: what stands outside of `http`, or in `events`.
    Main(fn(&mut MainConf, &mut Arguments<'_>) -> Done),
    /// What `http` has once: zones, maps, formats.
    Http(fn(&mut HttpConf, &mut Arguments<'_>) -> Done),
    /// A `server`.
    Server(fn(&mut ServerConf, &mut Arguments<'_>) -> Done),
    /// What holds per level, inherited by the levels within; also the settings of features ([`Settings::feature_mut`]).
    Settings(fn(&mut Settings, &mut Arguments<'_>) -> Done),
    /// How an origin is asked, by the protocol whose prefix the name has.
    Origin(fn(&mut OriginSettings, &mut Arguments<'_>) -> Done),
    /// An `acme_issuer`.
    AcmeIssuer(fn(&mut AcmeIssuerConf, &mut Arguments<'_>) -> Done),
    /// An `upstream`.
    Upstream(fn(&mut UpstreamConf, &mut Arguments<'_>) -> Done),
    /// A step of the rewrite module; it is kept in its order.
    Rewrite(fn(&mut Arguments<'_>) -> Result<RewriteStep, Diagnostic>),
    /// A block that the builder walks.
    Block(Block),
}

/// `set!(Settings.flag => client.tcp_nodelay)`: the one argument, read by that method of [`Arguments`], goes to that field.
/// `set!(Feature<Autoindex>.flag => on)`: the field is one of a feature's settings.
#[macro_export]
macro_rules! set {
    (Feature<$feature:ty>.$read:ident => $($field:ident).+) => {
        $crate::registry::Set::Settings(|settings, args| {
            settings.feature_mut::<$feature>().$($field).+ = args.$read(0)?;
            Ok(())
        })
    };
    (Feature<$feature:ty>.$read:ident => Some $($field:ident).+) => {
        $crate::registry::Set::Settings(|settings, args| {
            settings.feature_mut::<$feature>().$($field).+ = Some(args.$read(0)?);
            Ok(())
        })
    };
    ($part:ident . $read:ident => $($field:ident).+) => {
        $crate::registry::Set::$part(|conf, args| {
            conf.$($field).+ = args.$read(0)?;
            Ok(())
        })
    };
    ($part:ident . $read:ident => Some $($field:ident).+) => {
        $crate::registry::Set::$part(|conf, args| {
            conf.$($field).+ = Some(args.$read(0)?);
            Ok(())
        })
    };
}

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
    /// What holds where it is not written.
    pub default: DefaultValue,
    /// How it fares here.
    pub status: Status,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Which member of the upstream family it belongs to.
    pub protocol: Option<Protocol>,
    /// What it sets.
    pub set: Set,
}

impl Directive {
    /// A directive that means what nginx documents; the methods below say otherwise.
    pub const fn new(
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
            default: DefaultValue::None,
            status: Status::Same,
            doc,
            protocol: None,
            set,
        }
    }

    /// It may be written more than once on one level.
    #[must_use]
    pub const fn repeats(mut self) -> Self {
        self.repeats = true;
        self
    }

    /// Directives of one group count as one for repetition and inheritance.
    #[must_use]
    pub const fn group(mut self, group: &'static str) -> Self {
        self.group = Some(group);
        self
    }

    /// The default, as it would be written.
    #[must_use]
    pub const fn default(mut self, text: &'static str) -> Self {
        self.default = DefaultValue::Text(text);
        self
    }

    /// [`DefaultValue::Computed`].
    #[must_use]
    pub const fn computed(mut self, sentence: &'static str) -> Self {
        self.default = DefaultValue::Computed(sentence);
        self
    }

    /// [`Status::Differs`].
    #[must_use]
    pub const fn differs(mut self, note: &'static str) -> Self {
        self.status = Status::Differs(note);
        self
    }

    /// [`Status::NoEffect`].
    #[must_use]
    pub const fn no_effect(mut self, note: &'static str) -> Self {
        self.status = Status::NoEffect(note);
        self
    }

    /// [`Status::Later`].
    #[must_use]
    pub const fn later(mut self, note: &'static str) -> Self {
        self.status = Status::Later(note);
        self
    }

    /// [`Status::Refused`].
    #[must_use]
    pub const fn refused(mut self, reason: &'static str) -> Self {
        self.status = Status::Refused(reason);
        self
    }

    /// [`Status::Own`].
    #[must_use]
    pub const fn own(mut self) -> Self {
        self.status = Status::Own;
        self
    }

    /// What repetition is counted by.
    pub(crate) fn counted_as(&self) -> &str {
        self.group.unwrap_or(&self.name)
    }
}

/// The reason of directives that a later version brings.
pub const NOT_YET: &str = "not supported yet by this version of Myriad";

/// A row of the upstream family: the name's part behind the prefix of a protocol, and which of them have it.
pub(crate) struct FamilyRow {
    row: Directive,
    of: &'static [Protocol],
}

impl FamilyRow {
    /// A row of every protocol.
    pub(super) const fn all(row: Directive) -> Self {
        Self { row, of: &Protocol::ALL }
    }

    /// A row of those protocols.
    pub(super) const fn of(of: &'static [Protocol], row: Directive) -> Self {
        Self { row, of }
    }

    pub(super) const fn fastcgi(row: Directive) -> Self {
        Self::of(&[Protocol::FastCgi], row)
    }

    pub(super) const fn proxy(row: Directive) -> Self {
        Self::of(&[Protocol::Http], row)
    }

    /// A row of protocols that tell a CGI environment.
    pub(super) const fn environment(row: Directive) -> Self {
        Self::of(&[Protocol::FastCgi, Protocol::Scgi, Protocol::Uwsgi], row)
    }

    /// A row of protocols that can be spoken by TLS.
    pub(super) const fn secure(row: Directive) -> Self {
        Self::of(&[Protocol::Http, Protocol::Uwsgi], row)
    }

    pub(super) fn named_for(&self, protocol: Protocol, family: &'static str) -> Option<Directive> {
        if !self.of.contains(&protocol) {
            return None;
        }
        let name = Cow::Owned(format!("{}{}", protocol.prefix(), self.row.name));
        Some(Directive { name, family, protocol: Some(protocol), ..self.row.clone() })
    }
}

/// What a setter returns.
pub type Done = Result<(), Diagnostic>;

/// A name that must be defined somewhere; checked when everything has been read.
pub enum Use {
    /// A `log_format`.
    LogFormat(Text),
    /// A cache zone.
    CacheZone(Text),
    /// A zone of limits, and the directive that would define it.
    LimitZone(Text, &'static str),
}

/// One directive as its setter sees it. Indexes count arguments from 0; the arity was checked before.
pub struct Arguments<'a> {
    /// The directive as it stands in the file.
    pub node: &'a Node,
    /// Its row.
    pub directive: &'a Directive,
    /// Whether it (or its group) stands here for the first time on this level.
    pub first: bool,
    /// Names that must be defined somewhere: the setter adds those that it reads.
    pub uses: &'a mut Vec<Use>,
    /// What is worth a warning.
    pub warnings: &'a mut Vec<Diagnostic>,
}

impl<'a> Arguments<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.node.args.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.node.args.is_empty()
    }

    /// The arguments as they stand in the file.
    pub fn words(&self) -> &'a [Word] {
        &self.node.args
    }

    /// An argument, unquoted.
    pub fn bytes(&self, index: usize) -> &'a [u8] {
        &self.node.args[index].text
    }

    /// Which member of the upstream family the directive belongs to.
    pub fn protocol(&self) -> Protocol {
        self.directive.protocol.unwrap_or(Protocol::Http)
    }

    /// Empties an inherited list where this level starts its own.
    pub fn start<T>(&self, list: &mut Vec<T>) {
        if self.first {
            list.clear();
        }
    }

    /// An error at an argument.
    pub fn error(&self, index: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.node.args[index].span, message)
    }

    /// Adds a warning at an argument.
    pub fn warn(&mut self, index: usize, message: impl Into<String>) {
        self.warnings.push(Diagnostic::warning(self.node.args[index].span, message));
    }

    /// `invalid value "x"`, with the directive's name and what it must be.
    pub fn invalid(&self, index: usize, must_be: impl Display) -> Diagnostic {
        let value = String::from_utf8_lossy(self.bytes(index));
        self.error(index, format!("invalid value \"{value}\" in \"{}\" directive", self.directive.name))
            .help(format!("it must be {must_be}"))
    }

    /// An argument as text that may hold variables.
    pub fn text(&self, index: usize) -> Result<Text, Diagnostic> {
        Ok(self.node.args[index].to_text())
    }

    /// A name of the configuration's own: UTF-8, not empty.
    pub fn name(&self, index: usize) -> Result<String, Diagnostic> {
        match std::str::from_utf8(self.bytes(index)) {
            Ok("") | Err(_) => Err(self.invalid(index, "a name")),
            Ok(name) => Ok(name.to_owned()),
        }
    }

    /// `$name`, without the `$`.
    pub fn variable(&self, index: usize) -> Result<Text, Diagnostic> {
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

    /// `on` or `off`.
    pub fn flag(&self, index: usize) -> Result<bool, Diagnostic> {
        self.choice(index, &[("on", true), ("off", false)])
    }

    /// One of a few words, regardless of case as in nginx.
    pub fn choice<T: Copy>(&self, index: usize, choices: &[(&str, T)]) -> Result<T, Diagnostic> {
        let word = self.bytes(index);
        let found = choices.iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = choices.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            self.invalid(index, names.join(" or "))
        })
    }

    /// A number.
    pub fn number(&self, index: usize) -> Result<u64, Diagnostic> {
        self.read(index, 0, "a number", parse_number)
    }

    /// A number that fits 32 bits.
    pub fn count(&self, index: usize) -> Result<u32, Diagnostic> {
        self.small(index, 0)
    }

    /// Bytes: `k`, `m`, `g` are understood.
    pub fn size(&self, index: usize) -> Result<u64, Diagnostic> {
        self.read(index, 0, "a size: a number, `k`, `m` or `g` after it", parse_size)
    }

    /// A time, in milliseconds; seconds without a unit.
    pub fn millis(&self, index: usize) -> Result<u64, Diagnostic> {
        self.read(index, 0, TIME, parse_millis)
    }

    /// The number after the first `skip` bytes of the word, as in `weight=5`.
    pub fn small(&self, index: usize, skip: usize) -> Result<u32, Diagnostic> {
        let number = self.read(index, skip, "a number", parse_number)?;
        u32::try_from(number).map_err(|_| self.invalid(index, "less than 4294967296"))
    }

    /// A number behind the first `skip` bytes.
    pub fn number_after(&self, index: usize, skip: usize) -> Result<u64, Diagnostic> {
        self.read(index, skip, "a number", parse_number)
    }

    /// Bytes behind the first `skip` bytes, as in `size=10m`.
    pub fn size_after(&self, index: usize, skip: usize) -> Result<u64, Diagnostic> {
        self.read(index, skip, "a size: a number, `k`, `m` or `g` after it", parse_size)
    }

    /// A time behind the first `skip` bytes, as in `inactive=60s`, in milliseconds.
    pub fn millis_after(&self, index: usize, skip: usize) -> Result<u64, Diagnostic> {
        self.read(index, skip, TIME, parse_millis)
    }

    /// A number from `low` to `high`.
    pub fn within(&self, index: usize, low: u8, high: u8) -> Result<u8, Diagnostic> {
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
