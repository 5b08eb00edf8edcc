//! A function, what it is told of the world, and how it fails.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Gives functions what follows from no text.
pub trait Surroundings {
    /// The time, seconds since the epoch.
    fn now_s(&self) -> u64;

    /// Minutes by which the server's clock is east of UTC now.
    fn offset_minutes(&self) -> i32;

    /// Fills `bytes` with bytes that nobody can guess.
    ///
    /// # Errors
    /// The system gives none.
    fn random(&self, bytes: &mut [u8]) -> Result<(), Wrong>;
}

/// Surroundings where the clock stands at the epoch and nothing is random, for whoever calls no function that varies.
#[derive(Clone, Copy, Debug)]
pub struct Still;

impl Surroundings for Still {
    fn now_s(&self) -> u64 {
        0
    }

    fn offset_minutes(&self) -> i32 {
        0
    }

    fn random(&self, _: &mut [u8]) -> Result<(), Wrong> {
        Err(Wrong::new("there are no random bytes"))
    }
}

/// Why a function has no value for its texts; the request that called it is answered with 500.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong(Cow<'static, str>);

impl Wrong {
    /// A failure, in words that follow the name of the directive.
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self(reason.into())
    }

    /// A text that is none of its kind: `bad "from" argument value: "abc"`.
    pub(crate) fn bad(what: &str, text: &[u8]) -> Self {
        Self::new(format!("bad {what} value: \"{}\"", text[..text.len().min(SHOWN)].escape_ascii()))
    }
}

/// The most of a bad text that a message shows, bytes.
const SHOWN: usize = 64;

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}

type Call = dyn Fn(&[&[u8]], &dyn Surroundings, &mut Vec<u8>) -> Result<(), Wrong> + Send + Sync;

/// A function of texts. Copies are the same function, with one memory where it has any.
#[derive(Clone)]
pub struct Function {
    call: Arc<Call>,
    varies: bool,
}

impl Function {
    /// A function whose value follows from its texts alone.
    pub fn of(call: impl Fn(&[&[u8]], &mut Vec<u8>) -> Result<(), Wrong> + Send + Sync + 'static) -> Self {
        Self { call: Arc::new(move |texts, _, out| call(texts, out)), varies: false }
    }

    /// A function that has a value for every text.
    pub fn of_any(call: impl Fn(&[u8], &mut Vec<u8>) + Send + Sync + 'static) -> Self {
        Self::of(move |texts, out| {
            call(texts.first().copied().unwrap_or_default(), out);
            Ok(())
        })
    }

    /// A function whose value follows from the moment, too: from the time, from random bytes, from former calls.
    pub fn varying(
        call: impl Fn(&[&[u8]], &dyn Surroundings, &mut Vec<u8>) -> Result<(), Wrong> + Send + Sync + 'static,
    ) -> Self {
        Self { call: Arc::new(call), varies: true }
    }

    /// Whether two calls with the same texts may come to different values.
    pub fn varies(&self) -> bool {
        self.varies
    }

    /// Appends the value for these texts to `out`. A text that is not given counts as empty.
    ///
    /// # Errors
    /// There is no value for them; what `out` then holds means nothing.
    pub fn call(&self, texts: &[&[u8]], around: &dyn Surroundings, out: &mut Vec<u8>) -> Result<(), Wrong> {
        (self.call)(texts, around, out)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("varies", &self.varies).finish_non_exhaustive()
    }
}

/// One of the texts that a function is called with.
pub(crate) fn text<'a>(texts: &[&'a [u8]], index: usize) -> &'a [u8] {
    texts.get(index).copied().unwrap_or_default()
}

/// Shows in tests what a function makes of texts; its error as text behind `!`.
#[cfg(test)]
pub(crate) fn shown(function: &Function, texts: &[&str]) -> String {
    shown_in(function, texts, &Still)
}

#[cfg(test)]
pub(crate) fn shown_in(function: &Function, texts: &[&str], around: &dyn Surroundings) -> String {
    let texts: Vec<_> = texts.iter().map(|text| text.as_bytes()).collect();
    let mut out = Vec::new();
    match function.call(&texts, around, &mut out) {
        Ok(()) => String::from_utf8(out).unwrap_or_else(|error| error.as_bytes().escape_ascii().to_string()),
        Err(wrong) => format!("!{wrong}"),
    }
}
