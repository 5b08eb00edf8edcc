//! Compilation of `acme_issuer` and `acme_certificate` into tasks for the ACME agents.

use std::sync::Arc;

use myriad_conf::model::ServerConf;
use myriad_log::LogLevel;
use myriad_tls::acme_client::CertificateSlot;
use myriad_tls::{TlsFileReader, planned_issuers};

use super::RuntimeCompiler;
use myriad_exchange::runtime::AcmePlan;

impl RuntimeCompiler<'_> {
    /// Returns the slot that holds the ACME certificate of a server; `None` without `acme_certificate`, or if its
    /// issuer is not defined. Servers that request the same certificate share a slot, which survives reloads.
    pub(super) fn acme_slot(&mut self, server: &ServerConf) -> Option<Arc<CertificateSlot>> {
        let log = self.error_log(&self.http.settings.log.error);
        let state = (self.environment.prefix, self.environment.tls_files);
        let warn = |why: &str| log.write(LogLevel::Warn, None, format_args!("{why}"));
        self.environment.retained.acme.slot(server, self.http, state, warn)
    }

    /// Returns the tasks of the ACME agents (issuers and the certificates to obtain from each); `None` if the
    /// configuration defines no `acme_issuer`.
    pub(super) fn acme_plan(&mut self) -> Option<Box<AcmePlan>> {
        let http = self.http;
        if http.acme_issuers.is_empty() {
            return None;
        }
        let resolver = self.resolver(&http.settings);
        let files = TlsFileReader { read: self.environment.tls_files, folder: self.environment.folder };
        let orders = &self.environment.retained.acme;
        let (issuers, errors) = planned_issuers(self.model, self.environment.prefix, files, orders);
        self.errors.extend(errors);
        Some(Box::new(AcmePlan {
            challenges: Arc::clone(&orders.challenges),
            issuers,
            resolver: resolver.map(|place| (Arc::clone(&self.resolvers[place.index]), place.timeout_ms)),
            log: self.error_log(&http.settings.log.error),
        }))
    }
}
