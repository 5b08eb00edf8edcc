//! Regular expressions: PCRE2 with its JIT where the machine allows it, bounded in time, run only where needed.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use pcre2::bytes::{CaptureLocations, Regex as Pattern, RegexBuilder};

use crate::error::{EvalError, ScriptError};
use crate::frame::Frame;

mod literals;
mod once;
mod prefilter;
#[cfg(test)]
mod tests;

pub use once::{Found, search_once};
use prefilter::Prefilter;

/// Pages such as every site has.
const ORDINARY: [&[u8]; 4] = [b"/a", b"/2026/11/hello-world/", b"/index.php", b"/wp-content/x/style.css"];

/// Bounds one match: backtracks from one place of the subject, and KiB of backtracking memory without the JIT.
///
/// 100,000 steps end within a millisecond or so; a pattern of good faith over an 8 KiB cookie stays far below.
const LIMITS: &str = "(*LIMIT_MATCH=100000)(*LIMIT_DEPTH=40000)(*LIMIT_HEAP=8192)";

/// `PCRE2_ERROR_JIT_STACKLIMIT`: the JIT's 32 KiB of stack were too few, which says nothing against the pattern.
const JIT_STACK_LIMIT: i32 = -46;

/// A compiled regular expression with its place for captures. A copy is the same expression: the snippets that servers share cost
/// once what they cost.
#[derive(Clone, Debug)]
pub struct Regex(Arc<Compiled>);

/// Whether both are one expression: what is written alike is compiled once.
impl PartialEq for Regex {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Regex {}

#[derive(Debug)]
struct Compiled {
    source: Box<str>,
    jit: Pattern,
    /// The pattern without JIT, made when the JIT runs out of stack for the first time.
    interpreter: OnceLock<Option<Pattern>>,
    caseless: bool,
    prefilter: Option<Prefilter>,
    /// What matching the empty text gives, so that an absent cookie runs nothing.
    matches_empty: bool,
    captures: bool,
    /// Group and slot of each named group.
    named: Box<[(usize, u32)]>,
    /// Place in the thread's table of capture locations, and the identity to check there.
    index: usize,
    identity: u64,
}

thread_local! {
    /// The reused capture locations of this thread, by `Regex::index`.
    static LOCATIONS: RefCell<Vec<Option<(u64, CaptureLocations)>>> = const { RefCell::new(Vec::new()) };
}

static IDENTITIES: AtomicU64 = AtomicU64::new(0);

impl Regex {
    /// Compiles a pattern; `slot` finds the place of a named group, `index` is small and unique to the compiler.
    pub(crate) fn compile(
        source: &str,
        caseless: bool,
        index: usize,
        mut slot: impl FnMut(&str) -> Result<u32, ScriptError>,
    ) -> Result<Regex, ScriptError> {
        let jit = build(source, caseless, true)?;
        let mut named = Vec::new();
        for (group, name) in jit.capture_names().iter().enumerate() {
            if let Some(name) = name {
                named.push((group, slot(name)?));
            }
        }
        let matches_empty = jit.is_match(b"").map_err(|error| pattern_error(source, &describe(&error)))?;
        Ok(Regex(Arc::new(Compiled {
            source: source.into(),
            captures: jit.captures_len() > 1,
            interpreter: OnceLock::new(),
            caseless,
            prefilter: Prefilter::new(source),
            matches_empty,
            named: named.into_boxed_slice(),
            index,
            identity: IDENTITIES.fetch_add(1, Ordering::Relaxed),
            jit,
        })))
    }

    /// Compiles a pattern that no configuration holds, to be asked with [`Self::is_match`] alone; one match of it ends
    /// within a twentieth of the steps of others.
    pub fn of_request(source: &str) -> Result<Regex, ScriptError> {
        // Of several limits the lowest holds.
        Self::compile(&format!("(*LIMIT_MATCH=5000){source}"), false, 0, |_| Ok(0)).map_err(|_| {
            // As it was sent, with places that count from its beginning.
            Self::compile(source, false, 0, |_| Ok(0))
                .map_or_else(|error| error, |_| pattern_error(source, "it is too complex"))
        })
    }

    /// Compiles a pattern of a configuration, case regarded, to be asked with [`Self::is_match`] alone.
    pub fn without_captures(source: &str) -> Result<Regex, ScriptError> {
        Self::compile(source, false, 0, |_| Ok(0))
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0.source
    }

    /// Whether the pattern holds groups, named or not.
    pub fn has_captures(&self) -> bool {
        self.0.captures
    }

    /// Whether the subject matches; no captures are taken.
    #[inline]
    pub fn is_match(&self, subject: &[u8]) -> Result<bool, EvalError> {
        match self.settled(subject) {
            Some(answer) => Ok(answer),
            None => self.search(subject, None),
        }
    }

    /// Whether the subject matches; a match replaces the frame's captures and sets the named ones.
    #[inline]
    pub fn matches(&self, subject: &[u8], frame: &mut Frame) -> Result<bool, EvalError> {
        let matched = self.capture(subject, frame)?;
        if matched {
            self.publish(frame);
        }
        Ok(matched)
    }

    /// Matches and takes the numbered captures; `publish` must follow a match.
    #[inline]
    pub(crate) fn capture(&self, subject: &[u8], frame: &mut Frame) -> Result<bool, EvalError> {
        if self.0.captures {
            return match self.settled(subject) {
                Some(false) => Ok(false),
                _ => self.search(subject, Some(frame)),
            };
        }
        let matched = self.is_match(subject)?;
        if matched {
            frame.clear_captures();
        }
        Ok(matched)
    }

    /// Sets the variables of the named groups from the frame's captures.
    pub(crate) fn publish(&self, frame: &mut Frame) {
        for &(group, slot) in &self.0.named {
            frame.assign_capture(slot, group);
        }
    }

    /// The answer, where it needs no search.
    #[inline]
    fn settled(&self, subject: &[u8]) -> Option<bool> {
        if subject.is_empty() {
            return Some(self.0.matches_empty);
        }
        match &self.0.prefilter {
            Some(prefilter) if !prefilter.may_match(subject) => Some(false),
            _ => None,
        }
    }

    /// Asks PCRE2; with a frame, a match puts its captures there.
    ///
    /// Works in the thread's own memory: the pool that `pcre2` keeps in each pattern is shared, and locked for every
    /// thread but the first that used it.
    fn search(&self, subject: &[u8], frame: Option<&mut Frame>) -> Result<bool, EvalError> {
        let result = LOCATIONS.with_borrow_mut(|table| {
            let locations = self.locations(table);
            match self.0.jit.captures_read(locations, subject) {
                Err(error) if error.code() == JIT_STACK_LIMIT => {
                    let pattern = self.interpreter().ok_or(error)?;
                    let mut locations = pattern.capture_locations();
                    let matched = pattern.captures_read(&mut locations, subject)?.is_some();
                    Ok(keep(matched, &locations, subject, frame))
                }
                result => Ok(keep(result?.is_some(), locations, subject, frame)),
            }
        });
        result.map_err(|error: pcre2::Error| self.failure(&error))
    }

    fn locations<'t>(&self, table: &'t mut Vec<Option<(u64, CaptureLocations)>>) -> &'t mut CaptureLocations {
        if table.len() <= self.0.index {
            table.resize_with(self.0.index + 1, || None);
        }
        let place = &mut table[self.0.index];
        if place.as_ref().is_some_and(|(identity, _)| *identity != self.0.identity) {
            // Another configuration's: at a reload both live for a while.
            *place = None;
        }
        &mut place.get_or_insert_with(|| (self.0.identity, self.0.jit.capture_locations())).1
    }

    fn interpreter(&self) -> Option<&Pattern> {
        self.0.interpreter.get_or_init(|| build(&self.0.source, self.0.caseless, false).ok()).as_ref()
    }

    #[cold]
    fn failure(&self, error: &pcre2::Error) -> EvalError {
        EvalError::Regex { pattern: self.0.source.to_string(), reason: describe(error) }
    }
}

/// Puts the groups of a match into the frame, if there is one.
fn keep(matched: bool, locations: &CaptureLocations, subject: &[u8], frame: Option<&mut Frame>) -> bool {
    if let (true, Some(frame)) = (matched, frame) {
        frame.set_captures(subject, (0..locations.len()).map(|group| locations.get(group)));
    }
    matched
}

fn build(source: &str, caseless: bool, jit: bool) -> Result<Pattern, ScriptError> {
    // nginx was written for PCRE, where this start of a pattern had another name.
    let modern = source.strip_prefix("(*UTF8)").map(|rest| format!("(*UTF){rest}"));
    let pattern = format!("{LIMITS}{}", modern.as_deref().unwrap_or(source));
    RegexBuilder::new().caseless(caseless).jit_if_available(jit).build(&pattern).map_err(|error| {
        let shift = pattern.len() - source.len();
        let offset = error.offset().unwrap_or(0).saturating_sub(shift).min(source.len());
        pattern_error(source, &describe(&error)).at(offset)
    })
}

fn pattern_error(source: &str, reason: &str) -> ScriptError {
    ScriptError::new(format!("regular expression \"{source}\" does not compile: {reason}"))
}

/// PCRE2's words without the crate's own frame around them.
fn describe(error: &pcre2::Error) -> String {
    let text = error.to_string();
    text.splitn(3, ": ").last().unwrap_or_default().to_owned()
}

/// The names of a pattern's named groups, as written and in order; a pattern that does not compile has none.
pub(crate) fn group_names(source: &str) -> Vec<String> {
    if !source.contains("(?") {
        return Vec::new();
    }
    build(source, false, false)
        .map(|pattern| pattern.capture_names().iter().flatten().cloned().collect())
        .unwrap_or_default()
}

/// Whether a pattern holds `/.` where `/\.` was meant, and so matches every page of a site.
///
/// For a warning on `location ~ /. { deny all; }`, which a well-known recipe spreads. Patterns that say "everything"
/// on purpose (`/.*`, `^/`) are not meant.
pub fn matches_everything_like_dot_slash(pattern: &str) -> bool {
    let bytes = pattern.as_bytes();
    let careless = bytes
        .windows(2)
        .enumerate()
        .any(|(at, pair)| pair == b"/." && !matches!(bytes.get(at + 2), Some(b'*' | b'+' | b'?' | b'{')));
    careless
        && build(pattern, false, false)
            .is_ok_and(|regex| ORDINARY.iter().all(|uri| regex.is_match(uri).unwrap_or(false)))
}
