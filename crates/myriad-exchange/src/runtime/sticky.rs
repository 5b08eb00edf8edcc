//! How a visitor is led to the same origin again (`sticky`).

use std::sync::Arc;

use myriad_conf::model::StickyExpiry;
use myriad_script::Template;
use myriad_upstream::Sessions;

/// How a visitor's origin is known again.
pub enum StickyPlace {
    /// By a cookie.
    Cookie(Box<StickyCookiePlace>),
    /// By the first of these that is not empty.
    Route(Box<[Template]>),
    /// By a session that answers create.
    Learn(StickyLearnPlace),
}

/// How sessions are learned of answers.
pub struct StickyLearnPlace {
    /// The first of these that is not empty names the session of an answer.
    pub create: Box<[Template]>,
    /// Likewise for a request.
    pub lookup: Box<[Template]>,
    /// The sessions of the group.
    pub sessions: Arc<Sessions>,
    /// How long a session lasts that is not used, milliseconds.
    pub timeout_ms: u64,
    /// Whether a session is learned when the head of its answer is there; else when its body has ended.
    pub at_head: bool,
}

/// The cookie that names a visitor's origin.
pub struct StickyCookiePlace {
    /// Its name.
    pub name: Box<str>,
    /// When it ends; none with the browser.
    pub expires: Option<StickyExpiry>,
    /// `domain=`.
    pub domain: Option<Template>,
    /// `samesite=`.
    pub same_site: Option<Template>,
    /// The attributes that are the same for all, those behind `domain=` and those behind `samesite=`, each with the semicolon before it.
    pub flags: Box<str>,
    /// `; path=…`, or nothing.
    pub path: Box<str>,
}
