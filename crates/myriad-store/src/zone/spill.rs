//! Storing of bodies too long for memory, once their files are complete.

use std::sync::Arc;

use myriad_disk::index::FileName;
use myriad_disk::{SpillWriter, StagedFile};
use parking_lot::Mutex;

use crate::disk::DiskTier;
use crate::flight::FlightLead;
use crate::shard::FlightRole;
use crate::{Body, Completion, Metadata, Object, Selection};

/// Stores the object of a body too long for memory once the file of the body is complete.
pub(crate) fn finish_spill<M: Metadata>(
    lead: FlightLead<M>,
    selection: Option<Selection>,
    spill: SpillWriter,
    completion: Completion<M>,
) {
    // If the job is dropped without running, the lead is dropped with it, which aborts the flight.
    let parts = Mutex::new(Some((lead, selection, completion)));
    spill.finish(move |stage| {
        let Some((lead, selection, completion)) = parts.lock().take() else { return };
        store_spilled(lead, selection, completion, stage);
    });
}

fn store_spilled<M: Metadata>(
    mut lead: FlightLead<M>,
    selection: Option<Selection>,
    completion: Completion<M>,
    stage: Option<StagedFile>,
) {
    let (zone, flight, now) = (lead.zone.clone(), Arc::clone(&lead.flight), completion.now);
    let object = stage.zip(zone.tier()).and_then(|(stage, tier)| {
        let is_wanted = || {
            let mut shard = zone.shard(flight.key.as_ref());
            shard.flight_mut(&flight).is_some_and(|record| record.role != FlightRole::Purged)
        };
        let passes = |tier: &DiskTier<M>, name: FileName, object: &Object<M>| {
            zone.survives_purges(tier, name, object, false)
        };
        let make = |body: Body| flight.object(body, selection, completion);
        tier.commit_spilled(stage, is_wanted, passes, make)
    });
    match object {
        Some(object) => _ = lead.store_spilled(&object),
        None => lead.finish_oversized(now, zone.limits().oversized_pass_ms),
    }
}
