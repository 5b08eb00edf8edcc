//! Leak guard of fetches (`leak_guard`): a response with data of the visitor whose request fetched it is not shared.
//!
//! ```text
//! request is made -> FetchGuard: the visitor's values that the origin receives
//! head arrives    -> FetchGuard::examine -> a field has a value: the response is refused
//! body arrives    -> ResponseGuard::examine, piece by piece, before waiters get it
//!                      a value is found: only the client whose request fetched it gets the response
//! afterwards      -> Verification: the page is fetched without the cookies of the visitor; this response is not stored
//!                      value missing: confirmed; after two values, the page is not stored for the time of its validity
//!                      value there:   coincidence, the value is not searched for in this page for an hour
//! ```

use std::cell::Cell;
use std::rc::Rc;
use std::sync::LazyLock;

use memchr::memmem;
use myriad_encode::{ContentDecodeError, StreamDecoder};
use myriad_http::{Fields, Known, ResponseHead};
use myriad_log::LogLevel;
use myriad_policy::{
    Leak, LeakKind, LeakScanner, Lifetime, PersonalCookies, PrivateInput, PrivateValue, SentCookies,
    SharedFetchFields, StoreRefusal, VaryRule, private_values,
};
use myriad_store::{BodyWriter, KeyRef};
use myriad_upstream::OriginRequest;

use crate::other_codings;
use crate::page;
use myriad_admin::protocol::escape_bytes;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::CachePlace;
use myriad_store::page::PageMeta;

/// Minimum and maximum time in milliseconds for which a page with a confirmed finding is not stored.
const QUARANTINE_MS: (u64, u64) = (60_000, 3_600_000);
/// Maximum length in bytes of names and paths in findings.
const MAX_NAME: usize = 256;
/// Maximum number of bytes that are decoded at once.
const WINDOW: usize = 64 << 10;

/// Names of session cookies.
static SESSIONS: LazyLock<PersonalCookies> = LazyLock::new(PersonalCookies::builtin_sessions);

/// Values of a visitor that the response to a fetch must not contain.
pub(crate) struct FetchGuard {
    values: Vec<PrivateValue>,
    /// Cookies that the origin receives.
    cookies: SentCookies,
    /// Set if the values are those of an earlier request, and this one does not contain them.
    verification: Option<Verification>,
}

impl FetchGuard {
    /// Returns the guard of a fetch; `None` if it is off. `sent` is the request to the origin.
    pub(crate) fn of(request: &Request, cache: &CachePlace, sent: &OriginRequest) -> Option<Self> {
        if !cache.rules.leak_guard {
            return None;
        }
        let fields = request.received.head.fields();
        let sent = sent.head();
        let values = private_values(&PrivateInput {
            fields,
            arguments: &request.route.args,
            client: request.client(),
            sent,
            key: &request.cache.key,
        });
        let key = &request.cache.key;
        let is_sent = |text: &[u8]| memmem::find(sent, text).is_some() && memmem::find(key, text).is_none();
        let lines = fields.known_all(Known::Cookie).flat_map(|line| line.split(|byte| *byte == b';'));
        let sent: Vec<&[u8]> =
            lines.map(<[u8]>::trim_ascii).filter(|pair| !pair.is_empty() && is_sent(pair)).collect();
        let cookies = SentCookies {
            session: sent.iter().any(|pair| SESSIONS.matches_set_cookie(pair).is_some()),
            any: !sent.is_empty() || fields.known(Known::Authorization).is_some_and(is_sent),
        };
        Some(Self { values, cookies, verification: None })
    }

    /// Returns the guard of a request that verifies a finding; `None` if the request still contains the value.
    pub(crate) fn of_verification(verification: Verification, sent: &OriginRequest) -> Option<Self> {
        let has_value = verification.values.iter().any(|value| value.occurs_in(sent.head()));
        let values = verification.values.clone();
        let cookies = SentCookies { session: false, any: verification.kind == LeakKind::LoggedIn };
        (!has_value).then_some(Self { values, cookies, verification: Some(verification) })
    }

    /// Searches the fields of a response, and returns the guard of its body; the leak if a field contains a value.
    pub(crate) fn examine(
        mut self,
        request: &Request,
        cache: &CachePlace,
        head: &ResponseHead,
    ) -> Result<ResponseGuard, Leak> {
        if !cache.rules.ignore.vary {
            self.remove_variants(&head.fields);
        }
        let search = LeakScanner::new(self.values, &head.fields, &SESSIONS, self.cookies);
        let mut verification = self.verification;
        let excuses = Excuses { request, cache, verification: verification.as_ref() };
        let in_field = search
            .as_ref()
            .and_then(|search| search.find_in_fields(&head.fields, |kind, value| excuses.has(kind, value)));
        match (in_field, &mut verification) {
            (Some(leak), None) => return Err(leak),
            (Some(_), Some(verification)) => verification.is_coincidence = true,
            (None, _) => {}
        }
        if let Some(verification) = &mut verification {
            verification.is_comparable = head.status == verification.status;
        }
        // A body that is stored in the coding of the origin is decoded for the search only.
        let is_coded = page::removed_coding(request, head).is_none();
        let decoder = page::origin_coding(head).filter(|_| is_coded).and_then(page::decoder);
        Ok(ResponseGuard { search, decoder, verification, found: None, notice: LeakNotice::default() })
    }

    /// Removes the values of fields by which the response varies: visitors with different values share no page.
    fn remove_variants(&mut self, fields: &Fields) {
        let Ok(rule) = VaryRule::parse(fields.known_all(Known::Vary)) else { return };
        if rule.has(b"cookie") {
            self.cookies = SentCookies::default();
        }
        self.values.retain(|value| match value.kind {
            LeakKind::Cookie => !rule.has(b"cookie"),
            LeakKind::Credentials => !rule.has(b"authorization"),
            LeakKind::UserAgent => !rule.has(b"user-agent"),
            _ => true,
        });
    }
}

/// Notice to the request that started a fetch that the response contains data of its visitor.
#[derive(Clone, Default)]
pub(crate) struct LeakNotice(Rc<Cell<bool>>);

impl LeakNotice {
    /// Returns the reason for which the response is not stored, if a leak was found so far.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        self.0.get().then_some(StoreRefusal::Leak.as_str())
    }
}

/// Search for the values of a visitor in the body of a response.
pub(crate) struct ResponseGuard {
    /// Search; `None` without values, or for a media type that is not searched.
    search: Option<LeakScanner>,
    /// Decoder of the search, for a body that is stored in the coding of the origin.
    decoder: Option<StreamDecoder>,
    /// Set if the response is only requested to verify a finding, and not stored.
    verification: Option<Verification>,
    found: Option<Leak>,
    notice: LeakNotice,
}

impl ResponseGuard {
    /// Returns a guard that searches nothing.
    pub(crate) fn off() -> Self {
        Self { search: None, decoder: None, verification: None, found: None, notice: LeakNotice::default() }
    }

    /// Returns the notice for the request that started the fetch.
    pub(crate) fn notice(&self) -> LeakNotice {
        self.notice.clone()
    }

    /// Searches the next piece of the body. If it contains a value, the response is withdrawn from all other clients.
    pub(crate) fn examine(
        &mut self,
        exchange: &Exchange,
        cache: &CachePlace,
        writer: &mut BodyWriter<PageMeta>,
        piece: &[u8],
    ) {
        let Some(search) = &mut self.search else { return };
        let excuses = Excuses { request: &exchange.request, cache, verification: self.verification.as_ref() };
        let Ok(found) = search_piece(search, self.decoder.as_mut(), piece, &excuses) else {
            self.search = None;
            return;
        };
        let Some(leak) = found else { return };
        if let Some(verification) = &mut self.verification {
            verification.is_coincidence = true;
            return;
        }
        self.search = None;
        report(&exchange.request, cache, &leak);
        writer.withdraw(myriad_net::clock::now_ms(), StoreRefusal::Leak.hit_for_miss_ms());
        self.notice.0.set(true);
        self.found = Some(leak);
    }

    /// Returns whether the response must not be stored, after its last piece: it contains data of the visitor, it was
    /// requested to verify a finding, or the page was quarantined meanwhile.
    pub(crate) fn is_private(&self, request: &Request, cache: &CachePlace) -> bool {
        let now = myriad_net::clock::now_ms();
        self.found.is_some()
            || self.verification.is_some()
            || cache.rules.leak_guard && cache.zone.leaks.is_quarantined(&request.cache.key, now)
    }

    /// Records the result of a verification, and returns the verification that a new leak needs. `status` is that of the
    /// response.
    pub(crate) fn finish(
        self,
        request: &Request,
        cache: &CachePlace,
        lifetime: &Lifetime,
        status: u16,
    ) -> Option<Verification> {
        if let Some(verification) = self.verification {
            verification.finish(request, cache, lifetime);
        }
        Verification::of(request, cache, self.found?, lifetime, status)
    }
}

/// Searches a piece of a body, which is decoded first if the search has a decoder. Fails at invalid data, which no client can
/// decode either.
fn search_piece(
    search: &mut LeakScanner,
    decoder: Option<&mut StreamDecoder>,
    mut piece: &[u8],
    excuses: &Excuses<'_>,
) -> Result<Option<Leak>, ContentDecodeError> {
    let Some(decoder) = decoder else {
        return Ok(search.push(piece, |kind, value| excuses.has(kind, value)));
    };
    loop {
        let mut window = Vec::new();
        let (taken, is_drained) = decoder.push_up_to(piece, &mut window, WINDOW)?;
        let found = search.push(&window, |kind, value| excuses.has(kind, value));
        if found.is_some() || is_drained {
            return Ok(found);
        }
        piece = &piece[taken..];
    }
}

/// Values that are no leak: those that occur in the page by coincidence, or, in the response to a verification, all except
/// the value to verify.
struct Excuses<'a> {
    request: &'a Request,
    cache: &'a CachePlace,
    verification: Option<&'a Verification>,
}

impl Excuses<'_> {
    fn has(&self, kind: LeakKind, value: &[u8]) -> bool {
        if let Some(sought) = self.verification {
            return kind != sought.kind || *value != *sought.value;
        }
        let now = myriad_net::clock::now_ms();
        self.cache.zone.leaks.is_coincidence(&name_in_page(self.request, kind, value), now)
    }
}

/// Returns the name under which a value is recorded as a coincidence: in another page, it may be a leak.
fn name_in_page(request: &Request, kind: LeakKind, value: &[u8]) -> Vec<u8> {
    [kind.as_str().as_bytes(), b" ", value, b" ", &request.cache.key].concat()
}

/// Fetch of a page without the values of the visitor, to find out whether a leak is a coincidence.
pub(crate) struct Verification {
    kind: LeakKind,
    /// Value; empty for a sign in HTML.
    value: Box<[u8]>,
    /// The value to search for, if it is not a sign in HTML.
    values: Vec<PrivateValue>,
    /// Status of the response with the leak.
    status: u16,
    /// True if this response has the same status.
    is_comparable: bool,
    /// True if this response has the value, too.
    is_coincidence: bool,
}

impl Verification {
    /// Returns the verification of a leak in a response with this status; `None` if no fetch could verify it, or if there
    /// were too many recently.
    pub(crate) fn of(
        request: &Request,
        cache: &CachePlace,
        leak: Leak,
        lifetime: &Lifetime,
        status: u16,
    ) -> Option<Self> {
        match leak.kind {
            LeakKind::Cookie | LeakKind::UserAgent | LeakKind::LoggedIn => {}
            // Each response has a new value.
            LeakKind::NewCookie | LeakKind::FormToken => {
                confirm(request, cache, &leak.value, lifetime);
                return None;
            }
            // The request without the value would be for another page, or the configuration adds the value.
            LeakKind::Argument | LeakKind::Credentials | LeakKind::Address => return None,
        }
        if !cache.zone.leaks.begin_verification(&request.cache.key, myriad_net::clock::now_ms()) {
            return None;
        }
        let (kind, value) = (leak.kind, leak.value);
        let private = PrivateValue { kind, name: leak.name, value: value.clone() };
        let values = if value.is_empty() { Vec::new() } else { vec![private] };
        Some(Self { kind, value, values, status, is_comparable: false, is_coincidence: false })
    }

    /// Records the result, if the response can be compared.
    fn finish(&self, request: &Request, cache: &CachePlace, lifetime: &Lifetime) {
        if !self.is_comparable {
            return;
        }
        if self.is_coincidence {
            let name = name_in_page(request, self.kind, &self.value);
            cache.zone.leaks.excuse(&request.cache.key, &name, myriad_net::clock::now_ms());
        } else {
            confirm(request, cache, &self.value, lifetime);
        }
    }
}

/// Returns the header fields of a request that verifies a leak: those of a shared fetch, or those of the client, without
/// credentials, `User-Agent`, and cookies that are not in the cache key.
pub(crate) fn anonymous_fields(request: &Request, cache: &CachePlace) -> SharedFetchFields {
    let fields = request.received.head.fields();
    let rules = &cache.rules.shared_fetch;
    let shared = rules.fields_for_origin(fields, false, &VaryRule::default(), cache.rules.device_class);
    let shared = shared.filter(|_| rules.on);
    let fields = shared.as_ref().map_or(fields, |shared| &shared.fields);
    let is_of_visitor =
        |known| matches!(known, Some(Known::Cookie | Known::Authorization | Known::UserAgent));
    let sent = fields.iter_known().filter(|(known, ..)| !is_of_visitor(*known));
    let mut sent: Fields = sent.map(|(_, name, value)| (name, value)).collect();
    let lines = fields.known_all(Known::Cookie).flat_map(|line| line.split(|byte| *byte == b';'));
    let keyed: Vec<&[u8]> = lines.map(<[u8]>::trim_ascii).filter(|pair| rules.has_in_key(pair)).collect();
    if !keyed.is_empty() {
        sent.push_known(Known::Cookie, &keyed.join(&b"; "[..]));
    }
    SharedFetchFields { fields: sent, varies: VaryRule::default() }
}

/// Records a confirmed leak. After two values, the page is not stored for the time of its validity, and its stored entries
/// are removed.
fn confirm(request: &Request, cache: &CachePlace, value: &[u8], lifetime: &Lifetime) {
    let (least, most) = QUARANTINE_MS;
    let until = myriad_net::clock::now_ms().saturating_add(lifetime.valid_ms.clamp(least, most));
    if cache.zone.leaks.confirm(&request.cache.key, value, until) {
        for key in other_codings::keys_of_page(request) {
            cache.zone.zone.remove_older(KeyRef::new(&key), u64::MAX);
        }
    }
}

/// Records a leak, and logs it without the value.
pub(crate) fn report(request: &Request, cache: &CachePlace, leak: &Leak) {
    let now = myriad_net::clock::now_ms();
    let text = |bytes: &[u8]| escape_bytes(&bytes[..bytes.len().min(MAX_NAME)]);
    let name = if leak.name.is_empty() { String::new() } else { format!(" \"{}\"", text(&leak.name)) };
    let place = leak.field.as_ref().map_or("the body".to_owned(), |field| format!("field {}", text(field)));
    let what = format!("{}{name} in {place}", leak.kind.as_str());
    let leaks = &cache.zone.leaks;
    let page = format!("{}{}", text(&request.route.host), text(&request.route.uri));
    leaks.add(&request.cache.key, &page, &what, now);
    if leaks.log_limit.admits(now) {
        let position =
            if leak.field.is_none() { format!(" (byte {})", leak.position) } else { String::new() };
        let remedy = match leak.kind {
            LeakKind::Cookie => ", or add the cookie to \"personal_cookies\"",
            _ => "",
        };
        request.log(
            LogLevel::Error,
            format_args!(
                "leak guard: the response is not shared, because it contains the {what}{position}; send \"Cache-Control: private\"{remedy}"
            ),
        );
    }
}
