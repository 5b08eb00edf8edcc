//! How a visitor is led to the same origin again (`sticky`).

use myriad_conf::model::StickyExpiry;
use myriad_script::Template;

/// How a visitor's origin is known again.
pub enum StickyPlace {
    /// By a cookie.
    Cookie(Box<StickyCookiePlace>),
    /// By the first of these that is not empty.
    Route(Box<[Template]>),
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
