//! `ssl_ocsp`: revocation check of client certificates, before a connection's first request.
//!
//! ```text
//! a trusted path: leaf, authorities, root
//!   for each but the root (or for the leaf alone): cached? --no--> the responder, on a thread
//!        good -> the next    revoked, unknown, no response -> rejected
//! ```
//!
//! Only responders named in a trusted path or in `ssl_ocsp_responder` are queried: a certificate of an unknown
//! authority causes no query.

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

/// Results with OpenSSL's numbers and nginx's texts.
const REVOKED: VerifyResult = Err((23, "certificate revoked"));
pub(super) const FAILED: VerifyResult = Err((74, "certificate status request failed"));
const UNKNOWN: VerifyResult = Err((75, "certificate status unknown"));

/// OCSP settings of a server.
pub(super) struct OcspRules {
    leaf_only: bool,
    /// URL of `ssl_ocsp_responder`.
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
    /// Returns the settings; `None` if OCSP is off. Names are resolved by the system unless changed.
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

    /// Returns the settings with this name resolution.
    pub(super) fn with_resolver(&self, resolve: Resolve) -> Arc<Self> {
        let (responder, cache) = (self.responder.clone(), self.cache.clone());
        Arc::new(Self { leaf_only: self.leaf_only, responder, cache, resolve })
    }

    /// Returns the cached status of a certificate by its key, and the end of its validity.
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
            return Err("the certificate cannot be parsed".to_owned());
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

/// Responses by the keys of certificates, with the end of their validity.
type StatusCache = Mutex<Lru<Box<[u8]>, (OcspStatus, i64)>>;

/// Caches of the process by name, while a configuration uses them.
static CACHES: LazyLock<Mutex<HashMap<String, Weak<StatusCache>>>> = LazyLock::new(Mutex::default);

/// Returns the cache with that name: one for all servers and workers, over reloads.
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

/// Trusted certificates of a client, whose revocation must be checked.
pub struct StatusCheck {
    pub(super) rules: Arc<OcspRules>,
    /// Number of the server's rules.
    pub(super) id: u64,
    /// Last second of the validity of the path.
    pub(super) until_s: i64,
    /// Path in DER, from the client's certificate to the root.
    pub(super) way: Vec<Vec<u8>>,
}

impl StatusCheck {
    /// Queries the certificates in order, up to the first that is not good. The caller must store the result in the
    /// connection (`TlsFacts::judged`); a query error is for the log.
    pub async fn run(self, now_s: i64) -> (CachedVerifyResult, Option<String>) {
        let Self { rules, id, mut until_s, way } = self;
        let judged = |judgement, until_s| CachedVerifyResult { rules: id, until_s, judgement };
        let asked = if rules.leaf_only { 1 } else { usize::MAX };
        for pair in way.windows(2).take(asked) {
            match rules.status(&pair[0], &pair[1], now_s).await {
                Ok((OcspStatus::Good, until)) => until_s = until_s.min(until),
                Ok((OcspStatus::Revoked, _)) => return (judged(REVOKED, i64::MAX), None),
                Ok((OcspStatus::Unknown, _)) => return (judged(UNKNOWN, i64::MAX), None),
                // A rejection remains until the client reconnects.
                Err(why) => return (judged(FAILED, i64::MAX), Some(why)),
            }
        }
        (judged(Ok(()), until_s), None)
    }
}
