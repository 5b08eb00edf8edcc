//! Model of `sticky`: session affinity between clients and the servers of an upstream group.

use crate::text::Text;

/// `sticky`: method by which requests of a client's session are sent to the same upstream server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sticky {
    /// `sticky cookie NAME …`: a cookie that Myriad sets identifies the upstream server.
    Cookie(Box<StickyCookie>),
    /// `sticky route $variable …`: the first non-empty variable contains the `route=` of a server.
    Route(Vec<Text>),
    /// `sticky learn …`: sessions are learned from responses.
    Learn(Box<StickyLearn>),
}

/// Parameters of `sticky learn`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StickyLearn {
    /// `create=`: variables of the response; the first non-empty value is the session.
    pub create: Vec<Text>,
    /// `lookup=`: variables of the request; the first non-empty value is the session.
    pub lookup: Vec<Text>,
    /// Name of the zone that stores the sessions (`zone=`).
    pub zone: String,
    /// Size of the zone, in bytes.
    pub zone_size: u64,
    /// `timeout=`: time until an unused session expires, in ms.
    pub timeout: u64,
    /// `header`: true if a session is learned when the response head arrives, instead of the whole response.
    pub at_head: bool,
}

/// Cookie of `sticky cookie`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StickyCookie {
    /// Name of the cookie.
    pub name: String,
    /// `expires=`; `None` for a session cookie, which the browser deletes when it is closed.
    pub expires: Option<StickyExpiry>,
    /// `domain=`: `Domain` attribute of the cookie; may contain variables; `None` if not set.
    pub domain: Option<Text>,
    /// `path=`: `Path` attribute of the cookie; `None` if not set.
    pub path: Option<String>,
    /// `samesite=`: `SameSite` attribute of the cookie; may contain variables; `None` if not set.
    pub same_site: Option<Text>,
    /// `httponly`: true if scripts must not read the cookie.
    pub http_only: bool,
    /// `secure`: true if the cookie is only sent over HTTPS.
    pub secure: bool,
}

/// Expiry of the cookie of `sticky cookie`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StickyExpiry {
    /// Lifetime of the cookie, in seconds.
    Seconds(u64),
    /// `expires=max`: the cookie expires at the latest possible date.
    Max,
}
