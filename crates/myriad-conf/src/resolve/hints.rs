//! Hints about configurations that are valid, but often differ from the intention and are hard to debug.

use super::Builder;
use crate::{model::LocationConf, settings::Handler};

impl Builder<'_> {
    /// Adds the hint that the origin protocol has about a location, if any, unless the same hint was already given.
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
