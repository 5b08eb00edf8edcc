//! Variables: their definitions (rows), and references to them in a configuration.

use myriad_conf::registry::DirectiveStatus;
use myriad_http::Known;
use myriad_http::proxy_protocol::Tlv;
use myriad_script::{EvalError, Frame};

use super::FieldRead;

/// Format of dates outside of SSI pages; SSI pages may set another one (`timefmt`).
const DATE_FORMAT: &[u8] = b"%A, %d-%b-%Y %H:%M:%S %Z";

/// Definition of a variable, or of all variables with a prefix. `R` is the type of requests, which is defined
/// elsewhere.
pub struct VariableRow<R> {
    /// Name without `$`. If it ends with `_`, the row defines all variables with this prefix.
    pub name: &'static str,
    /// Name of the nginx module that defines the variable, as in nginx's manual.
    pub module: &'static str,
    /// Compatibility with nginx: same, different, additional or not supported.
    pub status: DirectiveStatus,
    /// Everything that the value depends on. Determines whether requests that use the variable may use the shortcut.
    pub reads: &'static [Reads],
    /// Function that returns the value.
    pub value: RowValue<R>,
    /// Function by which `set` changes the variable; `None` if `set` cannot change it.
    pub assign: Option<fn(&mut R, &[u8])>,
    /// True if the configuration may define a variable of the same name, which then takes precedence.
    pub yields: bool,
    /// True if the value is always printable ASCII without quotes and backslashes, whatever clients send, so that logs
    /// need not escape it.
    pub plain: bool,
}

/// Data on which the value of a variable depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Configuration and machine: the value is the same for every request.
    Site,
    /// Request line and host, and the server and location that follow from them.
    RequestLine,
    /// Scheme of the request: that of the listener, or the scheme that a trusted proxy reports.
    Scheme,
    /// Complete URI: requests with different URIs have different values.
    Uri,
    /// Part of the URI; requests with different URIs may have the same value.
    UriPart,
    /// `root` or `alias`, which may contain variables.
    Root,
    /// Existence or contents of files.
    Files,
    /// Header field of the request: the value of the variable is that of the field.
    Field(Known),
    /// Header field of the request whose name is part of the variable's name: the value of the variable is that of the
    /// field.
    NamedField,
    /// Header field of the request, from which the value of the variable is computed.
    FromField(Known),
    /// Cookie whose name is part of the variable's name.
    NamedCookie,
    /// User name in `Authorization`.
    User,
    /// Body of the request.
    Body,
    /// Name of the file that contains the request body.
    BodyFile,
    /// Client connection: addresses, TLS session, certificates.
    Connection,
    /// TLS parameters that the client has offered.
    Offer,
    /// Current time, random numbers, or counters of the server.
    Moment,
    /// Slice being requested (`slice`); empty without `slice`.
    Slice,
    /// Results of access checks.
    Access,
    /// Response, and the number of bytes sent.
    Answer,
    /// Header fields of the response.
    SentFields,
    /// Header fields of the origin's response.
    OriginHead,
    /// Attempts to contact origins.
    Origin,
    /// Result of the cache look-up.
    Cache,
}

/// Value as a borrowed slice. `None` means that it must be computed; `Some(None)` that the request has no value.
pub type Borrowed<'a> = Option<Option<&'a [u8]>>;

/// Function that returns the value of a variable.
pub enum RowValue<R> {
    /// Returns the value as a borrowed slice; `None` if the request has no value.
    Ready(for<'a> fn(&'a R) -> Option<&'a [u8]>),
    /// Appends the value. Returns false if the request has no value.
    Made(fn(&R, &mut Vec<u8>) -> bool),
    /// Appends the value, evaluating texts of the configuration. Returns false if the request has no value.
    Run(fn(&R, &mut Frame, &mut Vec<u8>) -> Result<bool, EvalError>),
    /// Appends a date in the given `strftime` format.
    Dated(fn(&[u8], &mut Vec<u8>)),
    /// Functions for variables whose names have a variable part.
    Named(NamedValue<R>),
}

/// Functions for variables whose value depends on the rest of their name after the row's prefix.
pub struct NamedValue<R> {
    /// Parses the rest of a variable's name after the row's prefix, while the configuration is compiled.
    pub rest: fn(&str) -> NameSuffix,
    /// Returns the value as a borrowed slice; `None` if it must be appended to a buffer. See [`Borrowed`].
    pub ready: for<'a> fn(&'a R, &'a NameSuffix) -> Borrowed<'a>,
    /// Appends a value that cannot be borrowed. Returns false if the request has no value.
    pub made: fn(&R, &NameSuffix, &mut Vec<u8>) -> bool,
}

/// Parsed rest of a variable's name, after the row's prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameSuffix {
    /// No suffix: the row defines a single variable.
    Nothing,
    /// Name of a request field.
    Field(FieldRead),
    /// Rest of the name as text, such as the name of an argument, cookie, response field or trailer.
    Text(Box<str>),
    /// TLV of the PROXY protocol; `None` for a name that denotes no TLV: the variable is empty, as in nginx.
    Tlv(Option<Tlv>),
}

/// Reference to a variable in a configuration.
pub struct VariableRef<R: 'static> {
    /// Definition of the variable.
    pub row: &'static VariableRow<R>,
    /// Parsed rest of the variable's name, after the prefix of `row`.
    pub rest: NameSuffix,
}

impl<R> VariableRow<R> {
    /// Creates a variable that cannot be set, and that behaves as in nginx. If `name` ends with `_`, the configuration
    /// may define a variable with this prefix, which takes precedence.
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

    /// Sets the compatibility with nginx.
    #[must_use]
    pub const fn with_status(self, status: DirectiveStatus) -> Self {
        Self { status, ..self }
    }

    /// Makes the variable settable by `set`.
    #[must_use]
    pub const fn assigned(self, assign: fn(&mut R, &[u8])) -> Self {
        Self { assign: Some(assign), ..self }
    }

    /// Permits the configuration to define a variable of the same name, which takes precedence.
    #[must_use]
    pub const fn yielding(self) -> Self {
        Self { yields: true, ..self }
    }

    /// Declares that logs need not escape the value, because it cannot contain special characters: it is a number, an
    /// address or a date.
    #[must_use]
    pub const fn plain(self) -> Self {
        Self { plain: true, ..self }
    }

    /// Returns true if the row defines all variables with its prefix.
    pub fn is_prefix(&self) -> bool {
        self.name.ends_with('_')
    }

    /// Returns a reference to the variable `name`; `None` if the row does not define it.
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
    /// Parses the name of a request field, in which `_` stands for `-`. A `-` in the variable's name matches no field,
    /// as in nginx, so that such a variable is always empty.
    pub fn field(rest: &str) -> Self {
        let name = rest.replace('-', " ").replace('_', "-");
        Self::Field(match Known::from_bytes(name.as_bytes()) {
            Some(known) => FieldRead::Known(known),
            None => FieldRead::Other(name.into_bytes().into()),
        })
    }

    /// Parses the name of a response field or trailer, in which `_` stands for `-`.
    pub fn line(rest: &str) -> Self {
        Self::Text(rest.replace('_', "-").into())
    }

    /// Parses the name of an argument or a cookie.
    pub fn text(rest: &str) -> Self {
        Self::Text(rest.into())
    }

    /// Returns the name of [`Self::Text`]; empty for other variants.
    pub fn as_text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }
}

impl<R> VariableRef<R> {
    /// Returns the value as a borrowed slice; `None` if it must be appended to a buffer. See [`Borrowed`].
    #[inline]
    pub fn borrow<'a>(&'a self, request: &'a R) -> Borrowed<'a> {
        match &self.row.value {
            RowValue::Ready(value) => Some(value(request)),
            RowValue::Named(value) => (value.ready)(request, &self.rest),
            _ => None,
        }
    }

    /// Appends the value to `out`. Returns false if the request has no value.
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

    /// Returns true if the value depends on this input.
    pub fn reads(&self, what: Reads) -> bool {
        self.row.reads.contains(&what)
    }

    /// Returns true if all inputs of the value are in `these`.
    pub fn reads_only(&self, these: &[Reads]) -> bool {
        self.row.reads.iter().all(|read| these.contains(read))
    }

    /// Returns the request field whose value is the value of the variable; `None` for other variables.
    pub fn field(&self) -> Option<FieldRead> {
        self.row.reads.iter().find_map(|read| match (read, &self.rest) {
            (Reads::Field(known), _) => Some(FieldRead::Known(*known)),
            (Reads::NamedField, NameSuffix::Field(field)) => Some(field.clone()),
            _ => None,
        })
    }

    /// Returns the name of the origin's response field for `$upstream_http_*`; `None` for other variables.
    pub fn origin_field(&self) -> Option<&str> {
        (self.row.name == "upstream_http_").then(|| self.rest.as_text())
    }

    /// Returns the name of the cookie for `$cookie_*`; `None` for other variables.
    pub fn cookie(&self) -> Option<&str> {
        self.reads(Reads::NamedCookie).then(|| self.rest.as_text())
    }
}
