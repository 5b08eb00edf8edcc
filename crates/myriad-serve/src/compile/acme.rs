//! Compilation of `acme_issuer` and `acme_certificate` into tasks for the issuers' agents.

use std::sync::Arc;

use myriad_conf::model::ServerConf;
use myriad_log::Level;
use myriad_tls::acme_client::Slot;
use myriad_tls::{Files, planned_issuers};

use super::Compile;
use myriad_exchange::runtime::AcmePlan;

impl Compile<'_> {
    /// Returns the slot of a server's ordered certificate. Equal orders share a slot, which survives reloads.
    pub(super) fn acme_slot(&mut self, server: &ServerConf) -> Option<Arc<Slot>> {
        let log = self.error_log(&self.http.settings.log.error);
        let state = (self.around.prefix, self.around.tls_files);
        let warn = |why: &str| log.write(Level::Warn, None, format_args!("{why}"));
        self.around.kept.acme.slot(server, self.http, state, warn)
    }

    /// Returns the tasks of the issuers; `None` without issuers.
    pub(super) fn acme_plan(&mut self) -> Option<Box<AcmePlan>> {
        let http = self.http;
        if http.acme_issuers.is_empty() {
            return None;
        }
        let resolver = self.resolver(&http.settings);
        let files = Files { read: self.around.tls_files, folder: self.around.folder };
        let orders = &self.around.kept.acme;
        let (issuers, errors) = planned_issuers(self.model, self.around.prefix, files, orders);
        self.errors.extend(errors);
        Some(Box::new(AcmePlan {
            challenges: Arc::clone(&orders.challenges),
            issuers,
            resolver: resolver.map(|place| (Arc::clone(&self.resolvers[place.index]), place.timeout_ms)),
            log: self.error_log(&http.settings.log.error),
        }))
    }
}
