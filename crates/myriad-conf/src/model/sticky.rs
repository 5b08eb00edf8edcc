//! `sticky`: session affinity between clients and servers of a group.

use crate::text::Text;

/// Method that identifies the server of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sticky {
    /// `sticky cookie NAME …`: by a cookie that Myriad sets.
    Cookie(Box<StickyCookie>),
    /// `sticky route $variable …`: by the first non-empty variable, which contains the `route=` of a server.
    Route(Vec<Text>),
    /// `sticky learn …`: by a session whose server was learned from responses.
    Learn(Box<StickyLearn>),
}

/// Parameters of sessions learned from responses (`sticky learn`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StickyLearn {
    /// `create=` variables: the first non-empty variable is the session of a response.
    pub create: Vec<Text>,
    /// `lookup=` variables: the first non-empty variable is the session of a request.
    pub lookup: Vec<Text>,
    /// Name of `zone=`.
    pub zone: String,
    /// Size of `zone=`, in bytes.
    pub zone_size: u64,
    /// `timeout=`: time until an unused session expires, in ms.
    pub timeout: u64,
    /// `header`: the session is learned after the response head, instead of after the whole response.
    pub at_head: bool,
}

/// Cookie of `sticky cookie`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StickyCookie {
    /// Name of the cookie.
    pub name: String,
    /// `expires=`; without it, the cookie lasts until the browser is closed.
    pub expires: Option<StickyExpiry>,
    /// `domain=`; may contain variables.
    pub domain: Option<Text>,
    /// `path=`.
    pub path: Option<String>,
    /// `samesite=`; may contain variables.
    pub same_site: Option<Text>,
    /// `httponly`.
    pub http_only: bool,
    /// `secure`.
    pub secure: bool,
}

/// Expiry of a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StickyExpiry {
    /// Seconds after the cookie was set.
    Seconds(u64),
    /// `max`: the latest possible date.
    Max,
}
