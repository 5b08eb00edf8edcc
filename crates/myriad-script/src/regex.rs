//! Regular expressions: PCRE2, with its JIT if available, and with bounded run time. A filter avoids running PCRE2 for
//! most texts that cannot match.

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

pub use once::{MatchGroups, search_once};
use prefilter::Prefilter;

/// Typical URIs of any site, by which patterns that match every URI are recognized.
const ORDINARY: [&[u8]; 4] = [b"/a", b"/2026/11/hello-world/", b"/index.php", b"/wp-content/x/style.css"];

/// Limits of a match: number of backtracks from one position of the subject, depth, and KiB of backtracking memory
/// without the JIT.
///
/// 100,000 steps take about a millisecond. A well-written pattern stays far below the limits for a cookie of 8 KiB.
const LIMITS: &str = "(*LIMIT_MATCH=100000)(*LIMIT_DEPTH=40000)(*LIMIT_HEAP=8192)";

/// `PCRE2_ERROR_JIT_STACKLIMIT`: the JIT's stack of 32 KiB is too small for this subject. The interpreter may succeed.
const JIT_STACK_LIMIT: i32 = -46;

/// Compiled regular expression. Clones share it, so that equal patterns of several servers are compiled once.
#[derive(Clone, Debug)]
pub struct Regex(Arc<CompiledRegex>);

/// Two values are equal if they are clones of the same compiled expression.
impl PartialEq for Regex {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Regex {}

#[derive(Debug)]
struct CompiledRegex {
    source: Box<str>,
    jit: Pattern,
    /// Pattern of `jit` without the JIT, compiled when the JIT first exhausts its stack; the inner value is `None` if
    /// the compilation failed.
    interpreter: OnceLock<Option<Pattern>>,
    caseless: bool,
    prefilter: Option<Prefilter>,
    /// Result for an empty subject, so that a missing cookie needs no search.
    matches_empty: bool,
    captures: bool,
    /// Number of each named group, and the slot of its variable.
    named: Box<[(usize, u32)]>,
    /// Index in the thread-local table of capture locations, unique among the expressions of a compiler. `identity`
    /// distinguishes expressions with the same index.
    index: usize,
    identity: u64,
}

thread_local! {
    /// Reusable capture locations of this thread, by `CompiledRegex::index`.
    static LOCATIONS: RefCell<Vec<Option<(u64, CaptureLocations)>>> = const { RefCell::new(Vec::new()) };
}

static IDENTITIES: AtomicU64 = AtomicU64::new(0);

impl Regex {
    /// Compiles a pattern. `slot` returns the slot of the variable of a named group. `index` must be small; expressions
    /// with the same index cannot reuse their capture locations while they alternate.
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
        Ok(Regex(Arc::new(CompiledRegex {
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

    /// Compiles a pattern that a request contains (a purge), for [`Self::is_match`] only. A match takes at most a
    /// twentieth of the usual number of steps.
    pub fn of_request(source: &str) -> Result<Regex, ScriptError> {
        // Of several limits, PCRE2 applies the lowest.
        Self::compile(&format!("(*LIMIT_MATCH=5000){source}"), false, 0, |_| Ok(0)).map_err(|_| {
            // Compile the pattern as sent, so that the offset in the error is correct.
            Self::compile(source, false, 0, |_| Ok(0))
                .map_or_else(|error| error, |_| pattern_error(source, "it is too complex"))
        })
    }

    /// Compiles a case-sensitive pattern of a configuration outside of a compiler, for [`Self::is_match`] only.
    pub fn without_captures(source: &str) -> Result<Regex, ScriptError> {
        Self::compile(source, false, 0, |_| Ok(0))
    }

    /// Returns the pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0.source
    }

    /// Returns whether the pattern contains capture groups, named or not.
    pub fn has_captures(&self) -> bool {
        self.0.captures
    }

    /// Returns whether the subject matches; captures are not stored.
    #[inline]
    pub fn is_match(&self, subject: &[u8]) -> Result<bool, EvalError> {
        match self.result_without_search(subject) {
            Some(answer) => Ok(answer),
            None => self.search(subject, None),
        }
    }

    /// Returns whether the subject matches. On a match, replaces the captures in the frame (a pattern without groups
    /// only clears them), and sets the variables of named groups. Without a match, the frame is unchanged.
    #[inline]
    pub fn matches(&self, subject: &[u8], frame: &mut Frame) -> Result<bool, EvalError> {
        let matched = self.capture(subject, frame)?;
        if matched {
            self.publish(frame);
        }
        Ok(matched)
    }

    /// Returns whether the subject matches. On a match, replaces the numbered captures in the frame (a pattern without
    /// groups only clears them); `publish` must then be called for the named groups. Without a match, the frame is
    /// unchanged.
    #[inline]
    pub(crate) fn capture(&self, subject: &[u8], frame: &mut Frame) -> Result<bool, EvalError> {
        if self.0.captures {
            return match self.result_without_search(subject) {
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

    /// Returns the result if PCRE2 need not run: the subject is empty, or the filter excludes a match.
    #[inline]
    fn result_without_search(&self, subject: &[u8]) -> Option<bool> {
        if subject.is_empty() {
            return Some(self.0.matches_empty);
        }
        match &self.0.prefilter {
            Some(prefilter) if !prefilter.may_match(subject) => Some(false),
            _ => None,
        }
    }

    /// Runs PCRE2; if the stack of its JIT is too small for the subject, again without the JIT. On a match, stores the
    /// captures in the frame, if given.
    ///
    /// The capture locations are thread-local: the pool that `pcre2` has in each pattern is shared, and every thread
    /// except its first user takes a lock.
    fn search(&self, subject: &[u8], frame: Option<&mut Frame>) -> Result<bool, EvalError> {
        let result = LOCATIONS.with_borrow_mut(|table| {
            let locations = self.locations(table);
            match self.0.jit.captures_read(locations, subject) {
                Err(error) if error.code() == JIT_STACK_LIMIT => {
                    let pattern = self.interpreter().ok_or(error)?;
                    let mut locations = pattern.capture_locations();
                    let matched = pattern.captures_read(&mut locations, subject)?.is_some();
                    Ok(keep_captures(matched, &locations, subject, frame))
                }
                result => Ok(keep_captures(result?.is_some(), locations, subject, frame)),
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
            // The entry belongs to another expression, such as one of the other configuration during a reload.
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

/// Stores the groups of a match in the frame, if given; returns `matched`.
fn keep_captures(
    matched: bool,
    locations: &CaptureLocations,
    subject: &[u8],
    frame: Option<&mut Frame>,
) -> bool {
    if let (true, Some(frame)) = (matched, frame) {
        frame.set_captures(subject, (0..locations.len()).map(|group| locations.get(group)));
    }
    matched
}

fn build(source: &str, caseless: bool, jit: bool) -> Result<Pattern, ScriptError> {
    // nginx was written for PCRE, which has another name for this option at the start of a pattern.
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

/// Returns the message of PCRE2, without the prefix that the crate `pcre2` adds.
fn describe(error: &pcre2::Error) -> String {
    let text = error.to_string();
    text.splitn(3, ": ").last().unwrap_or_default().to_owned()
}

/// Returns the names of a pattern's named groups, in order; empty if the pattern does not compile.
pub(crate) fn group_names(source: &str) -> Vec<String> {
    if !source.contains("(?") {
        return Vec::new();
    }
    build(source, false, false)
        .map(|pattern| pattern.capture_names().iter().flatten().cloned().collect())
        .unwrap_or_default()
}

/// Returns whether a pattern contains `/.` without a quantifier, where `/\.` was probably intended, and matches all of
/// a few typical URIs.
///
/// Used for a warning about `location ~ /. { deny all; }`, a common mistake. Patterns that match everything
/// intentionally (`/.*`, `^/`) are excluded.
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
