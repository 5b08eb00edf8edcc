//! Memory limits of cache zones, which depend on the memory pressure.

use crate::memory::PressureStage;

/// Memory of the process at which cache zones stop to shrink, in percent of its limit.
const AIM: u64 = 80;
/// Memory of the process up to which cache zones may grow, in percent of its limit. Lower than the value at which they
/// shrink.
const FILLS_TO: u64 = 82;

/// Memory use and limits of a cache zone, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneMemory {
    /// Memory that the zone uses, in bytes.
    pub used: u64,
    /// Configured memory limit of the zone (`memory=`), in bytes.
    pub configured: u64,
    /// Current memory limit of the zone, in bytes, between its minimum and the configured limit; set by
    /// [`update_limits`].
    pub now: u64,
}

impl ZoneMemory {
    /// Returns the minimum limit: 1 MB for a page being fetched, and 1/32 of the configured limit, which covers the
    /// fixed structures (1/64). At most the configured limit.
    fn min_limit(self) -> u64 {
        (self.configured / 32 + (1 << 20)).min(self.configured)
    }

    /// Returns the bytes in use above the minimum limit, which the zone could free.
    pub fn reclaimable(self) -> u64 {
        self.used.saturating_sub(self.min_limit())
    }
}

/// Updates the current limits of zones. The process uses `resident` bytes of `limit`; with a limit of 0, all zones get
/// their configured limits.
///
/// Without pressure, the limit of a zone is its current size plus a share of the memory that the process has left
/// below 82 % of its limit; at least the minimum limit and at most the configured limit. Even zones that grow quickly
/// therefore do not exceed the limit of the process before the next call.
///
/// Under pressure, no limit of a zone grows, and zones must free the excess of the process over 80 % of its limit, in
/// proportion to their reclaimable memory. One call demands at most 1/8 of all reclaimable memory, or 1/2 if the process
/// has reached its limit: freed memory reaches the system only after some tenths of a second, and zones must not be
/// emptied meanwhile.
pub fn update_limits(zones: &mut [ZoneMemory], stage: PressureStage, resident: u64, limit: u64) {
    if limit == 0 {
        return zones.iter_mut().for_each(|zone| zone.now = zone.configured);
    }
    if stage == PressureStage::Normal {
        return distribute_free_memory(zones, percent(limit, FILLS_TO).saturating_sub(resident));
    }
    let part = if resident >= limit { 2 } else { 8 };
    let spare: u64 = zones.iter().map(|zone| zone.reclaimable()).sum();
    let goes = resident.saturating_sub(percent(limit, AIM)).min(spare / part);
    for zone in zones {
        let left = (zone.used - proportional_share(goes, zone.reclaimable(), spare)).max(zone.min_limit());
        zone.now = zone.now.min(left).max(zone.min_limit());
    }
}

/// Sets the limit of each zone to its used memory and a share of `room` free bytes in proportion to its configured
/// limit; at least its minimum limit and at most its configured limit.
fn distribute_free_memory(zones: &mut [ZoneMemory], room: u64) {
    let all = zones.iter().map(|zone| zone.configured).sum();
    for zone in zones {
        let most = zone.used.saturating_add(proportional_share(room, zone.configured, all));
        zone.now = most.max(zone.min_limit()).min(zone.configured);
    }
}

fn proportional_share(whole: u64, part: u64, of: u64) -> u64 {
    (u128::from(whole) * u128::from(part) / u128::from(of.max(1))) as u64
}

fn percent(whole: u64, part: u64) -> u64 {
    (u128::from(whole) * u128::from(part) / 100) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn zone(used: u64, configured: u64) -> ZoneMemory {
        ZoneMemory { used: used * MIB, configured: configured * MIB, now: configured * MIB }
    }

    #[test]
    fn zones_give_up_a_part_in_proportion_to_what_they_hold() {
        let mut zones = [zone(96, 128), zone(48, 64), zone(0, 64)];
        update_limits(&mut zones, PressureStage::Shrinking, 90 * MIB, 100 * MIB);
        let goes = |zone: ZoneMemory| (zone.used - zone.now) as f64 / MIB as f64;
        assert!((goes(zones[0]) + goes(zones[1]) - 10.0).abs() < 0.1, "{zones:?}");
        assert!((1.9..2.2).contains(&(goes(zones[0]) / goes(zones[1]))), "{zones:?}");
        assert_eq!(zones[2].now, zones[2].min_limit(), "an empty one may not fill now");
    }

    #[test]
    fn a_step_takes_a_part_of_what_there_is_and_more_beyond_the_limit() {
        let after = |resident| {
            let mut zones = [zone(1024, 1024)];
            update_limits(&mut zones, PressureStage::Shrinking, resident * MIB, 1000 * MIB);
            zones[0].used - zones[0].now
        };
        let spare = zone(1024, 1024).reclaimable();
        assert_eq!(after(999), spare / 8);
        assert_eq!(after(5000), spare / 2);
        assert_eq!(after(810), 10 * MIB);
    }

    #[test]
    fn zone_retains_minimum_and_tiny_zone_its_full_size() {
        let mut zones = [zone(3, 64), ZoneMemory { used: 1000, configured: 1000, now: 1000 }];
        for _ in 0..100 {
            update_limits(&mut zones, PressureStage::Refusing, u64::MAX, MIB);
            for zone in &mut zones {
                zone.used = zone.used.min(zone.now);
            }
        }
        assert_eq!(zones[0].now, 3 * MIB, "a thirty-second and a megabyte");
        assert_eq!(zones[1].now, 1000);
    }

    #[test]
    fn zones_fill_what_room_there_is_and_grow_as_it_grows() {
        let mut zones = [zone(10, 300), zone(0, 100)];
        update_limits(&mut zones, PressureStage::Normal, 42 * MIB, 100 * MIB);
        assert_eq!(zones.map(|zone| zone.now / MIB), [40, 10], "40 MB up to 82 %, by their shares");
        update_limits(&mut zones, PressureStage::Normal, 84 * MIB, 100 * MIB);
        assert_eq!(zones[0].now, zones[0].min_limit().max(10 * MIB), "no room: it stays as it is");
        update_limits(&mut zones, PressureStage::Normal, 42 * MIB, 10_000 * MIB);
        assert_eq!(zones.map(|zone| zone.now / MIB), [300, 100]);
        zones[0].now = 4 * MIB;
        update_limits(&mut zones, PressureStage::Normal, 74 * MIB, 0);
        assert_eq!(zones[0].now, 300 * MIB, "without a limit there is room for all");
    }

    #[test]
    fn memory_under_a_limit_comes_to_rest_within_it() {
        // The zone grows up to its limit. The other memory grows as well and shrinks in the end.
        let (mut zones, mut ladder, limit) =
            ([zone(0, 512)], crate::memory::PressureTracker::default(), 256 * MIB);
        let (mut highest, mut least) = (0, u64::MAX);
        for round in 0..1000_u64 {
            let other = 40 * MIB + if round < 900 { round.min(300) * MIB / 4 } else { 0 };
            zones[0].used = zones[0].now.min(zones[0].used + 64 * MIB);
            let resident = other + zones[0].used;
            if round > 0 {
                highest = highest.max(resident);
            }
            least = least.min(zones[0].now);
            let stage = ladder.observe(resident, limit, zones[0].reclaimable() > 0);
            update_limits(&mut zones, stage, resident, limit);
        }
        assert!(highest < limit / 100 * 90, "{highest}");
        assert!((64 * MIB..120 * MIB).contains(&least), "{least}");
        assert!(zones[0].now > 160 * MIB, "{zones:?}");
    }
}
