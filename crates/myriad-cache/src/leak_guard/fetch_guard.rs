//! Search for values of a visitor in the head of a response.

use memchr::memmem;
use myriad_http::{Fields, Known, ResponseHead};
use myriad_policy::{
    CertificateSubject, Leak, LeakKind, LeakScanner, PrivateInput, PrivateValues, SentCookies, VaryRule,
    private_values,
};
use myriad_tls::x509::Certificate;
use myriad_upstream::OriginRequest;

use super::SESSIONS;
use super::findings::is_coincidence;
use super::response_guard::ResponseGuard;
use crate::page;
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::CachePlace;

/// Values of a visitor that the response to a fetch must not contain.
pub(crate) struct FetchGuard {
    values: PrivateValues,
    /// Kinds of cookies (session, any) that the origin receives and that are not in the cache key. `Authorization`
    /// counts as a cookie of the kind `any`.
    cookies: SentCookies,
}

impl FetchGuard {
    /// Returns the guard of a fetch; `None` if `leak_guard` is off. `sent` is the request to the origin.
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
            certificate: certificate_subject(request).as_ref(),
            sent,
            key: &request.cache.key,
        });
        let key = &request.cache.key;
        let is_sent = |text: &[u8]| memmem::find(sent, text).is_some() && memmem::find(key, text).is_none();
        let sent: Vec<&[u8]> = fields.cookie_pairs().filter(|pair| is_sent(pair)).collect();
        let cookies = SentCookies {
            session: sent.iter().any(|pair| SESSIONS.matches_set_cookie(pair).is_some()),
            any: !sent.is_empty() || fields.known(Known::Authorization).is_some_and(is_sent),
        };
        Some(Self { values, cookies })
    }

    /// Searches the fields of a response, and returns the guard of its body. Fails if a field contains a value, or if
    /// the response cannot be searched for all values.
    pub(crate) fn examine(
        mut self,
        request: &Request,
        cache: &CachePlace,
        head: &ResponseHead,
    ) -> Result<ResponseGuard, Unshared> {
        if !self.values.is_complete {
            return Err(Unshared::Unsearched);
        }
        if !cache.rules.ignore.vary {
            self.remove_variants(&head.fields);
        }
        let search = LeakScanner::new(self.values.list, &head.fields, &SESSIONS, self.cookies);
        let in_field = search.as_ref().and_then(|search| {
            search.find_in_fields(&head.fields, |kind, value| is_coincidence(request, cache, kind, value))
        });
        if let Some(leak) = in_field {
            return Err(Unshared::Leak(leak));
        }
        if page::is_opaque(&head.fields) && search.as_ref().is_some_and(LeakScanner::searches_body) {
            return Err(Unshared::Unsearched);
        }
        // A body that is stored in the coding of the origin is decoded for the search only.
        let is_coded = page::removed_coding(request, head).is_none();
        let decoder = page::origin_coding(head).filter(|_| is_coded).and_then(page::decoder);
        Ok(ResponseGuard { search, decoder, found: None, is_unsearched: false })
    }

    /// Removes the values of `Cookie`, `Authorization` and `User-Agent` if the response varies by that field: visitors
    /// with different values share no page.
    fn remove_variants(&mut self, fields: &Fields) {
        let Ok(rule) = VaryRule::parse(fields.known_all(Known::Vary)) else { return };
        if rule.has(b"cookie") {
            self.cookies = SentCookies::default();
        }
        self.values.list.retain(|value| match value.kind {
            LeakKind::Cookie => !rule.has(b"cookie"),
            LeakKind::Credentials => !rule.has(b"authorization"),
            LeakKind::UserAgent => !rule.has(b"user-agent"),
            _ => true,
        });
    }
}

/// Returns the subject of the client's certificate; `None` without a certificate, and if it cannot be parsed.
fn certificate_subject(request: &Request) -> Option<CertificateSubject> {
    let der = request.received.connection.tls()?.certificates.first()?;
    let subject = Certificate::parse(der).ok()?.subject;
    let emails = subject.email_addresses().into_iter().map(<[u8]>::to_vec);
    let names = subject.common_name().map(String::into_bytes).into_iter().chain(emails).collect();
    Some(CertificateSubject { names, texts: vec![subject.rfc2253(), subject.legacy()] })
}

/// Reason why a response is not shared.
pub(crate) enum Unshared {
    /// A header field of the response contains data of the visitor.
    Leak(Leak),
    /// The request has too many values, or the body has a content coding that cannot be decoded.
    Unsearched,
}
