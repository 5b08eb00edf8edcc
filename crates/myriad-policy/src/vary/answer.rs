//! Variant rule of a response's `Vary` under the directives of a location.

use myriad_http::{Fields, Known};

use super::{BY_DEVICE, VaryError, VaryRule};
use crate::CachePolicy;

impl VaryRule {
    /// Returns the rule of a response's fields: with device classes instead of `User-Agent` if `cache_device_class` is
    /// on, without `Cookie` if shared fetches send no cookies, and without fields that are in the key. Data that was
    /// not sent to the origin creates no variants, nor does data that the key already distinguishes.
    pub fn of(answer: &Fields, rules: &CachePolicy) -> Result<VaryRule, VaryError> {
        let mut rule = VaryRule::parse(answer.known_all(Known::Vary))?;
        let shared = &rules.shared_fetch;
        let is_sent_to_origin = |name: &[u8]| !(shared.on && name == b"cookie" || shared.is_keyed(name));
        if !rule.names.iter().all(|name| is_sent_to_origin(name)) {
            rule = rule.only(is_sent_to_origin);
        }
        if rules.device_class {
            let agent = rule.names.iter_mut().find(|name| ***name == *b"user-agent");
            if let Some(name) = agent {
                *name = BY_DEVICE.into();
                rule.names.sort_unstable();
            }
        }
        Ok(rule)
    }
}
