//! Variables of the server: their definition (row), and references to them in a configuration.

use myriad_conf::registry::DirectiveStatus;
use myriad_http::Known;
use myriad_http::proxy_protocol::Tlv;
use myriad_script::{EvalError, Frame};

use super::FieldRead;

/// Date format outside of SSI pages, which can set another format (`timefmt`).
const DATE_FORMAT: &[u8] = b"%A, %d-%b-%Y %H:%M:%S %Z";

/// Definition of a variable. `R` is the request type; this module does not depend on it.
pub struct VariableRow<R> {
    /// Name without the `$`; a name with a trailing `_` represents all variables with this prefix.
    pub name: &'static str,
    /// nginx module, as named in its manual.
    pub module: &'static str,
    /// Compatibility status.
    pub status: DirectiveStatus,
    /// All inputs of the value.
    pub reads: &'static [Reads],
    /// Value.
    pub value: RowValue<R>,
    /// Action of `set`; `None` if the variable is read-only.
    pub assign: Option<fn(&mut R, &[u8])>,
    /// True if a variable defined in the configuration may have the same name, which then takes precedence.
    pub yields: bool,
    /// True if the computed value is always printable ASCII without quotes and backslashes, independently of the
    /// client's input.
    pub plain: bool,
}

/// Input of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Configuration and machine: the same for every request.
    Site,
    /// Request line, host, and the resulting server and place.
    RequestLine,
    /// Scheme of the listener, or as reported by a trusted proxy.
    Scheme,
    /// Complete URI.
    Uri,
    /// URI, of which a part may be missing.
    UriPart,
    /// `root` and `alias`, which may contain variables.
    Root,
    /// Files below the root.
    Files,
    /// Complete value of a well-known request field.
    Field(Known),
    /// Complete value of the request field in the variable's name.
    NamedField,
    /// Value derived from a well-known field.
    FromField(Known),
    /// Cookie in the variable's name.
    NamedCookie,
    /// User of `Authorization`.
    User,
    /// Request body.
    Body,
    /// Name of the file that contains the request body.
    BodyFile,
    /// Client connection: addresses, handshake, certificates.
    Connection,
    /// TLS parameters offered in the client hello.
    Offer,
    /// Clock, and counters of the server.
    Moment,
    /// Requested piece; empty in a place without `slice`.
    Slice,
    /// Results of access checks.
    Access,
    /// Response, and the number of bytes sent.
    Answer,
    /// Field lines of the sent head.
    SentFields,
    /// Response head of the origin.
    OriginHead,
    /// Attempts to contact an origin.
    Origin,
    /// Cache result.
    Cache,
}

/// Value as a borrowed slice. `None`: it must be computed; `Some(None)`: the request has no value.
pub type Borrowed<'a> = Option<Option<&'a [u8]>>;

/// Computation of a value.
pub enum RowValue<R> {
    /// Borrowed slice; `None` if there is no value.
    Ready(for<'a> fn(&'a R) -> Option<&'a [u8]>),
    /// Function that writes the value and returns whether there is one.
    Made(fn(&R, &mut Vec<u8>) -> bool),
    /// Function that evaluates texts and patterns of the configuration. Returns whether there is a value.
    Run(fn(&R, &mut Frame, &mut Vec<u8>) -> Result<bool, EvalError>),
    /// Function that writes a date in the given format.
    Dated(fn(&[u8], &mut Vec<u8>)),
    /// Value that also depends on the rest of the name.
    Named(NamedValue<R>),
}

/// Value that depends on the rest of a name, after the prefix of the row.
pub struct NamedValue<R> {
    /// Parses the rest of the name.
    pub rest: fn(&str) -> NameSuffix,
    /// Returns the value as a borrowed slice, if possible.
    pub ready: for<'a> fn(&'a R, &'a NameSuffix) -> Borrowed<'a>,
    /// Writes a value that cannot be borrowed. Returns whether there is one.
    pub made: fn(&R, &NameSuffix, &mut Vec<u8>) -> bool,
}

/// Rest of a name, after the prefix of the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameSuffix {
    /// No rest.
    Nothing,
    /// Field or trailer.
    Field(FieldRead),
    /// Argument or cookie.
    Text(Box<str>),
    /// PROXY protocol TLV; `None` for a name without a TLV, as in nginx.
    Tlv(Option<Tlv>),
}

/// Reference to a variable in a configuration.
pub struct VariableRef<R: 'static> {
    /// Variable.
    pub row: &'static VariableRow<R>,
    /// Rest of the name, after the prefix of the row.
    pub rest: NameSuffix,
}

impl<R> VariableRow<R> {
    /// Creates a read-only variable that is compatible with nginx.
    pub const fn new(
        module: &'static str,
        name: &'static str,
        reads: &'static [Reads],
        value: RowValue<R>,
    ) -> Self {
        Self {
            name,
            module,
            status: DirectiveStatus::Same,
            reads,
            value,
            assign: None,
            yields: name.as_bytes()[name.len() - 1] == b'_',
            plain: false,
        }
    }

    /// Sets the compatibility status.
    #[must_use]
    pub const fn with_status(self, status: DirectiveStatus) -> Self {
        Self { status, ..self }
    }

    /// Makes the variable writable by `set`.
    #[must_use]
    pub const fn assigned(self, assign: fn(&mut R, &[u8])) -> Self {
        Self { assign: Some(assign), ..self }
    }

    /// Lets a variable of the configuration with the same name take precedence.
    #[must_use]
    pub const fn yielding(self) -> Self {
        Self { yields: true, ..self }
    }

    /// Declares that the value needs no escaping in a log: a number, an address, a date.
    #[must_use]
    pub const fn plain(self) -> Self {
        Self { plain: true, ..self }
    }

    /// Returns whether the row defines all names with its prefix.
    pub fn is_prefix(&self) -> bool {
        self.name.ends_with('_')
    }

    /// Returns the reference if the row defines `name`.
    pub fn named(&'static self, name: &str) -> Option<VariableRef<R>> {
        let rest = name.strip_prefix(self.name).filter(|rest| rest.is_empty() || self.is_prefix())?;
        let rest = match &self.value {
            RowValue::Named(value) => (value.rest)(rest),
            _ => NameSuffix::Nothing,
        };
        Some(VariableRef { row: self, rest })
    }
}

impl NameSuffix {
    /// Parses a field name: `_` represents `-`. A `-` in the variable's name matches no byte of a field name, as in
    /// nginx, so that such a variable is always empty.
    pub fn field(rest: &str) -> Self {
        let name = rest.replace('-', " ").replace('_', "-");
        Self::Field(match Known::from_bytes(name.as_bytes()) {
            Some(known) => FieldRead::Known(known),
            None => FieldRead::Other(name.into_bytes().into()),
        })
    }

    /// Parses the name of a field that is looked up by its text, well-known or not.
    pub fn line(rest: &str) -> Self {
        Self::Text(rest.replace('_', "-").into())
    }

    /// Parses the name of an argument or a cookie.
    pub fn text(rest: &str) -> Self {
        Self::Text(rest.into())
    }

    /// Returns the text; empty for the other variants.
    pub fn as_text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }
}

impl<R> VariableRef<R> {
    /// Returns the value as a borrowed slice, if possible.
    #[inline]
    pub fn borrow<'a>(&'a self, request: &'a R) -> Borrowed<'a> {
        match &self.row.value {
            RowValue::Ready(value) => Some(value(request)),
            RowValue::Named(value) => (value.ready)(request, &self.rest),
            _ => None,
        }
    }

    /// Appends the value. Returns false if the request has no value.
    pub fn append(&self, request: &R, frame: &mut Frame, out: &mut Vec<u8>) -> Result<bool, EvalError> {
        let ready = |value: Option<&[u8]>, out: &mut Vec<u8>| {
            out.extend_from_slice(value.unwrap_or_default());
            Ok(value.is_some())
        };
        match &self.row.value {
            RowValue::Ready(value) => ready(value(request), out),
            RowValue::Made(value) => Ok(value(request, out)),
            RowValue::Run(value) => value(request, frame, out),
            RowValue::Dated(write) => {
                write(DATE_FORMAT, out);
                Ok(true)
            }
            RowValue::Named(named) => match (named.ready)(request, &self.rest) {
                Some(value) => ready(value, out),
                None => Ok((named.made)(request, &self.rest, out)),
            },
        }
    }

    /// Returns whether the value depends on this input, possibly among others.
    pub fn reads(&self, what: Reads) -> bool {
        self.row.reads.contains(&what)
    }

    /// Returns whether the value depends on no other inputs than these.
    pub fn reads_only(&self, these: &[Reads]) -> bool {
        self.row.reads.iter().all(|read| these.contains(read))
    }

    /// Returns the request field whose unchanged value the variable has.
    pub fn field(&self) -> Option<FieldRead> {
        self.row.reads.iter().find_map(|read| match (read, &self.rest) {
            (Reads::Field(known), _) => Some(FieldRead::Known(*known)),
            (Reads::NamedField, NameSuffix::Field(field)) => Some(field.clone()),
            _ => None,
        })
    }

    /// Returns the response field of an origin whose value the variable has.
    pub fn origin_field(&self) -> Option<&str> {
        (self.row.name == "upstream_http_").then(|| self.rest.as_text())
    }

    /// Returns the cookie whose value the variable has.
    pub fn cookie(&self) -> Option<&str> {
        self.reads(Reads::NamedCookie).then(|| self.rest.as_text())
    }
}
