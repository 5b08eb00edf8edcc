//! Values that are no leak although a response contains them.

use myriad_policy::LeakKind;

use super::findings::name_in_page;
use super::verification::Verification;
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::CachePlace;

/// Values that are no leak: those that occur in the page by coincidence, or, in the response to a verification, all except
/// the value to verify.
pub(super) struct Excuses<'a> {
    pub(super) request: &'a Request,
    pub(super) cache: &'a CachePlace,
    pub(super) verification: Option<&'a Verification>,
}

impl Excuses<'_> {
    /// Returns whether a value is no leak.
    pub(super) fn has(&self, kind: LeakKind, value: &[u8]) -> bool {
        if let Some(sought) = self.verification {
            return kind != sought.kind || *value != *sought.value;
        }
        let now = myriad_net::clock::now_ms();
        self.cache.zone.leaks.is_coincidence(&name_in_page(self.request, kind, value), now)
    }
}
