//! Tests of the execution of purges.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use myriad_policy::{PurgeCommand, PurgeTarget, Tags};
use myriad_store::page::{
    AnnouncedPurge, ClusterPages, PageZone, PublishedPurge, PublisherStatus, PurgePublisher, PurgeSource,
};

use super::support::{ZONE, is_stale, is_stored, store, zone_of};
use myriad_admin::purge::{PurgeResult, begin, begin_all, begin_in, finish, invalidate, remove_keys, run};
use myriad_serve::testing::{TestSite, block_on};

fn zone() -> Arc<PageZone> {
    zone_of(&TestSite::new(ZONE, "location / { proxy_pass http://127.0.0.1:1; proxy_cache z; }"))
}

#[test]
fn purge_of_all_and_of_a_host_run_over_every_zone() {
    let one = zone();
    let two = zone();
    for zone in [&one, &two] {
        store(zone, "/a", ("a.test", "/a"), "");
        store(zone, "/b", ("b.test", "/b"), "");
    }
    let zones = [Arc::clone(&one), Arc::clone(&two)];
    block_on(run(
        &zones,
        &PurgeCommand::hard(PurgeTarget::Host((*b"a.test").into())),
        &[],
        PurgeSource::Request,
    ))
    .expect("a purge");
    for zone in &zones {
        assert!(!is_stored(zone, "/a") && is_stored(zone, "/b"));
    }
    block_on(run(&zones, &PurgeCommand::hard(PurgeTarget::All), &[], PurgeSource::Request)).expect("a purge");
    assert!(!is_stored(&one, "/b") && !is_stored(&two, "/b"));
}

#[test]
fn purge_of_a_key_takes_the_page_of_other_codings_too() {
    let zone = zone();
    store(&zone, "/a", ("a.test", "/a"), "");
    store(&zone, "/a\0codings", ("a.test", "/a"), "");
    let command = PurgeCommand::hard(PurgeTarget::Keys(vec![(*b"/a").into()]));
    let begun = begin_in(&zone, &command, &[], PurgeSource::Request).expect("a purge");
    let made = block_on(begun.finish()).expect("a purge");
    assert_eq!(made.outcome, PurgeResult::Done(2));
    assert!(!is_stored(&zone, "/a\0codings"));
}

#[test]
fn purges_from_one_origin_response_each_run_in_own_mode() {
    let zone = zone();
    store(&zone, "/a", ("a.test", "/a"), "");
    store(&zone, "/b", ("b.test", "/b"), "t");
    store(&zone, "/c", ("c.test", "/c"), "");
    let commands = [
        PurgeCommand { what: PurgeTarget::url(b"a.test/a").expect("a URL"), soft: true },
        PurgeCommand::hard(PurgeTarget::Tags(Tags::parse(b"t"))),
        PurgeCommand::hard(PurgeTarget::Host((*b"c.test").into())),
    ];
    let begun = begin_all(&zone, &commands).expect("purges");
    block_on(finish(begun)).expect("purges");
    assert!(is_stored(&zone, "/a") && is_stale(&zone, "/a"));
    assert!(!is_stored(&zone, "/b") && !is_stored(&zone, "/c"));
}

#[test]
fn invalidated_page_stays_to_stand_in_for_a_fetch_that_fails() {
    let zone = zone();
    store(&zone, "/a", ("a.test", "/a"), "");
    store(&zone, "/b", ("a.test", "/b"), "");
    block_on(invalidate(&zone, vec![PurgeTarget::url(b"a.test/a").expect("a URL")])).expect("a purge");
    assert!(is_stored(&zone, "/a") && is_stale(&zone, "/a") && !is_stale(&zone, "/b"));
}

/// Publisher that counts purges and sends the results of saving them.
struct CountingPublisher {
    published: AtomicUsize,
    saved: mpsc::Sender<bool>,
    is_closed: bool,
}

impl PurgePublisher for CountingPublisher {
    fn announce(&self, _zone: &str, _labels: Option<&[u64]>) -> AnnouncedPurge {
        AnnouncedPurge::new(|| {})
    }

    fn pages(&self) -> Option<Arc<dyn ClusterPages>> {
        None
    }

    fn publish(&self, _zone: &str, _purge: Vec<u8>, _announced: AnnouncedPurge) -> Option<PublishedPurge> {
        if self.is_closed {
            return None;
        }
        self.published.fetch_add(1, Ordering::Relaxed);
        let saved = self.saved.clone();
        Some(PublishedPurge {
            saved: Box::new(move |is_saved| saved.send(is_saved).expect("the test waits")),
            receipts: Box::pin(std::future::pending()),
        })
    }

    fn status(&self) -> Option<PublisherStatus> {
        None
    }

    fn last_status(&self) -> Option<PublisherStatus> {
        None
    }

    fn forget_node(&self, _node: &str) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn begun_purge_is_in_effect_published_and_saved_although_nothing_waits_for_it() {
    let zone = zone();
    let (saved, results) = mpsc::channel();
    let publisher = Arc::new(CountingPublisher { published: AtomicUsize::new(0), saved, is_closed: false });
    *zone.publisher.lock() = Some(Arc::clone(&publisher) as Arc<dyn PurgePublisher>);
    for key in ["/a", "/b", "/c"] {
        store(&zone, key, ("a.test", key), "");
    }
    let command = PurgeCommand::hard(PurgeTarget::Keys(vec![(*b"/a").into()]));
    drop(begin_in(&zone, &command, &[], PurgeSource::Request).expect("a purge"));
    assert_eq!(publisher.published.load(Ordering::Relaxed), 1);
    assert!(!is_stored(&zone, "/a"));
    remove_keys(&zone, vec![b"/b".to_vec(), b"/c".to_vec()]).expect("a removal");
    assert_eq!(publisher.published.load(Ordering::Relaxed), 2, "one purge for both keys");
    assert!(!is_stored(&zone, "/b") && !is_stored(&zone, "/c"));
    remove_keys(&zone, Vec::new()).expect("nothing to remove");
    assert_eq!(publisher.published.load(Ordering::Relaxed), 2, "a purge without keys is not published");
    assert_eq!((results.recv(), results.recv()), (Ok(true), Ok(true)));
    let pattern = PurgeCommand::hard(PurgeTarget::regex(None, b"(").expect("short"));
    assert!(begin_in(&zone, &pattern, &[], PurgeSource::Request).is_err());
    assert_eq!(publisher.published.load(Ordering::Relaxed), 2, "a refused purge is not published");
}

#[test]
fn purge_that_the_cluster_does_not_receive_fails() {
    let zone = zone();
    let (saved, _results) = mpsc::channel();
    *zone.publisher.lock() =
        Some(Arc::new(CountingPublisher { published: AtomicUsize::new(0), saved, is_closed: true }));
    let result = block_on(run(&[zone], &PurgeCommand::hard(PurgeTarget::All), &[], PurgeSource::Request));
    let text = result.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(text.contains("only on this node"), "{text}");
}

#[test]
fn begun_purge_is_listed_although_nothing_waits_for_it_or_a_later_one_of_its_request_fails() {
    let zone = zone();
    let listed = || zone.purges.after(0).1.iter().map(|purge| purge.what.clone()).collect::<Vec<_>>();
    let command = |target: &[u8]| PurgeCommand::hard(PurgeTarget::url(target).expect("a URL"));
    drop(begin_in(&zone, &command(b"a.test/a"), &[], PurgeSource::Request).expect("a purge"));
    let first = listed();
    assert_eq!(first.len(), 1, "{first:?}");
    let invalid = PurgeCommand::hard(PurgeTarget::regex(None, b"(").expect("short"));
    let commands = [command(b"a.test/b"), invalid];
    assert!(begin(&[Arc::clone(&zone)], &commands, &[], PurgeSource::Request).is_err());
    assert_eq!(listed().len(), 2);

    let (saved, _results) = mpsc::channel();
    *zone.publisher.lock() =
        Some(Arc::new(CountingPublisher { published: AtomicUsize::new(0), saved, is_closed: true }));
    assert!(begin_in(&zone, &command(b"a.test/c"), &[], PurgeSource::Request).is_err());
    assert_eq!(listed().len(), 3, "the purge is in effect on this node");
}

#[test]
fn invalidations_by_visitors_do_not_displace_purges_of_administrators() {
    let zone = zone();
    let command = PurgeCommand::hard(PurgeTarget::Host((*b"a.test").into()));
    block_on(run(&[Arc::clone(&zone)], &command, &[], PurgeSource::Administrator)).expect("a purge");
    for _ in 0..1500 {
        store(&zone, "/a", ("a.test", "/a"), "");
        block_on(invalidate(&zone, vec![PurgeTarget::url(b"a.test/a").expect("a URL")])).expect("a purge");
    }
    let (noted, listed) = zone.purges.after(0);
    assert_eq!((noted, listed[0].by), (1501, PurgeSource::Administrator));
    assert!(listed[1..].iter().all(|purge| purge.is_anonymous));
    block_on(invalidate(&zone, vec![PurgeTarget::url(b"a.test/b").expect("a URL")])).expect("a purge");
    assert_eq!(zone.purges.after(0).0, noted, "no page was affected");
}
