//! The rule that a place's directives make of an answer's `Vary`.

use myriad_http::{Fields, Known};

use super::{BY_DEVICE, VaryError, VaryRule};
use crate::Rules;

impl VaryRule {
    /// The rule that an answer's fields make: by device classes for `User-Agent` where `cache_device_class` says so, and
    /// never by `Cookie` where shared fetches send no cookies, nor by what the key holds: what the origin was not told makes
    /// no variants, nor does what is told apart already.
    pub fn of(answer: &Fields, rules: &Rules) -> Result<VaryRule, VaryError> {
        let mut rule = VaryRule::parse(answer.known_all(Known::Vary))?;
        let shared = &rules.shared_fetch;
        let is_told = |name: &[u8]| !(shared.on && name == b"cookie" || shared.is_keyed(name));
        if !rule.names.iter().all(|name| is_told(name)) {
            rule = rule.only(is_told);
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
