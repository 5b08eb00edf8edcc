//! Session persistence for groups of origins (`sticky`).

use std::sync::Arc;

use myriad_conf::model::StickyExpiry;
use myriad_script::Template;
use myriad_upstream::Sessions;

/// Way in which a request is assigned to the origin of its session (`sticky`).
pub enum StickyPlace {
    /// `sticky cookie`: a cookie that names the origin.
    Cookie(Box<StickyCookiePlace>),
    /// `sticky route`: the first of these texts that is not empty names the origin.
    Route(Box<[Template]>),
    /// `sticky learn`: origins create sessions, which this server learns from responses.
    Learn(StickyLearnPlace),
}

/// Settings of `sticky learn`: session persistence by sessions that origins create.
pub struct StickyLearnPlace {
    /// `create=`: texts evaluated for a response. The first that is not empty identifies the new session.
    pub create: Box<[Template]>,
    /// `lookup=`: texts evaluated for a request. The first that is not empty identifies its session.
    pub lookup: Box<[Template]>,
    /// Sessions learned from responses, each with its origin.
    pub sessions: Arc<Sessions>,
    /// `timeout=`: time after which an unused session is forgotten, in milliseconds.
    pub timeout_ms: u64,
    /// `header`: a session is learned as soon as the response head arrives; otherwise when the body is complete.
    pub at_head: bool,
}

/// Settings of `sticky cookie`: session persistence by a cookie that this server sets.
pub struct StickyCookiePlace {
    /// Name of the cookie.
    pub name: Box<str>,
    /// `expires=`: time after which the browser deletes the cookie; `None` if it deletes the cookie at the end of its
    /// session.
    pub expires: Option<StickyExpiry>,
    /// `domain=`: domain of the cookie; `None` without it.
    pub domain: Option<Template>,
    /// `samesite=`: value of the attribute `SameSite`; `None` without it.
    pub same_site: Option<Template>,
    /// Constant attributes that follow `domain=` and `samesite=`, such as `; secure`, each with its leading semicolon.
    pub flags: Box<str>,
    /// Attribute `; path=…` of the cookie; empty without `path=`.
    pub path: Box<str>,
}
