//! Regular expressions: PCRE2, with its JIT if available, with bounded run time, and skipped if a filter excludes a
//! match.

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

/// URIs that every site has.
const ORDINARY: [&[u8]; 4] = [b"/a", b"/2026/11/hello-world/", b"/index.php", b"/wp-content/x/style.css"];

/// Limits of a match: backtracks from one position of the subject, and KiB of backtracking memory without the JIT.
///
/// 100,000 steps take about a millisecond. A well-formed pattern over a cookie of 8 KiB stays far below the limit.
const LIMITS: &str = "(*LIMIT_MATCH=100000)(*LIMIT_DEPTH=40000)(*LIMIT_HEAP=8192)";

/// `PCRE2_ERROR_JIT_STACKLIMIT`: the JIT's stack of 32 KiB was too small. The pattern itself may be fine.
const JIT_STACK_LIMIT: i32 = -46;

/// Compiled regular expression with its space for captures. A clone refers to the same expression, so that snippets
/// shared by servers are compiled once.
#[derive(Clone, Debug)]
pub struct Regex(Arc<CompiledRegex>);

/// Returns whether both are the same expression. Equal patterns are compiled once.
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
    /// Pattern without JIT, compiled when the JIT first exhausts its stack.
    interpreter: OnceLock<Option<Pattern>>,
    caseless: bool,
    prefilter: Option<Prefilter>,
    /// Result of matching an empty subject, so that a missing cookie needs no search.
    matches_empty: bool,
    captures: bool,
    /// Group and slot of each named group.
    named: Box<[(usize, u32)]>,
    /// Index in the thread's table of capture locations. `identity` is checked there.
    index: usize,
    identity: u64,
}

thread_local! {
    /// Reusable capture locations of this thread, by `Regex::index`.
    static LOCATIONS: RefCell<Vec<Option<(u64, CaptureLocations)>>> = const { RefCell::new(Vec::new()) };
}

static IDENTITIES: AtomicU64 = AtomicU64::new(0);

impl Regex {
    /// Compiles a pattern. `slot` returns the slot of a named group; `index` is small and unique within the compiler.
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

    /// Compiles a pattern that is not part of the configuration, for use with [`Self::is_match`] only. A match takes at
    /// most a twentieth of the usual number of steps.
    pub fn of_request(source: &str) -> Result<Regex, ScriptError> {
        // PCRE2 applies the lowest of several limits.
        Self::compile(&format!("(*LIMIT_MATCH=5000){source}"), false, 0, |_| Ok(0)).map_err(|_| {
            // Compiles the pattern as sent, so that offsets in errors are correct.
            Self::compile(source, false, 0, |_| Ok(0))
                .map_or_else(|error| error, |_| pattern_error(source, "it is too complex"))
        })
    }

    /// Compiles a case-sensitive pattern of a configuration, for use with [`Self::is_match`] only.
    pub fn without_captures(source: &str) -> Result<Regex, ScriptError> {
        Self::compile(source, false, 0, |_| Ok(0))
    }

    /// Returns the pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0.source
    }

    /// Returns whether the pattern contains groups, named or not.
    pub fn has_captures(&self) -> bool {
        self.0.captures
    }

    /// Returns whether the subject matches, without captures.
    #[inline]
    pub fn is_match(&self, subject: &[u8]) -> Result<bool, EvalError> {
        match self.result_without_search(subject) {
            Some(answer) => Ok(answer),
            None => self.search(subject, None),
        }
    }

    /// Returns whether the subject matches. A match replaces the frame's captures and sets the variables of named
    /// groups.
    #[inline]
    pub fn matches(&self, subject: &[u8], frame: &mut Frame) -> Result<bool, EvalError> {
        let matched = self.capture(subject, frame)?;
        if matched {
            self.publish(frame);
        }
        Ok(matched)
    }

    /// Matches and stores the numbered captures; `publish` must follow a match.
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

    /// Returns the result if no search is necessary.
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

    /// Runs PCRE2. With a frame, a match stores its captures there.
    ///
    /// Uses memory of the thread: the pool that `pcre2` has in each pattern is shared, and locked for every thread
    /// except the first thread that used it.
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
            // The entry belongs to another configuration; during a reload both are in use.
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

/// Stores the groups of a match in the frame, if any.
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
    // nginx was written for PCRE, which had another name for this option at the start of a pattern.
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

/// Returns the message of PCRE2 without the text added by the crate.
fn describe(error: &pcre2::Error) -> String {
    let text = error.to_string();
    text.splitn(3, ": ").last().unwrap_or_default().to_owned()
}

/// Returns the names of a pattern's named groups, as written and in order; empty if the pattern does not compile.
pub(crate) fn group_names(source: &str) -> Vec<String> {
    if !source.contains("(?") {
        return Vec::new();
    }
    build(source, false, false)
        .map(|pattern| pattern.capture_names().iter().flatten().cloned().collect())
        .unwrap_or_default()
}

/// Returns whether a pattern contains `/.` where `/\.` was intended, so that it matches every page of a site.
///
/// Used for a warning about `location ~ /. { deny all; }`, which is part of a well-known recipe. Patterns that match
/// everything intentionally (`/.*`, `^/`) are excluded.
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
