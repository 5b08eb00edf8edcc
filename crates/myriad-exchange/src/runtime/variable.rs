//! A variable that the server makes: its row, and a name of a configuration that stands for it.

use myriad_conf::registry::Status;
use myriad_http::Known;
use myriad_http::proxy_protocol::Tlv;
use myriad_script::{EvalError, Frame};

use super::FieldRead;

/// How dates are written outside of pages with SSI, which may say it themselves (`timefmt`).
const DATE_FORMAT: &[u8] = b"%A, %d-%b-%Y %H:%M:%S %Z";

/// A variable: all that there is to say of it. `R` is the request that it is read of, which this file need not know.
pub struct VariableRow<R> {
    /// Its name without the `$`; one that ends with `_` stands for all that begin with it.
    pub name: &'static str,
    /// nginx's module, as its manual names it.
    pub module: &'static str,
    /// How it fares here.
    pub status: Status,
    /// All that its value follows from.
    pub reads: &'static [Reads],
    /// Its value.
    pub value: Value<R>,
    /// What `set` does; none where the name may not be set.
    pub assign: Option<fn(&mut R, &[u8])>,
    /// Whether a variable of the configuration may have its name, and hides it then.
    pub yields: bool,
    /// Whether its value, where it is made, is printable ASCII without quotes and backslashes, whatever a client says.
    pub plain: bool,
}

/// What a value follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// The configuration and the machine: the same for every request.
    Site,
    /// The request line, the host, and the server and place that they lead to.
    RequestLine,
    /// The scheme: that of the listener, or what a trusted proxy reports.
    Scheme,
    /// The URI, whole.
    Uri,
    /// The URI, of which a part may be missing.
    UriPart,
    /// `root` and `alias`, in which variables may stand.
    Root,
    /// What the files under the root are.
    Files,
    /// A well-known field of the request, whole.
    Field(Known),
    /// The field of the request that the name says, whole.
    NamedField,
    /// Something that follows from a well-known field.
    FromField(Known),
    /// The cookie that the name says.
    NamedCookie,
    /// The user of `Authorization`.
    User,
    /// The request's body.
    Body,
    /// The name of the file that holds the request's body.
    BodyFile,
    /// The client's connection: addresses, handshake, certificates.
    Connection,
    /// What the client's hello offered.
    Offer,
    /// The clock, and the server's counters.
    Moment,
    /// The piece of a whole that is asked for; empty in a place without `slice`.
    Slice,
    /// What the checks of access have come to.
    Access,
    /// What is sent and how much of it has been.
    Answer,
    /// Field lines of the head that is sent.
    SentFields,
    /// The head of the origin's answer.
    OriginHead,
    /// How the asking of the origin went.
    Origin,
    /// What the cache did.
    Cache,
}

/// A value as one slice. None: it must be made; `Some(None)`: there is none for this request.
pub type Borrowed<'a> = Option<Option<&'a [u8]>>;

/// How a value is had.
pub enum Value<R> {
    /// It lies ready as one slice; none where there is no value.
    Ready(for<'a> fn(&'a R) -> Option<&'a [u8]>),
    /// It is written. Returns whether there is a value.
    Made(fn(&R, &mut Vec<u8>) -> bool),
    /// It is written by texts and patterns of the configuration. Returns whether there is a value.
    Run(fn(&R, &mut Frame, &mut Vec<u8>) -> Result<bool, EvalError>),
    /// It is a date, written in the format that is given.
    Dated(fn(&[u8], &mut Vec<u8>)),
    /// It follows from what the name says too.
    Named(NamedValue<R>),
}

/// A value that follows from what a name says behind the row's.
pub struct NamedValue<R> {
    /// Reads the rest of the name.
    pub rest: fn(&str) -> Rest,
    /// The value where it lies ready.
    pub ready: for<'a> fn(&'a R, &'a Rest) -> Borrowed<'a>,
    /// Writes the value where none lies ready. Returns whether there is one.
    pub made: fn(&R, &Rest, &mut Vec<u8>) -> bool,
}

/// What a name says behind its row's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing.
    Nothing,
    /// A field, or a trailer.
    Field(FieldRead),
    /// An argument, a cookie.
    Text(Box<str>),
    /// A fact that a proxy tells; none for a name that stands for no fact, as in nginx.
    Tlv(Option<Tlv>),
}

/// A name in a configuration that stands for a variable.
pub struct VariableRef<R: 'static> {
    /// The variable.
    pub row: &'static VariableRow<R>,
    /// What the name says behind the row's.
    pub rest: Rest,
}

impl<R> VariableRow<R> {
    /// A variable that nothing sets and that means what nginx documents.
    pub const fn new(
        module: &'static str,
        name: &'static str,
        reads: &'static [Reads],
        value: Value<R>,
    ) -> Self {
        Self {
            name,
            module,
            status: Status::Same,
            reads,
            value,
            assign: None,
            yields: name.as_bytes()[name.len() - 1] == b'_',
            plain: false,
        }
    }

    /// A variable that fares otherwise than as nginx documents.
    #[must_use]
    pub const fn fares(self, status: Status) -> Self {
        Self { status, ..self }
    }

    /// A variable that may be `set`.
    #[must_use]
    pub const fn assigned(self, assign: fn(&mut R, &[u8])) -> Self {
        Self { assign: Some(assign), ..self }
    }

    /// A variable that gives way to one of the configuration with its name.
    #[must_use]
    pub const fn yielding(self) -> Self {
        Self { yields: true, ..self }
    }

    /// A variable whose value needs no escaping in a log: a number, an address, a date.
    #[must_use]
    pub const fn plain(self) -> Self {
        Self { plain: true, ..self }
    }

    /// Whether all names that begin with its own are its.
    pub fn is_prefix(&self) -> bool {
        self.name.ends_with('_')
    }

    /// The variable as `name` names it; none where it does not.
    pub fn named(&'static self, name: &str) -> Option<VariableRef<R>> {
        let rest = name.strip_prefix(self.name).filter(|rest| rest.is_empty() || self.is_prefix())?;
        let rest = match &self.value {
            Value::Named(value) => (value.rest)(rest),
            _ => Rest::Nothing,
        };
        Some(VariableRef { row: self, rest })
    }
}

impl Rest {
    /// A field as a variable names it: `_` stands for `-`. A `-` in the variable's name stands for no byte of a field's, as in
    /// nginx, so that such a variable is empty.
    pub fn field(rest: &str) -> Self {
        let name = rest.replace('-', " ").replace('_', "-");
        Self::Field(match Known::from_bytes(name.as_bytes()) {
            Some(known) => FieldRead::Known(known),
            None => FieldRead::Other(name.into_bytes().into()),
        })
    }

    /// The name of a field that is looked for by its text, well-known or not.
    pub fn line(rest: &str) -> Self {
        Self::Text(rest.replace('_', "-").into())
    }

    /// The name of an argument or a cookie.
    pub fn text(rest: &str) -> Self {
        Self::Text(rest.into())
    }

    /// That text; empty where the name says something else.
    pub fn as_text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }
}

impl<R> VariableRef<R> {
    /// The value where it lies ready.
    #[inline]
    pub fn borrow<'a>(&'a self, request: &'a R) -> Borrowed<'a> {
        match &self.row.value {
            Value::Ready(value) => Some(value(request)),
            Value::Named(value) => (value.ready)(request, &self.rest),
            _ => None,
        }
    }

    /// Appends the value; false where there is none for this request.
    pub fn append(&self, request: &R, frame: &mut Frame, out: &mut Vec<u8>) -> Result<bool, EvalError> {
        let ready = |value: Option<&[u8]>, out: &mut Vec<u8>| {
            out.extend_from_slice(value.unwrap_or_default());
            Ok(value.is_some())
        };
        match &self.row.value {
            Value::Ready(value) => ready(value(request), out),
            Value::Made(value) => Ok(value(request, out)),
            Value::Run(value) => value(request, frame, out),
            Value::Dated(write) => {
                write(DATE_FORMAT, out);
                Ok(true)
            }
            Value::Named(named) => match (named.ready)(request, &self.rest) {
                Some(value) => ready(value, out),
                None => Ok((named.made)(request, &self.rest, out)),
            },
        }
    }

    /// Whether the value follows from that, be it from other things too.
    pub fn reads(&self, what: Reads) -> bool {
        self.row.reads.contains(&what)
    }

    /// Whether the value follows from these and nothing else.
    pub fn reads_only(&self, these: &[Reads]) -> bool {
        self.row.reads.iter().all(|read| these.contains(read))
    }

    /// The field whose value it is, as it was sent.
    pub fn field(&self) -> Option<FieldRead> {
        self.row.reads.iter().find_map(|read| match (read, &self.rest) {
            (Reads::Field(known), _) => Some(FieldRead::Known(*known)),
            (Reads::NamedField, Rest::Field(field)) => Some(field.clone()),
            _ => None,
        })
    }

    /// The field of an origin's answer whose value it is.
    pub fn origin_field(&self) -> Option<&str> {
        (self.row.name == "upstream_http_").then(|| self.rest.as_text())
    }

    /// The cookie whose value it is.
    pub fn cookie(&self) -> Option<&str> {
        self.reads(Reads::NamedCookie).then(|| self.rest.as_text())
    }
}
