//! Rule by which a response varies, derived from its `Vary` and the cache directives of the location.

use myriad_http::{Fields, Known};

use super::{BY_DEVICE, VaryError, VaryRule};
use crate::CachePolicy;

impl VaryRule {
    /// Returns the rule by which a response varies: that of its `Vary`, with the device class instead of `User-Agent`
    /// under `cache_device_class`, without `Cookie` if shared fetches only send listed fields, and without fields whose
    /// normalized value is in the cache key. Data that is not sent to the origin, or that the cache key already
    /// distinguishes, creates no variants. Fails for `*`, and if the names are too long.
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
