//! Session persistence for origins (`sticky`).

use std::sync::Arc;

use myriad_conf::model::StickyExpiry;
use myriad_script::Template;
use myriad_upstream::Sessions;

/// Method that identifies the origin of a session.
pub enum StickyPlace {
    /// Cookie.
    Cookie(Box<StickyCookiePlace>),
    /// First text that is not empty.
    Route(Box<[Template]>),
    /// Session created by a response.
    Learn(StickyLearnPlace),
}

/// Settings for learning sessions from responses.
pub struct StickyLearnPlace {
    /// Texts for a response; the first that is not empty is the session.
    pub create: Box<[Template]>,
    /// Texts for a request; the first that is not empty is the session.
    pub lookup: Box<[Template]>,
    /// Sessions of the group.
    pub sessions: Arc<Sessions>,
    /// Lifetime of an unused session, in milliseconds.
    pub timeout_ms: u64,
    /// True if a session is learned when the head of its response arrives, otherwise when its body is complete.
    pub at_head: bool,
}

/// Cookie that identifies the origin of a session.
pub struct StickyCookiePlace {
    /// Name.
    pub name: Box<str>,
    /// Expiry; `None` for a session cookie.
    pub expires: Option<StickyExpiry>,
    /// `domain=`.
    pub domain: Option<Template>,
    /// `samesite=`.
    pub same_site: Option<Template>,
    /// Constant attributes after `domain=` and after `samesite=`, each with the semicolon before it.
    pub flags: Box<str>,
    /// `; path=…`, or empty.
    pub path: Box<str>,
}
