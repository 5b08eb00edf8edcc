//! Response with the last purges of the zones.

use crate::protocol::monitoring::{PurgeEvent, PurgesRequest, TextChangeReport};
use crate::protocol::{AdminReply, ReplyEnd};
use myriad_store::page::{PurgeLogEntry, TextChange};

use crate::admin::{Administrator, ReplyResult, ReplySink};

/// Default and maximum value of `limit` in requests for the last purges.
const PURGES: (u64, u64) = (100, 1000);

impl Administrator {
    pub(crate) fn purges(&self, request: &PurgesRequest, tell: &mut ReplySink<'_>) -> ReplyResult {
        let limit = limit(request.limit, PURGES)?;
        let mut notes = Vec::new();
        for zone in self.zones_named(request.zone.as_deref())? {
            notes.extend(zone.purges.after(0).1.into_iter().map(|note| (zone.zone.name(), note)));
        }
        // The sorts are stable: purges of a zone with equal times retain their order. Purges that anonymous clients caused
        // do not displace others.
        notes.reverse();
        notes.sort_by_key(|(_, note)| (note.is_anonymous, std::cmp::Reverse(note.at_ms)));
        notes.truncate(limit);
        notes.sort_by_key(|(_, note)| std::cmp::Reverse(note.at_ms));
        for (zone, note) in notes {
            let event = event(zone, note);
            if !tell(AdminReply::PurgeEvent(Box::new(event))) {
                break;
            }
        }
        Ok(ReplyEnd::default())
    }
}

/// Returns the requested limit, or the default `usual` if none was requested. Returns an error text if it is 0 or above
/// `most`.
pub(super) fn limit(asked: Option<u64>, (usual, most): (u64, u64)) -> Result<usize, String> {
    let limit = asked.unwrap_or(usual);
    if limit == 0 || limit > most {
        return Err(format!("\"limit\" must be a number from 1 to {most}"));
    }
    Ok(limit as usize)
}

/// Converts an entry of a cache zone's purge log to an event for monitoring.
pub(super) fn event(zone: &str, note: PurgeLogEntry) -> PurgeEvent {
    PurgeEvent {
        at_ms: note.at_ms,
        zone: zone.to_owned(),
        kind: note.kind.to_owned(),
        what: note.what,
        soft: note.soft,
        by: note.by.as_str().to_owned(),
        pages: note.pages,
        at_least: note.at_least,
        number: note.number,
        change: note.change.map(|change| {
            let TextChange { page, near, before, after } = *change;
            TextChangeReport { page, near, before, after }
        }),
    }
}
