//! Which requests codings are offered to (`gzip_http_version`, `gzip_disable`, `gzip_proxied`).

use myriad_http::{Known, Version};
use myriad_page::ProxiedFacts;

use super::Request;
use super::agents::is_msie6;
use crate::runtime::Offer;

impl Offer {
    /// `gzip_http_version`, `gzip_disable` and `gzip_proxied`.
    pub fn covers(&self, request: &Request, facts: ProxiedFacts) -> bool {
        if request.received.head.version() == Version::Http10 && !self.http_1_0 {
            return false;
        }
        if let Some(agent) = request.received.head.known(Known::UserAgent)
            && (self.disable_msie6 && is_msie6(agent)
                || self.disable.iter().any(|regex| regex.is_match(agent).unwrap_or(false)))
        {
            return false;
        }
        !request.received.head.fields().has(Known::Via) || self.proxied_allows(request, facts)
    }

    /// As nginx: `Expires` decides where there is one, else `Cache-Control`, else what the answer has not.
    fn proxied_allows(&self, request: &Request, facts: ProxiedFacts) -> bool {
        let rules = self.proxied;
        if rules.any || rules.auth && request.received.head.fields().has(Known::Authorization) {
            return true;
        }
        if rules.is_off() {
            return false;
        }
        if let Some(expired) = facts.expired {
            return rules.expired && expired;
        }
        if facts.has_cache_control {
            return rules.no_cache && facts.no_cache
                || rules.no_store && facts.no_store
                || rules.private && facts.private;
        }
        !(rules.no_last_modified && facts.has_last_modified || rules.no_etag && facts.has_etag)
    }
}
