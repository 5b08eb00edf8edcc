//! The zones and groups of a site in the hands of administrators.

use std::sync::Arc;

use myriad_admin::{Ended, Reply};
use myriad_log::ErrorLog;

use super::memory::Memory;
use myriad_exchange::runtime::Runtime;
use myriad_exchange::sight::Sight;
use myriad_page::PageZone;
use myriad_upstream::GroupControl;

/// Batches of slots that a request over HTTP looks at.
const HTTP_BATCHES: u64 = 2000;

/// The zones and groups of a site, as administrators reach them. Made for each request, so that a reload is noticed.
pub struct Administrator {
    /// In the order of their names.
    pub(crate) zones: Vec<Arc<PageZone>>,
    /// Batches that one list looks at before it says where the next goes on.
    pub(super) patience: u64,
    pub(super) log: ErrorLog,
    /// Whether values of arguments are hidden.
    pub(super) hides_values: bool,
    /// Groups of origins with the block that each stands in, in the order of their names.
    pub(crate) groups: Vec<(&'static str, GroupControl)>,
    /// The memory of the process.
    pub(crate) memory: Memory,
    /// What is seen of the running server; none where nobody looks.
    sight: Option<Arc<Sight>>,
}

/// Takes a line of the answer; false where nobody wants more.
pub(crate) type Tell<'a> = dyn FnMut(Reply) -> bool + 'a;

impl Administrator {
    /// Who may see and change the zones of a runtime.
    pub fn new(runtime: &Runtime) -> Self {
        let mut zones: Vec<_> = runtime.zones.values().cloned().collect();
        zones.sort_by(|one, other| one.zone.name().cmp(other.zone.name()));
        let of_http = runtime.groups.values().map(|group| ("http", group.group.control()));
        let of_stream = runtime.stream_groups.iter().map(|group| ("stream", group.clone()));
        let mut groups: Vec<_> = of_http.chain(of_stream).collect();
        groups.sort_by(|(_, one), (_, other)| one.name().cmp(other.name()));
        Self {
            zones,
            patience: u64::MAX,
            log: runtime.zone_log.clone(),
            hides_values: false,
            groups,
            sight: None,
            memory: Memory::of(runtime),
        }
    }

    /// The same for requests over HTTP, whose answers have an end: a list says where the next one goes on.
    pub fn of_batches(runtime: &Runtime) -> Self {
        Self { patience: HTTP_BATCHES, ..Self::new(runtime) }
    }

    /// The same with the values of arguments hidden unless the reader has shown a secret: keys that reset a password stand in URLs.
    #[must_use]
    pub(crate) fn hiding_values_unless(self, proven: bool) -> Self {
        Self { hides_values: !proven, ..self }
    }

    /// The same who can tell what is seen of the running server.
    #[must_use]
    pub fn seeing(self, sight: &Arc<Sight>) -> Self {
        Self { sight: Some(Arc::clone(sight)), ..self }
    }

    /// What is seen of the running server.
    pub(crate) fn sight(&self) -> Result<&Sight, String> {
        self.sight.as_deref().ok_or_else(|| "nobody looks at this server".to_owned())
    }

    /// The zone of that name, or all of them.
    pub(crate) fn named(&self, name: Option<&str>) -> Result<Vec<&Arc<PageZone>>, String> {
        let Some(name) = name else { return Ok(self.zones.iter().collect()) };
        let zone = self.zones.iter().find(|zone| zone.zone.name() == name);
        zone.map(|zone| vec![zone]).ok_or_else(|| {
            let names: Vec<String> =
                self.zones.iter().map(|zone| format!("\"{}\"", zone.zone.name())).collect();
            let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("there is no zone \"{}\"; there is {there}", myriad_admin::shown(name.as_bytes()))
        })
    }
}

/// How an answer ends: all told, or why not.
pub(crate) type End = Result<Ended, String>;
