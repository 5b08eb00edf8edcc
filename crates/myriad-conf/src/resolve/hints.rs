//! Hints: what works, is often meant otherwise, and costs a site's owner an evening to find.

use super::Builder;
use crate::{model::LocationConf, settings::Handler};

impl Builder<'_> {
    /// What the protocol of a location's origin advises; each advice is given once.
    pub(super) fn hint_at_origin(&mut self, location: &LocationConf) {
        let Some(Handler::Origin { protocol, target, .. }) = &location.settings.handler else { return };
        let Some(language) = self.registry.language_of(*protocol) else { return };
        let origin = location.settings.origin(*protocol);
        let Some(hint) = (language.hint)(location, origin, target) else { return };
        if !self.findings.iter().any(|finding| finding.message == hint.message) {
            self.findings.push(hint);
        }
    }
}
