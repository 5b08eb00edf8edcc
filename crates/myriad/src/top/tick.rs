//! What the control socket tells of a second, as far as it is shown. What is absent is nothing: another version of the server may tell
//! more or less.

use serde::Deserialize;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tick {
    pub(super) at_ms: u64,
    pub(super) interval_ms: u64,
    pub(super) started_ms: u64,
    pub(super) reloads: u64,
    pub(super) total: Counts,
    pub(super) delta: Counts,
    pub(super) first_byte: FirstByte,
    pub(super) connections: Connections,
    pub(super) origins: Vec<Origin>,
    pub(super) queues: Vec<Queue>,
    pub(super) zones: Vec<Zone>,
    pub(super) workers: Vec<Worker>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    pub(super) requests: u64,
    pub(super) bytes: u64,
    pub(super) fetches: u64,
    pub(super) accepted: u64,
    pub(super) status_4xx: u64,
    pub(super) status_5xx: u64,
    pub(super) hit: u64,
    pub(super) miss: u64,
    pub(super) expired: u64,
    pub(super) stale: u64,
    pub(super) updating: u64,
    pub(super) revalidated: u64,
    pub(super) bypass: u64,
    pub(super) uncached: u64,
}

impl Counts {
    /// Answered from the cache.
    pub(super) fn hits(&self) -> u64 {
        self.hit + self.stale + self.updating + self.revalidated
    }

    /// The cache was asked, and an origin had to answer.
    pub(super) fn misses(&self) -> u64 {
        self.miss + self.expired
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FirstByte {
    pub(super) all: Option<Times>,
    pub(super) hit: Option<Times>,
    pub(super) miss: Option<Times>,
    pub(super) other: Option<Times>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Times {
    pub(super) count: u64,
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Connections {
    pub(super) active: u64,
    pub(super) reading: u64,
    pub(super) writing: u64,
    pub(super) waiting: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Origin {
    pub(super) group: String,
    pub(super) server: String,
    pub(super) state: String,
    pub(super) active: u64,
    pub(super) requests: u64,
    pub(super) failures: u64,
    pub(super) children: Option<u64>,
    pub(super) children_idle: Option<u64>,
    pub(super) listen_queue: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Queue {
    pub(super) name: String,
    pub(super) asking: u64,
    pub(super) waiting: u64,
    pub(super) limit: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "they are the names of members of JSON")]
pub(super) struct Zone {
    pub(super) zone: String,
    pub(super) memory: Tier,
    pub(super) disk: Option<Tier>,
    pub(super) requests: Counts,
    pub(super) fetching: u64,
    pub(super) purged: u64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tier {
    pub(super) pages: u64,
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) limit_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "they are the names of members of JSON")]
pub(super) struct Worker {
    pub(super) worker: u64,
    pub(super) requests: u64,
    pub(super) active: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tops {
    pub(super) pages: Vec<Page>,
}

/// A page of a ranking.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Page {
    pub(super) url: String,
    pub(super) count: f64,
    pub(super) over: f64,
    pub(super) mean_ms: Option<f64>,
    pub(super) slowest_ms: Option<f64>,
    pub(super) status: u16,
    pub(super) cache: Option<String>,
    pub(super) reason: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Purge {
    pub(super) at_ms: u64,
    pub(super) zone: String,
    pub(super) kind: String,
    pub(super) what: String,
    pub(super) by: String,
    pub(super) soft: bool,
    pub(super) pages: Option<u64>,
}

/// A line of an answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Line {
    Tick(Box<Tick>),
    PurgeEvent(Purge),
    Tops(Tops),
    End(serde::de::IgnoredAny),
    Error(String),
}
