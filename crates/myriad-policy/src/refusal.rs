//! Reasons why an answer is not stored, and what each says of the page.

/// Why an answer is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The origin was asked with a method whose answer is not a page: HEAD, or none of `*_cache_methods`.
    Method,
    /// The status is no page of its own: interim, 304, or 206 but for a piece (RFC 9111 §3).
    Status,
    /// The request carried a personal cookie.
    PersonalRequest,
    /// The request had `Authorization` and the answer does not allow sharing (RFC 9111 §3.5).
    Authorization,
    /// `Cache-Control: private`; no directive overrides it.
    Private,
    /// `Set-Cookie` names a personal cookie; no directive overrides it.
    PersonalCookie,
    /// `Set-Cookie`, where it is not ignored.
    SetCookie,
    /// `Vary: *`, or a `Vary` that is too long to keep.
    Vary,
    /// `*_no_cache`.
    NoCache,
    /// `X-Accel-Expires` of 0 or in the past.
    XAccelExpires,
    /// `Surrogate-Control` or `X-LiteSpeed-Cache-Control`, where it is announced that they are obeyed.
    Accelerator,
    /// `Cache-Control: no-store` or `no-cache`.
    CacheControl,
    /// `max-age=0`, or `Expires` in the past.
    Expired,
    /// Neither the answer nor `*_cache_valid` gives a validity.
    NoValidity,
    /// A server error, while a usable page is stored.
    ServerError,
    /// The status says something of the request (400, 405, 411 to 417, 431, 501), and no `*_cache_valid` names it.
    RequestError,
    /// An error of the client's (4xx) in answer to a request so large that origins commonly refuse it.
    LargeRequest,
    /// Fewer requests than `*_cache_min_uses`.
    MinUses,
}

/// How long an uncacheable verdict is remembered (hit-for-miss), in ms.
///
/// While it is remembered, requests for the key go to the origin side by side; when it is forgotten, one leads again and
/// the others wait for its head. With an origin of 300 ms that wait reaches at most a seventh of the visitors. Varnish
/// remembers for two minutes: but a page that turns cacheable (a plugin's one-off cookie, a first visit) would stand
/// unprotected for as long, and two seconds of a rush is what php-fpm's backlog takes.
const HIT_FOR_MISS_MS: u64 = 2_000;

impl Refusal {
    /// A word for logs and explanations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Refusal::Method => "method",
            Refusal::Status => "status",
            Refusal::PersonalRequest => "personal request",
            Refusal::Authorization => "authorization",
            Refusal::Private => "private",
            Refusal::PersonalCookie => "personal cookie",
            Refusal::SetCookie => "set-cookie",
            Refusal::Vary => "vary",
            Refusal::NoCache => "no_cache",
            Refusal::XAccelExpires => "x-accel-expires",
            Refusal::Accelerator => "surrogate-control",
            Refusal::CacheControl => "cache-control",
            Refusal::Expired => "expired",
            Refusal::NoValidity => "no validity",
            Refusal::ServerError => "server error",
            Refusal::RequestError => "request error",
            Refusal::LargeRequest => "large request",
            Refusal::MinUses => "min_uses",
        }
    }

    /// Whether the answer may hold what belongs to one visitor.
    pub const fn protects_visitors(self) -> bool {
        matches!(
            self,
            Refusal::PersonalRequest
                | Refusal::Authorization
                | Refusal::Private
                | Refusal::PersonalCookie
                | Refusal::SetCookie
        )
    }

    /// Whether the reason holds for the page whoever asks: then this answer takes back the stored page, which must not be served
    /// stale any more. The others say something of this very request alone (its method, its cookies, its
    /// name and password, its number, a part that it asked for), or of the origin's health: by these, any visitor could have
    /// pages removed, and a failure would remove what is kept for failures (RFC 9111 §4.2.4).
    ///
    /// RFC 9111 §4.3.3 has a full response to a validation replace what is stored, and §3 says when it may not be stored
    /// itself: `no-store`, `private` (§5.2.2.5, §5.2.2.7), no freshness (§4.2.1).
    pub const fn is_of_the_page(self) -> bool {
        match self {
            Refusal::Private
            | Refusal::PersonalCookie
            | Refusal::SetCookie
            | Refusal::Vary
            | Refusal::XAccelExpires
            | Refusal::Accelerator
            | Refusal::CacheControl
            | Refusal::Expired
            | Refusal::NoValidity => true,
            Refusal::Method
            | Refusal::Status
            | Refusal::PersonalRequest
            | Refusal::Authorization
            | Refusal::NoCache
            | Refusal::ServerError
            | Refusal::RequestError
            | Refusal::LargeRequest
            | Refusal::MinUses => false,
        }
    }

    /// Whether the answer says something of the request that was sent and nothing of the page: each waiter then asks for itself,
    /// and stored pages stay.
    pub const fn is_of_the_request(self) -> bool {
        matches!(self, Refusal::RequestError | Refusal::LargeRequest)
    }

    /// How long to remember for the key that its answers are not stored, in ms; 0 where the verdict says nothing of the
    /// next request: it hangs on this request's own method, cookies or number, or on a failure that may be over.
    pub const fn hit_for_miss_ms(self) -> u64 {
        match self {
            Refusal::Method
            | Refusal::PersonalRequest
            | Refusal::Authorization
            | Refusal::ServerError
            | Refusal::RequestError
            | Refusal::LargeRequest
            | Refusal::MinUses => 0,
            _ => HIT_FOR_MISS_MS,
        }
    }
}
