//! `sticky`: visitors who come back to the same server of a group.

use crate::text::Text;

/// How a visitor's server is known again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sticky {
    /// `sticky cookie NAME …`: by a cookie that is set here.
    Cookie(Box<StickyCookie>),
    /// `sticky route $variable …`: by the first of the variables that is not empty, which has a server's `route=`.
    Route(Vec<Text>),
    /// `sticky learn …`: by a session whose server answers have shown.
    Learn(Box<StickyLearn>),
}

/// How sessions are learned of answers (`sticky learn`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StickyLearn {
    /// `create=`, each of which is a variable: the first that is not empty names the session of an answer.
    pub create: Vec<Text>,
    /// `lookup=`, likewise for a request.
    pub lookup: Vec<Text>,
    /// The name of `zone=`.
    pub zone: String,
    /// The size of `zone=`, bytes.
    pub zone_size: u64,
    /// `timeout=`, ms: how long a session lasts that is not used.
    pub timeout: u64,
    /// `header`: learned when the head of the answer is there, not its end.
    pub at_head: bool,
}

/// The cookie of `sticky cookie`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StickyCookie {
    /// Its name.
    pub name: String,
    /// `expires=`; a cookie without it ends with the browser.
    pub expires: Option<StickyExpiry>,
    /// `domain=`; may hold variables.
    pub domain: Option<Text>,
    /// `path=`.
    pub path: Option<String>,
    /// `samesite=`; may hold variables.
    pub same_site: Option<Text>,
    /// `httponly`.
    pub http_only: bool,
    /// `secure`.
    pub secure: bool,
}

/// When a cookie ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StickyExpiry {
    /// So many seconds after it was set.
    Seconds(u64),
    /// As late as can be said.
    Max,
}
