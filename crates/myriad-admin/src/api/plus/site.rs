//! Data sources of a running site.

use std::sync::Arc;

use myriad_base::calendar::format_time_iso8601;
use myriad_exchange::counters::{Counters, Snapshot};
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::Runtime;
use myriad_upstream::GroupControl;
use serde_json::{Value, json};

use super::error::PlusError;

/// Data sources of a site for the API. It is created for each request, so that reloads take effect.
pub(super) struct SiteView {
    pub(super) runtime: Arc<Runtime>,
    pub(super) counters: Arc<[Arc<Counters>]>,
}

/// Configuration block that contains an upstream group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpstreamBlock {
    Http,
    Stream,
}

impl SiteView {
    /// Returns the view of the site that handles a request.
    pub(super) fn of(request: &Request) -> Self {
        let (runtime, counters) = (&request.site.runtime, &request.site.worker.all_counters);
        Self { runtime: Arc::clone(runtime), counters: Arc::clone(counters) }
    }

    /// Returns the counters of each worker thread.
    pub(super) fn workers(&self) -> Vec<Snapshot> {
        self.counters.iter().map(|counters| counters.snapshot()).collect()
    }

    /// Returns the upstream groups of a block, ordered by name, including those without `zone`.
    pub(super) fn groups(&self, block: UpstreamBlock) -> Vec<GroupControl> {
        let mut groups: Vec<_> = match block {
            UpstreamBlock::Http => self.runtime.groups.values().map(|group| group.group.control()).collect(),
            UpstreamBlock::Stream => self.runtime.stream_groups.clone(),
        };
        groups.sort_by(|one, other| one.name().cmp(other.name()));
        groups
    }

    /// Returns the upstream group named `name`. Returns an error if it does not exist, or has no `zone` and is
    /// therefore static.
    pub(super) fn group(&self, block: UpstreamBlock, name: &str) -> Result<GroupControl, PlusError> {
        let group = self.groups(block).into_iter().find(|group| group.name() == name);
        let group = group.ok_or_else(|| PlusError::new(404, "UpstreamNotFound", "upstream not found"))?;
        if group.zone().is_none() {
            return Err(PlusError::new(400, "UpstreamStatic", "upstream is static"));
        }
        Ok(group)
    }
}

/// Formats a time in milliseconds since the epoch as ISO 8601, with milliseconds.
pub(super) fn moment(ms: u64) -> Value {
    let text = format_time_iso8601(ms / 1000, 0);
    let seconds = String::from_utf8_lossy(&text[..19]).into_owned();
    json!(format!("{seconds}.{:03}Z", ms % 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_milliseconds() {
        assert_eq!(moment(1_656_414_944_467), json!("2022-06-28T11:15:44.467Z"));
    }
}
