//! Compilation of settings to access gates: the checks of a location and their order.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use myriad_conf::model::HttpConf;
use myriad_conf::settings::Settings;
use myriad_script::Template;

use super::access::{AccessSettings, Satisfy};
use super::auth_basic::{self, AuthBasicSettings, PasswordVerifier};
use super::limit_zone::{LimitBlock, LimitKind, LimitZoneConf, SharedLimitZone, ZoneTables, limit_zones};
use super::{access, auth_request, limit_conn, limit_req, more_input_headers};
use myriad_exchange::exchange::{AccessGate, Check};
use myriad_exchange::runtime::{LimitZoneCounts, SettingsCompiler};

/// State of access checks that survives a reload: counts of `limit_req` and `limit_conn` by key, and recently verified
/// passwords.
#[derive(Default)]
pub struct PersistentCheckState {
    requests: ZoneTables<limit_req::RequestTable>,
    connections: ZoneTables<limit_conn::ConnectionTable>,
    passwords: Arc<PasswordVerifier>,
}

impl PersistentCheckState {
    /// Adopts the limit zones of a configuration that has become active: resizes their tables of counts, and removes
    /// the tables of zones that no longer exist.
    pub fn apply_zones(&mut self, zones: &[LimitZoneConf]) {
        self.requests.apply_zones(zones);
        self.connections.apply_zones(zones);
    }

    /// Returns those of the limit zones of the active configuration whose limits apply to a cluster (`cluster=on`).
    pub fn shared_zones(&self, http: &HttpConf) -> Vec<SharedLimitZone> {
        let (zones, bursts) = (limit_zones(http), limit_req::max_bursts(http));
        let max_burst = |zone: &LimitZoneConf| bursts.get(&*zone.name).copied().unwrap_or(0);
        let mut shared = self.requests.shared(zones, LimitBlock::Http, max_burst);
        shared.append(&mut self.connections.shared(zones, LimitBlock::Http, |_| 0));
        shared
    }
}

/// Builder of the access gates of a configuration's locations: the checks (`allow`, `auth_basic`, `limit_req` and
/// others) that a request must pass.
#[derive(Default)]
pub struct GateBuilder {
    requests: limit_req::RequestZones,
    connections: limit_conn::ConnectionZones,
    passwords: Arc<PasswordVerifier>,
    folder: PathBuf,
}

impl GateBuilder {
    /// Creates the builder. `zones` are the limit zones of the configuration with their compiled keys; their tables are
    /// taken from `persistent` if it has a table for the zone with the same key, and otherwise created there. Relative
    /// names of password files are resolved against `folder`.
    pub fn new<'a>(
        zones: impl Iterator<Item = (&'a LimitZoneConf, Template)>,
        persistent: &mut PersistentCheckState,
        folder: &Path,
    ) -> Self {
        let mut gates = Self {
            folder: folder.to_owned(),
            passwords: Arc::clone(&persistent.passwords),
            ..Self::default()
        };
        for (conf, key) in zones {
            match conf.kind {
                LimitKind::Requests { rate } => gates.requests.add(persistent.requests.zone(conf, key), rate),
                LimitKind::Connections => gates.connections.add(persistent.connections.zone(conf, key)),
            }
        }
        gates
    }

    /// Returns the counters of each zone of `limit_req` and `limit_conn`, by zone name. `sessions` stays empty, because
    /// `stream` counts its sessions separately.
    pub fn counts(&self) -> LimitZoneCounts {
        LimitZoneCounts {
            requests: self.requests.counts().collect(),
            connections: self.connections.counts().collect(),
            sessions: Vec::new(),
        }
    }

    /// Returns the access checks of a location; `None` if it has none. `further_checks` run after the built-in checks.
    pub fn gate(
        &self,
        settings: &Settings,
        compile: &mut dyn SettingsCompiler,
        further_checks: impl IntoIterator<Item = Box<dyn Check>>,
    ) -> Option<Arc<AccessGate>> {
        // The order of the checks is that of nginx.
        let checks = [
            more_input_headers::check(settings, compile),
            limit_req::check(settings, &self.requests, false),
            limit_conn::check(settings, &self.connections, false),
            access::check(settings.feature()),
            auth_basic::check(settings, &self.folder, &self.passwords, compile),
            auth_request::check(settings, compile),
        ];
        let checks: Vec<_> = checks.into_iter().flatten().chain(further_checks).collect();
        let any = settings.feature::<AccessSettings>().satisfy == Satisfy::Any;
        let delay_ms = settings.feature::<AuthBasicSettings>().delay;
        (!checks.is_empty()).then(|| Arc::new(AccessGate { checks, any, delay_ms }))
    }

    /// Returns the gate that runs before a request is sent to the origin of a location: `limit_req` and `limit_conn`
    /// with `origin_only`. `None` if the location has none.
    pub fn origin_gate(&self, settings: &Settings) -> Option<Arc<AccessGate>> {
        let checks = [
            limit_req::check(settings, &self.requests, true),
            limit_conn::check(settings, &self.connections, true),
        ];
        let checks: Vec<_> = checks.into_iter().flatten().collect();
        (!checks.is_empty()).then(|| Arc::new(AccessGate { checks, any: false, delay_ms: 0 }))
    }
}

#[cfg(test)]
mod tests;
