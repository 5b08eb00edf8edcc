//! Live events over the control socket.

use crate::protocol::monitoring::LiveRequest;
use crate::protocol::{AdminReply, ReplyEnd};

use crate::admin::{Administrator, ReplyResult, ReplySink, block_on};
use myriad_exchange::observation::RecentEventKind;

/// Parses the JSON of a live event about a purge or a finding of the leak guard; `None` if it is invalid.
pub(super) fn parse_recent_event(kind: RecentEventKind, json: &[u8]) -> Option<AdminReply> {
    Some(match kind {
        RecentEventKind::Purge | RecentEventKind::AnonymousPurge => {
            AdminReply::PurgeEvent(serde_json::from_slice(json).ok()?)
        }
        RecentEventKind::Leak => AdminReply::Leak(serde_json::from_slice(json).ok()?),
    })
}

impl Administrator {
    /// Sends ticks (live events with counts), each preceded by the purges and findings of the leak guard since the
    /// previous tick, until the requested number of ticks has been sent (0 for no limit), the client stops reading, or
    /// the configuration is reloaded. Returns an error text if too many clients read live events, or if this server has
    /// no live events.
    pub(crate) fn live(&self, request: &LiveRequest, tell: &mut ReplySink<'_>) -> ReplyResult {
        let mut reader = self.sight()?.live.read().map_err(|why| why.to_string())?;
        let mut ticks = 0;
        while let Some(told) = block_on(reader.next()) {
            for event in told.recent {
                if parse_recent_event(event.kind, &event.json).is_some_and(|event| !tell(event)) {
                    return Ok(ReplyEnd::default());
                }
            }
            let tick = serde_json::from_slice(&told.tick.json).map_err(|error| error.to_string())?;
            ticks += 1;
            if !tell(AdminReply::Tick(Box::new(tick))) || ticks == request.ticks {
                break;
            }
        }
        Ok(ReplyEnd::default())
    }
}
