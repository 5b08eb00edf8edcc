//! Execution of other nodes' purges in the zones of this node.

use std::sync::Arc;

use futures_util::future::join_all;
use myriad_cluster::record::ClusterPurge;
use myriad_log::{ErrorLog, LogLevel};
use myriad_policy::PurgeTarget;
use myriad_store::page::{AnnouncedPurge, PageZone};
use parking_lot::Mutex;

use super::pages::SharedPages;
use super::position_file::{PositionFile, StoredPosition, zone_identity};
use crate::purge::{PurgeFailure, ZonePurge, expire_zone, run_received};

/// Maximum number of targets and keys of purges that are executed as one.
const MAX_COMBINED: usize = 2048;

/// Zones of this node that belong to the cluster, and the pages that its nodes fetch for each other.
#[derive(Default)]
pub(super) struct ClusterZones {
    zones: Mutex<Vec<Arc<PageZone>>>,
    /// Zones whose pages may have missed purges, and could not be made stale durably.
    unexpired: Mutex<Vec<Arc<PageZone>>>,
    pages: Arc<SharedPages>,
}

impl ClusterZones {
    /// Creates an empty set of zones, whose purges are announced to `pages`.
    pub(super) fn new(pages: Arc<SharedPages>) -> Self {
        Self { pages, ..Self::default() }
    }

    /// Replaces the zones, after a reload. Returns those that are no longer part of them.
    pub(super) fn set(&self, zones: Vec<Arc<PageZone>>) -> Vec<Arc<PageZone>> {
        let mut current = self.zones.lock();
        let mut previous = std::mem::replace(&mut *current, zones);
        previous.retain(|zone| !current.iter().any(|other| Arc::ptr_eq(zone, other)));
        previous
    }

    /// Adds zones, and returns those that are new. With `must_expire`, their pages may have missed purges, and are not
    /// durably stale before [`Self::expire_missed`] has succeeded.
    pub(super) fn add(&self, zones: &[Arc<PageZone>], must_expire: bool) -> Vec<Arc<PageZone>> {
        let mut current = self.zones.lock();
        let added: Vec<_> = zones.iter().filter(|zone| !contains(&current, zone)).cloned().collect();
        if must_expire {
            self.unexpired.lock().extend_from_slice(&added);
        }
        current.extend_from_slice(&added);
        added
    }

    /// Removes zones.
    pub(super) fn remove(&self, zones: &[Arc<PageZone>]) {
        self.zones.lock().retain(|zone| !zones.iter().any(|other| Arc::ptr_eq(zone, other)));
    }

    /// Returns the pages that the nodes of the cluster fetch for each other.
    pub(super) fn pages(&self) -> &Arc<SharedPages> {
        &self.pages
    }

    /// Announces that purges may have been executed in these zones that were not sent.
    pub(super) fn announce_gap(&self, zones: &[Arc<PageZone>]) -> Vec<AnnouncedPurge> {
        zones.iter().map(|zone| self.pages.announce_gap(zone.zone.name())).collect()
    }

    /// Returns all zones.
    pub(super) fn all(&self) -> Vec<Arc<PageZone>> {
        self.zones.lock().clone()
    }

    /// Returns the position file, with its new contents: that in the folder of the first zone. Without a zone, there is
    /// no file. A zone whose pages may have missed purges is not in it until they are stale durably: the next start makes
    /// them stale again.
    pub(super) fn stored_position(
        &self,
        cluster: &str,
        position: Vec<u8>,
    ) -> (Option<PositionFile>, StoredPosition) {
        let zones = self.all();
        let file = zones.first().map(|zone| PositionFile::within(&zone.folder.path, cluster));
        let unexpired = self.unexpired.lock();
        let is_expired = |zone: &&Arc<PageZone>| !contains(&unexpired, zone);
        let stored = zones.iter().filter(is_expired).map(|zone| identity(zone)).collect();
        (file, StoredPosition { zones: stored, position })
    }

    /// Executes purges in their order. Purges of unknown zones have no effect. A purge that cannot be decoded or
    /// executed makes all pages of its zone stale, because a newer version may have sent it; this is logged.
    ///
    /// All purges are in effect when this returns: true if they survive a crash, false if at least one could not be
    /// saved.
    pub(super) async fn apply(&self, purges: &[ClusterPurge], log: &ErrorLog) -> bool {
        let zones = self.all();
        let known = combine(purges.iter().map(|purge| (&*purge.zone, ZonePurge::decode(&purge.body))));
        // During a reload, two zones may have the same name.
        let running = known.iter().flat_map(|(name, purge)| {
            let named = zones.iter().filter(move |zone| zone.zone.name() == *name);
            named.map(move |zone| self.apply_in(zone, purge.as_ref(), log))
        });
        // All purges are in effect after the first poll, which happens in their order. The rest waits for the disk.
        join_all(running).await.into_iter().all(|is_saved| is_saved)
    }

    /// Makes all pages stale. This is in effect when this returns: true if it survives a crash, false if it could not be
    /// saved in a zone.
    pub(super) async fn expire_all(&self, log: &ErrorLog) -> bool {
        let zones = self.all();
        let running = zones.iter().map(async |zone| self.expire(zone, log).await);
        let is_saved = join_all(running).await.into_iter().all(|is_saved| is_saved);
        if is_saved {
            self.unexpired.lock().retain(|zone| !contains(&zones, zone));
        }
        is_saved
    }

    /// Makes all pages of a zone stale that may have missed purges. Returns false if this could not be saved, or has
    /// failed; the zone is then one of [`Self::expire_again`].
    pub(super) async fn expire_missed(&self, zone: &Arc<PageZone>, log: &ErrorLog) -> bool {
        {
            let mut unexpired = self.unexpired.lock();
            if !contains(&unexpired, zone) {
                unexpired.push(Arc::clone(zone));
            }
        }
        let is_saved = self.expire(zone, log).await;
        if is_saved {
            self.unexpired.lock().retain(|other| !Arc::ptr_eq(zone, other));
        }
        is_saved
    }

    /// Returns true if the pages of a zone could not be made stale durably.
    pub(super) fn has_unexpired(&self) -> bool {
        let zones = self.zones.lock();
        self.unexpired.lock().iter().any(|zone| contains(&zones, zone))
    }

    /// Makes the pages stale that could not be made stale durably, and forgets zones that no longer belong to the cluster.
    /// Returns the zones whose pages became stale.
    pub(super) async fn expire_again(&self, log: &ErrorLog) -> Vec<Arc<PageZone>> {
        let zones = self.all();
        let unexpired = {
            let mut unexpired = self.unexpired.lock();
            unexpired.retain(|zone| contains(&zones, zone));
            unexpired.clone()
        };
        for zone in &unexpired {
            self.expire_missed(zone, log).await;
        }
        unexpired
    }

    /// Executes a purge; `None`, or one that fails, invalidates all pages of the zone. Returns false if it is in effect, but
    /// could not be saved.
    async fn apply_in(&self, zone: &PageZone, purge: Option<&ZonePurge>, log: &ErrorLog) -> bool {
        if let Some(purge) = purge {
            self.pages.note_purge(zone.zone.name(), purge.labels().as_deref());
            let error = match run_received(zone, purge).await {
                Ok(()) => return true,
                Err(PurgeFailure::Unlogged(_)) => return false,
                Err(error) => error,
            };
            let name = zone.zone.name();
            let text = format_args!(
                "cluster: a purge of another node failed in zone \"{name}\" ({error}); all pages of the zone become stale"
            );
            log.write(LogLevel::Error, None, text);
        }
        self.expire(zone, log).await
    }

    /// Makes all pages of a zone stale, because they may have missed purges. Returns false if this could not be saved: the
    /// zone has logged the error of the disk. Another error is logged here.
    pub(super) async fn expire(&self, zone: &PageZone, log: &ErrorLog) -> bool {
        self.pages.note_purge(zone.zone.name(), None);
        let result = expire_zone(zone).await;
        if let Err(error) = &result
            && !matches!(error, PurgeFailure::Unlogged(_))
        {
            let name = zone.zone.name();
            let text = format_args!("cluster: the pages of zone \"{name}\" could not be made stale: {error}");
            log.write(LogLevel::Crit, None, text);
        }
        result.is_ok()
    }
}

fn contains(zones: &[Arc<PageZone>], zone: &Arc<PageZone>) -> bool {
    zones.iter().any(|other| Arc::ptr_eq(other, zone))
}

/// Returns the text by which position files identify a zone.
pub(super) fn identity(zone: &PageZone) -> Vec<u8> {
    zone_identity(zone.zone.name(), &zone.folder.path)
}

/// Combines successive exact purges of the same zone and effect, so that each needs one write to the disk. `None` is a
/// purge that could not be decoded.
fn combine<'a>(
    purges: impl Iterator<Item = (&'a str, Option<ZonePurge>)>,
) -> Vec<(&'a str, Option<ZonePurge>)> {
    let mut combined: Vec<(&str, Option<ZonePurge>)> = Vec::new();
    for (zone, purge) in purges {
        if let Some(purge) = &purge
            && let Some((last_zone, Some(last))) = combined.last_mut()
            && *last_zone == zone
            && last.effect == purge.effect
            && last.is_anonymous == purge.is_anonymous
            && is_exact(last)
            && is_exact(purge)
            && last.targets.len() + last.keys.len() + purge.targets.len() + purge.keys.len() <= MAX_COMBINED
        {
            last.targets.extend_from_slice(&purge.targets);
            last.keys.extend_from_slice(&purge.keys);
        } else {
            combined.push((zone, purge));
        }
    }
    combined
}

fn is_exact(purge: &ZonePurge) -> bool {
    purge.targets.iter().all(PurgeTarget::is_exact)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::admin::block_on;
    use crate::purge::PurgeEffect;
    use myriad_cluster::record::{NodeName, PurgeId, StartId};
    use myriad_disk::testing::TempFolder;
    use myriad_store::page::{FolderCreator, PageFolder, PageZone};
    use myriad_store::{DiskLimits, DiskPool, Zone, ZoneLimits};

    struct NoFolderCreator;

    impl FolderCreator for NoFolderCreator {
        fn request_folder(&self, _: &std::path::Path) {}
    }

    fn purge_of_all() -> ClusterPurge {
        ClusterPurge {
            id: PurgeId { start: StartId([1; 16]), sequence: 1 },
            origin: NodeName::new("web1").expect("a name"),
            zone: "pages".to_owned(),
            body: ZonePurge::of(PurgeTarget::All, PurgeEffect::Remove).encode().into(),
        }
    }

    #[test]
    fn purge_that_cannot_be_saved_is_in_effect_and_reported() {
        for (blocker, is_saved) in [(".sequence.new/x", false), ("html", true)] {
            let temporary = TempFolder::new();
            // A folder in the place of a file prevents the use of the zone's folder.
            fs::create_dir_all(temporary.path().join(blocker)).expect("a folder");
            let folder = PageFolder { path: temporary.path().to_owned(), levels: Vec::new() };
            let zone = Arc::new(PageZone::new(Zone::new("pages", ZoneLimits::default()), folder));
            let pool = DiskPool::start(1).expect("threads");
            let log = ErrorLog::new(Vec::new());
            zone.open(DiskLimits::default(), &pool, &log, Arc::new(NoFolderCreator));
            let zones = ClusterZones::default();
            zones.set(vec![Arc::clone(&zone)]);
            let apply = || block_on(zones.apply(&[purge_of_all()], &log));
            if is_saved {
                // The folder is opened on another thread; purges before that cannot be saved.
                while !apply() {
                    std::thread::yield_now();
                }
            }
            assert_eq!(apply(), is_saved, "{blocker}");
            let listed = zone.purges.after(0).0;
            assert_eq!(block_on(zones.expire_all(&log)), is_saved, "{blocker}");
            assert_eq!(zone.purges.after(0).0, listed, "this is not a purge");
            assert_eq!(block_on(zones.expire_missed(&zone, &log)), is_saved, "{blocker}");
            block_on(zones.expire_again(&log));
            assert_eq!(zones.has_unexpired(), !is_saved, "{blocker}");
            let stored = zones.stored_position("shop", Vec::new()).1.zones;
            assert_eq!(stored.len(), usize::from(is_saved), "the next start makes the pages stale again");
        }
    }

    #[test]
    fn purge_by_an_anonymous_client_of_another_node_is_listed_only_if_it_affected_a_page() {
        let folder = PageFolder { path: "/nowhere".into(), levels: Vec::new() };
        let zone = Arc::new(PageZone::new(Zone::new("pages", ZoneLimits::default()), folder));
        let (zones, log) = (ClusterZones::default(), ErrorLog::new(Vec::new()));
        zones.set(vec![Arc::clone(&zone)]);
        for (is_anonymous, listed) in [(true, 0), (false, 1)] {
            let target = PurgeTarget::url(b"a.test/").expect("a URL");
            let purge = ZonePurge { is_anonymous, ..ZonePurge::of(target, PurgeEffect::Invalidate) };
            let purge = ClusterPurge { body: purge.encode().into(), ..purge_of_all() };
            assert!(block_on(zones.apply(&[purge], &log)));
            assert_eq!(zone.purges.after(0).0, listed);
        }
    }

    #[test]
    fn successive_purges_of_a_zone_are_executed_as_one() {
        let url = |text: &str| {
            let target = PurgeTarget::url(text.as_bytes()).expect("a URL");
            Some(ZonePurge::of(target, PurgeEffect::Remove))
        };
        let all = Some(ZonePurge::of(PurgeTarget::All, PurgeEffect::Remove));
        let purges = [
            ("a", url("h/1")),
            ("a", url("h/2")),
            ("b", url("h/3")),
            ("b", all),
            ("b", url("h/4")),
            ("b", None),
            ("b", url("h/5")),
        ];
        let combined = combine(purges.into_iter());
        let counts: Vec<_> = combined
            .iter()
            .map(|(zone, purge)| (*zone, purge.as_ref().map(|purge| purge.targets.len())))
            .collect();
        let expected =
            [("a", Some(2)), ("b", Some(1)), ("b", Some(1)), ("b", Some(1)), ("b", None), ("b", Some(1))];
        assert_eq!(counts, expected);
    }
}
