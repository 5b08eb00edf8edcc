//! State of the translation: the directives parsed so far, the open sections, and the results.

use crate::apache::lines::ApacheItem;
use crate::apache::rules::ModRewriteState;
use crate::apache::site::{Remark, TranslatedEntry, TranslatedServer, TranslationOptions};

/// Condition of an `if` under which a section applies, and its negation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SectionGuard {
    pub(crate) holds: String,
    pub(crate) fails: String,
}

/// State of the translation.
pub(crate) struct ApacheWalk<'o> {
    pub(crate) options: &'o TranslationOptions,
    pub(crate) parts: TranslatedServer,
    pub(crate) remarks: Vec<Remark>,
    pub(crate) guards: Vec<SectionGuard>,
    pub(crate) rules: ModRewriteState,
    pub(crate) expires: ExpiresState,
    /// Current values of `Auth*`, which enclosed sections inherit.
    pub(crate) auth: AuthState,
    /// URL path of the current folder, starting and ending with `/`. `None` outside of folders, where rules match whole
    /// paths.
    pub(crate) folder: Option<String>,
    /// Lines of the sections that are open, the innermost last.
    pub(crate) around: Vec<(usize, String)>,
    /// Sections for files and locations, which are handled after all folders.
    pub(crate) later: Vec<DeferredSection<'o>>,
    /// True while the sections of `later` are handled.
    pub(crate) is_late: bool,
    /// Number of variables created so far, for their names.
    pub(crate) count: usize,
}

/// Section `<Files>` or `<Location>`, with the state of the translation at its position in the text.
pub(crate) struct DeferredSection<'o> {
    pub(crate) item: &'o ApacheItem,
    pub(crate) guards: Vec<SectionGuard>,
    pub(crate) folder: Option<String>,
    pub(crate) around: Vec<(usize, String)>,
    /// Values of `Auth*`, if the enclosing sections have guards, so that the values apply only there; otherwise `None`.
    pub(crate) auth: Option<AuthState>,
}

/// Lifetimes (`Expires*`) collected so far.
#[derive(Debug, Default)]
pub(crate) struct ExpiresState {
    pub(crate) of: Vec<(usize, String)>,
    /// Value of `ExpiresActive`; `None` if the file does not contain it, so that the value of Apache's configuration applies.
    pub(crate) active: Option<bool>,
    pub(crate) default: Option<u64>,
    pub(crate) types: Vec<(String, u64)>,
}

/// Values of `AuthType`, `AuthName`, `AuthUserFile`.
#[derive(Clone, Debug, Default)]
pub(crate) struct AuthState {
    pub(crate) of: Vec<(usize, String)>,
    pub(crate) kind: String,
    pub(crate) name: Option<String>,
    pub(crate) file: Option<String>,
}

impl<'o> ApacheWalk<'o> {
    pub(crate) fn new(options: &'o TranslationOptions, folder: Option<String>) -> Self {
        Self {
            options,
            parts: TranslatedServer::default(),
            remarks: Vec::new(),
            guards: Vec::new(),
            rules: ModRewriteState::default(),
            expires: ExpiresState::default(),
            auth: AuthState::default(),
            folder,
            around: Vec::new(),
            later: Vec::new(),
            is_late: false,
            count: 0,
        }
    }

    /// Returns lines of nginx configuration that execute `lines` if the conditions of all open sections are true.
    pub(crate) fn guarded(&mut self, lines: &[String]) -> Vec<String> {
        match self.guards.as_slice() {
            [] => lines.to_vec(),
            [guard] => vec![format!("if ({}) {{ {} }}", guard.holds, lines.join(" "))],
            guards => {
                let mut out = vec!["set $section 1;".to_owned()];
                out.extend(
                    guards.iter().map(|guard| format!("if ({}) {{ set $section \"\"; }}", guard.fails)),
                );
                out.push(format!("if ($section) {{ {} }}", lines.join(" ")));
                out
            }
        }
    }

    /// Returns a new number, unique in a server, for the name of a variable.
    pub(crate) fn number(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    /// Adds a remark that a line is not translated, with the reason.
    pub(crate) fn missing(&mut self, item: &ApacheItem, reason: &str) {
        self.remarks.push(Remark::missing(item.line, &item.text, reason));
    }

    /// Adds a remark that a line is translated with a difference or left out, and does not count as missing.
    pub(crate) fn note(&mut self, item: &ApacheItem, reason: &str) {
        self.remarks.push(Remark::note(item.line, &item.text, reason));
    }
}

impl TranslatedEntry {
    /// Creates the translation of a line.
    pub(crate) fn new(item: &ApacheItem, why: &str, lines: Vec<String>) -> Self {
        Self { of: vec![(item.line, item.text.clone())], why: why.to_owned(), lines }
    }
}
