//! [`Administrator`]: access to the zones and upstream groups of a site.

use std::sync::Arc;

use crate::protocol::{AdminReply, ReplyEnd};
use myriad_log::ErrorLog;

use super::memory::MemorySources;
use myriad_exchange::observation::SiteObservation;
use myriad_exchange::runtime::Runtime;
use myriad_store::page::{PageZone, PurgePublisher};
use myriad_upstream::GroupControl;

/// Maximum number of batches (groups of stored pages) that a list requested by HTTP scans before it stops with a
/// continuation position.
const HTTP_BATCHES: u64 = 2000;

/// Access to the cache zones and upstream groups of a site, for administration. It is created for each use, so that
/// reloads take effect.
pub struct Administrator {
    /// Cache zones, ordered by name.
    pub(crate) zones: Vec<Arc<PageZone>>,
    /// Maximum number of batches (groups of stored pages) that a list scans before it stops with a continuation
    /// position.
    pub(super) max_batches: u64,
    pub(super) log: ErrorLog,
    /// True if the values of query arguments in URLs and keys are hidden from the client.
    pub(super) hides_values: bool,
    /// Access to the cluster of this server, for its status and commands; `None` if the configuration has no cluster.
    pub(super) cluster: Option<Arc<dyn PurgePublisher>>,
    /// Upstream groups with their configuration block (`http` or `stream`), ordered by name.
    pub(crate) groups: Vec<(&'static str, GroupControl)>,
    /// Sources of the memory figures of the process.
    pub(crate) memory: MemorySources,
    /// Rankings, history and live events of the running server, for monitoring; `None` if this interface does not
    /// provide them.
    sight: Option<Arc<SiteObservation>>,
}

/// Function that receives a line of the response; returns false if no further lines are wanted.
pub(crate) type ReplySink<'a> = dyn FnMut(AdminReply) -> bool + 'a;

impl Administrator {
    /// Creates the access to the cache zones and upstream groups of a configuration, without a limit on the number of
    /// batches that a list scans.
    pub fn new(runtime: &Runtime) -> Self {
        let mut zones: Vec<_> = runtime.zones.values().cloned().collect();
        zones.sort_by(|one, other| one.zone.name().cmp(other.zone.name()));
        let of_http = runtime.groups.values().map(|group| ("http", group.group.control()));
        let of_stream = runtime.stream_groups.iter().map(|group| ("stream", group.clone()));
        let mut groups: Vec<_> = of_http.chain(of_stream).collect();
        groups.sort_by(|(_, one), (_, other)| one.name().cmp(other.name()));
        Self {
            zones,
            max_batches: u64::MAX,
            log: runtime.zone_log.clone(),
            hides_values: false,
            cluster: runtime.cluster.lock().clone(),
            groups,
            sight: None,
            memory: MemorySources::of(runtime),
        }
    }

    /// Creates the access for HTTP requests: a list stops with a continuation position after 2,000 batches.
    pub fn with_batches(runtime: &Runtime) -> Self {
        Self { max_batches: HTTP_BATCHES, ..Self::new(runtime) }
    }

    /// Hides the values of query arguments unless `proven` (a secret, a password or `auth_request` has authenticated
    /// the client): URLs may contain keys that reset a password.
    #[must_use]
    pub(crate) fn hide_values_unless(self, proven: bool) -> Self {
        Self { hides_values: !proven, ..self }
    }

    /// Adds the rankings, history and live events of the running server, which monitoring requests need.
    #[must_use]
    pub fn with_sight(self, sight: &Arc<SiteObservation>) -> Self {
        Self { sight: Some(Arc::clone(sight)), ..self }
    }

    /// Returns the rankings, history and live events of the running server; an error text for the client if there are
    /// none.
    pub(crate) fn sight(&self) -> Result<&SiteObservation, String> {
        self.sight.as_deref().ok_or_else(|| "this server does not record observations".to_owned())
    }

    /// Returns the zone named `name`, or all zones for `None`. Returns an error text for the client if no such zone
    /// exists.
    pub(crate) fn zones_named(&self, name: Option<&str>) -> Result<Vec<&Arc<PageZone>>, String> {
        let Some(name) = name else { return Ok(self.zones.iter().collect()) };
        let zone = self.zones.iter().find(|zone| zone.zone.name() == name);
        zone.map(|zone| vec![zone]).ok_or_else(|| {
            let names: Vec<String> =
                self.zones.iter().map(|zone| format!("\"{}\"", zone.zone.name())).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!(
                "unknown zone \"{}\"; available zones: {there}",
                crate::protocol::escape_bytes(name.as_bytes())
            )
        })
    }
}

/// Result of a request: the last line of a complete response, or an error text for the client.
pub(crate) type ReplyResult = Result<ReplyEnd, String>;
