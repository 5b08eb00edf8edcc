//! Revocation check of client certificates by OCSP (`ssl_ocsp`), before the first request of a connection.
//!
//! ```text
//! trusted path: client certificate, CAs, root
//!   for each except the root (or only the client certificate): cached? --no--> query of the responder, on a thread
//!        good -> next certificate    revoked, unknown, no response -> rejected
//! ```
//! Only responders named in a trusted path or in `ssl_ocsp_responder` are queried, so certificates of unknown CAs cause
//! no queries.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Weak};

use crate::acme_client::https::Resolve;
use crate::acme_client::status::{self, StatusRequest, StatusResult};
use crate::x509::{Certificate, OcspId, OcspStatus};
use myriad_base::bounded::Lru;
use myriad_conf::settings::{OcspCache, OcspCheck, TlsSettings};
use myriad_net::tls::{CachedVerifyResult, VerifyResult};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::resolve::resolve;

/// Result of the verification of a revoked certificate: OpenSSL's error number and nginx's text.
const REVOKED: VerifyResult = Err((23, "certificate revoked"));
/// Result of the verification if no valid OCSP response has been received.
pub(super) const FAILED: VerifyResult = Err((74, "certificate status request failed"));
/// Result of the verification if a responder does not know the certificate.
const UNKNOWN: VerifyResult = Err((75, "certificate status unknown"));

/// OCSP settings of a server for client certificates (`ssl_ocsp`).
pub(super) struct OcspRules {
    /// True if only the certificate of the client is checked (`ssl_ocsp leaf`), not its CAs.
    leaf_only: bool,
    /// URL of `ssl_ocsp_responder`, which overrides those in certificates; `None` to use these.
    responder: Option<String>,
    cache: Option<Arc<StatusCache>>,
    pub resolve: Resolve,
}

impl fmt::Debug for OcspRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OcspRules").field("responder", &self.responder).finish_non_exhaustive()
    }
}

impl OcspRules {
    /// Returns the OCSP settings of a server; `None` if `ssl_ocsp` is off. Host names of responders are resolved by the
    /// system, unless [`Self::with_resolver`] changes this.
    pub(super) fn of(settings: &TlsSettings) -> Option<Arc<Self>> {
        let leaf_only = match settings.ocsp {
            OcspCheck::Off => return None,
            OcspCheck::Chain => false,
            OcspCheck::Leaf => true,
        };
        let responder = settings.ocsp_responder.as_ref().map(|url| url.lossy().into_owned());
        let cache = settings.ocsp_cache.as_ref().map(named_cache);
        Some(Arc::new(Self { leaf_only, responder, cache, resolve: resolve(None) }))
    }

    /// Returns a copy of the settings with another resolver for the host names of responders.
    pub(super) fn with_resolver(&self, resolve: Resolve) -> Arc<Self> {
        let (responder, cache) = (self.responder.clone(), self.cache.clone());
        Arc::new(Self { leaf_only: self.leaf_only, responder, cache, resolve })
    }

    /// Returns the cached status of a certificate and the last second of its validity, by the certificate's
    /// [`OcspId::key`]; `None` if there is no cache, or no valid status in it.
    fn cached(&self, key: &[u8], now_s: i64) -> Option<(OcspStatus, i64)> {
        let mut cache = self.cache.as_ref()?.lock();
        cache.get_mut(key).copied().filter(|(_, until_s)| *until_s >= now_s)
    }

    async fn status(
        &self,
        certificate: &[u8],
        issuer: &[u8],
        now_s: i64,
    ) -> Result<(OcspStatus, i64), String> {
        let (Ok(parsed), Ok(by)) = (Certificate::parse(certificate), Certificate::parse(issuer)) else {
            return Err("the certificate or the certificate of its issuer cannot be parsed".to_owned());
        };
        let key = OcspId::of(&parsed, &by).key();
        if let Some(known) = self.cached(&key, now_s) {
            return Ok(known);
        }
        let url = self.responder.clone().or_else(|| parsed.ocsp_responder().map(str::to_owned));
        let url = url.ok_or("the certificate has no OCSP responder URL")?;
        let error_text = |why: String| format!("{why} while requesting certificate status, responder: {url}");
        let (sender, receiver) = oneshot::channel::<StatusResult>();
        let question = StatusRequest {
            certificate: certificate.to_vec(),
            issuer: issuer.to_vec(),
            url: url.clone(),
            resolve: Arc::clone(&self.resolve),
        };
        status::request_status(question, Box::new(move |said| drop(sender.send(said))));
        let result = receiver.await.unwrap_or_else(|_| Err("the OCSP request was aborted".to_owned()));
        let (status, answer) = result.map_err(error_text)?;
        if let Some((cache, until_s)) = self.cache.as_ref().zip(answer.next_update) {
            cache.lock().insert(key, (status, until_s), 1);
        }
        Ok((status, answer.next_update.unwrap_or(i64::MAX)))
    }
}

/// Cached statuses with the last second of their validity, by the OCSP identifier of the certificate.
type StatusCache = Mutex<Lru<Box<[u8]>, (OcspStatus, i64)>>;

/// OCSP status caches by name (`ssl_ocsp_cache`); each exists while a configuration uses it.
static CACHES: LazyLock<Mutex<HashMap<String, Weak<StatusCache>>>> = LazyLock::new(Mutex::default);

/// Returns the OCSP status cache with the name and size in `settings`, shared by all servers and workers and retained
/// over reloads. An existing cache gets the new size.
fn named_cache(settings: &OcspCache) -> Arc<StatusCache> {
    let most = u64::from(settings.entries);
    let mut caches = CACHES.lock();
    if let Some(cache) = caches.get(&settings.name).and_then(Weak::upgrade) {
        cache.lock().set_max_weight(most);
        return cache;
    }
    caches.retain(|_, cache| cache.strong_count() > 0);
    let cache = Arc::new(Mutex::new(Lru::new(most)));
    caches.insert(settings.name.clone(), Arc::downgrade(&cache));
    cache
}

/// Trusted path of a client certificate, whose revocation status must be checked.
pub struct StatusCheck {
    pub(super) rules: Arc<OcspRules>,
    /// Identifier of the `ClientRules` under which the path was verified.
    pub(super) id: u64,
    /// Last second of the validity of the path, since the Unix epoch.
    pub(super) until_s: i64,
    /// Path in DER, from the client certificate to the root.
    pub(super) path: Vec<Vec<u8>>,
}

impl StatusCheck {
    /// Checks the certificates of the path except the root by OCSP, or only the client certificate with `ssl_ocsp
    /// leaf`, in order up to the first that is not good. Returns the result, which the caller must store in the
    /// connection (`TlsFacts::judged`), and a message for the error log if a query failed. `now_s` is the time in
    /// seconds since the Unix epoch.
    pub async fn run(self, now_s: i64) -> (CachedVerifyResult, Option<String>) {
        let Self { rules, id, mut until_s, path } = self;
        let judged = |judgement, until_s| CachedVerifyResult { rules: id, until_s, judgement };
        let asked = if rules.leaf_only { 1 } else { usize::MAX };
        for pair in path.windows(2).take(asked) {
            match rules.status(&pair[0], &pair[1], now_s).await {
                Ok((OcspStatus::Good, until)) => until_s = until_s.min(until),
                Ok((OcspStatus::Revoked, _)) => return (judged(REVOKED, i64::MAX), None),
                Ok((OcspStatus::Unknown, _)) => return (judged(UNKNOWN, i64::MAX), None),
                // The failure is cached, so the client stays rejected until it reconnects.
                Err(why) => return (judged(FAILED, i64::MAX), Some(why)),
            }
        }
        (judged(Ok(()), until_s), None)
    }
}
