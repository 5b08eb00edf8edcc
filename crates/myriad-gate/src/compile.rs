//! From settings to gates: which checks there are, and in which order they are asked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use myriad_conf::settings::Settings;
use myriad_script::Template;

use super::access::{AccessSettings, Satisfy};
use super::auth_basic::{self, AuthBasicSettings, Passwords};
use super::limit_zone::{LimitKind, LimitZoneConf, Tables};
use super::{access, auth_request, limit_conn, limit_req, more_input_headers};
use myriad_exchange::exchange::{Check, Gate};
use myriad_exchange::runtime::{LimitZoneCounts, SettingsCompiler};

/// What checks know that outlives a reload.
#[derive(Default)]
pub struct Kept {
    requests: Tables<limit_req::RequestTable>,
    connections: Tables<limit_conn::ConnectionTable>,
    passwords: Arc<Passwords>,
}

impl Kept {
    /// The configuration with these zones runs: tables take its sizes, those of zones that are gone go.
    pub fn settle(&mut self, zones: &[LimitZoneConf]) {
        self.requests.settle(zones);
        self.connections.settle(zones);
    }
}

/// Makes the gates of a configuration's places.
#[derive(Default)]
pub struct Gates {
    requests: limit_req::Zones,
    connections: limit_conn::Zones,
    passwords: Arc<Passwords>,
    folder: PathBuf,
}

impl Gates {
    /// With the zones of a configuration and their keys, compiled. Relative names of password files start from `folder`.
    pub fn new<'a>(
        zones: impl Iterator<Item = (&'a LimitZoneConf, Template)>,
        kept: &mut Kept,
        folder: &Path,
    ) -> Self {
        let mut gates =
            Self { folder: folder.to_owned(), passwords: Arc::clone(&kept.passwords), ..Self::default() };
        for (conf, key) in zones {
            match conf.kind {
                LimitKind::Requests { rate } => gates.requests.add(kept.requests.zone(conf, key), rate),
                LimitKind::Connections => gates.connections.add(kept.connections.zone(conf, key)),
            }
        }
        gates
    }

    /// What the zones have decided so far.
    pub fn counts(&self) -> LimitZoneCounts {
        LimitZoneCounts {
            requests: self.requests.counts().collect(),
            connections: self.connections.counts().collect(),
            sessions: Vec::new(),
        }
    }

    /// The gate of a place; none where everybody may come in and nobody is told of it. `told` are those who are, in order.
    pub fn gate(
        &self,
        settings: &Settings,
        compile: &mut dyn SettingsCompiler,
        told: impl IntoIterator<Item = Box<dyn Check>>,
    ) -> Option<Arc<Gate>> {
        // nginx's order.
        let checks = [
            more_input_headers::check(settings, compile),
            limit_req::check(settings, &self.requests, false),
            limit_conn::check(settings, &self.connections, false),
            access::check(settings.feature()),
            auth_basic::check(settings, &self.folder, &self.passwords, compile),
            auth_request::check(settings, compile),
        ];
        let checks: Vec<_> = checks.into_iter().flatten().chain(told).collect();
        let any = settings.feature::<AccessSettings>().satisfy == Satisfy::Any;
        let delay_ms = settings.feature::<AuthBasicSettings>().delay;
        (!checks.is_empty()).then(|| Arc::new(Gate { checks, any, delay_ms }))
    }

    /// The limits of a place that count what goes to its origin alone; none where there are none.
    pub fn origin_gate(&self, settings: &Settings) -> Option<Arc<Gate>> {
        let checks = [
            limit_req::check(settings, &self.requests, true),
            limit_conn::check(settings, &self.connections, true),
        ];
        let checks: Vec<_> = checks.into_iter().flatten().collect();
        (!checks.is_empty()).then(|| Arc::new(Gate { checks, any: false, delay_ms: 0 }))
    }
}

#[cfg(test)]
mod tests;
