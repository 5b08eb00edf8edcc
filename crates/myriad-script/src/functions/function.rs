//! Functions of texts, their external inputs, and their errors.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// External inputs of functions such as `set_random`: time and random bytes.
pub trait FunctionInputs {
    /// Returns the current time, in seconds since the Unix epoch.
    fn now_s(&self) -> u64;

    /// Returns the current UTC offset of the server, in minutes, positive east of UTC.
    fn offset_minutes(&self) -> i32;

    /// Fills `bytes` with unpredictable random bytes.
    ///
    /// # Errors
    /// Returns an error if the system provides none.
    fn random(&self, bytes: &mut [u8]) -> Result<(), FunctionError>;
}

/// External inputs for functions that do not vary: the time is the Unix epoch, and random bytes are not available.
#[derive(Clone, Copy, Debug)]
pub struct ConstantInputs;

impl FunctionInputs for ConstantInputs {
    fn now_s(&self) -> u64 {
        0
    }

    fn offset_minutes(&self) -> i32 {
        0
    }

    fn random(&self, _: &mut [u8]) -> Result<(), FunctionError> {
        Err(FunctionError::new("no random bytes are available"))
    }
}

/// Reason why a function (such as `set_decode_hex`) has no value for its arguments. The embedder responds with 500.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionError(Cow<'static, str>);

impl FunctionError {
    /// Creates an error; `reason` follows the name of the directive in the message.
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self(reason.into())
    }

    /// Creates an error for an invalid text: `bad "from" argument value: "abc"`.
    pub(crate) fn bad(what: &str, text: &[u8]) -> Self {
        Self::new(format!("bad {what} value: \"{}\"", text[..text.len().min(SHOWN)].escape_ascii()))
    }

    /// Creates an error for an undefined name: `upstream list "abc" is not defined`.
    pub(crate) fn undefined(kind: &str, name: &[u8]) -> Self {
        Self::new(format!("{kind} \"{}\" is not defined", name[..name.len().min(SHOWN)].escape_ascii()))
    }
}

/// Maximum number of bytes of an invalid text or name shown in a message.
const SHOWN: usize = 64;

impl fmt::Display for FunctionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FunctionError {}

type FunctionBody =
    dyn Fn(&[&[u8]], &dyn FunctionInputs, &mut Vec<u8>) -> Result<(), FunctionError> + Send + Sync;

/// Function of texts, as called by a directive such as `set_md5`. Clones share the state of the function, if it has
/// any.
#[derive(Clone)]
pub struct Function {
    call: Arc<FunctionBody>,
    varies: bool,
}

impl Function {
    /// Creates a function whose value depends only on its texts.
    pub fn of(
        call: impl Fn(&[&[u8]], &mut Vec<u8>) -> Result<(), FunctionError> + Send + Sync + 'static,
    ) -> Self {
        Self { call: Arc::new(move |texts, _, out| call(texts, out)), varies: false }
    }

    /// Creates a function of one text that has a value for every text.
    pub fn of_any(call: impl Fn(&[u8], &mut Vec<u8>) + Send + Sync + 'static) -> Self {
        Self::of(move |texts, out| {
            call(texts.first().copied().unwrap_or_default(), out);
            Ok(())
        })
    }

    /// Creates a function whose value also depends on the time, random bytes, or earlier calls.
    pub fn of_varying(
        call: impl Fn(&[&[u8]], &dyn FunctionInputs, &mut Vec<u8>) -> Result<(), FunctionError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self { call: Arc::new(call), varies: true }
    }

    /// Returns whether two calls with the same texts may produce different values.
    pub fn varies(&self) -> bool {
        self.varies
    }

    /// Appends the value for these texts to `out`. Missing texts count as empty.
    ///
    /// # Errors
    /// Returns an error if the texts have no value; the content of `out` is then undefined.
    pub fn call(
        &self,
        texts: &[&[u8]],
        around: &dyn FunctionInputs,
        out: &mut Vec<u8>,
    ) -> Result<(), FunctionError> {
        (self.call)(texts, around, out)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("varies", &self.varies).finish_non_exhaustive()
    }
}

/// Returns the text at an index of the arguments; empty if it is missing.
pub(crate) fn text<'a>(texts: &[&'a [u8]], index: usize) -> &'a [u8] {
    texts.get(index).copied().unwrap_or_default()
}

/// Returns the result of a function for tests; an error as text after `!`.
#[cfg(test)]
pub(crate) fn shown(function: &Function, texts: &[&str]) -> String {
    shown_in(function, texts, &ConstantInputs)
}

#[cfg(test)]
pub(crate) fn shown_in(function: &Function, texts: &[&str], around: &dyn FunctionInputs) -> String {
    let texts: Vec<_> = texts.iter().map(|text| text.as_bytes()).collect();
    let mut out = Vec::new();
    match function.call(&texts, around, &mut out) {
        Ok(()) => String::from_utf8(out).unwrap_or_else(|error| error.as_bytes().escape_ascii().to_string()),
        Err(wrong) => format!("!{wrong}"),
    }
}
