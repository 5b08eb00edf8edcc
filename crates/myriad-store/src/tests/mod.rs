//! Tests of whole zones, through the public interface.

mod claims;
mod flights;
mod memory;
mod model;
mod purge;
mod purges;
mod replacements;
mod threads;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;

use crate::*;

/// Number of different labels of test pages. The label of a page is the number of its writer modulo this number.
pub(crate) const GROUPS: u64 = 5;

/// Returns a writer's number that gives its page this number of additional labels.
pub(crate) fn tagged(id: u64, labels: u64) -> u64 {
    labels << 48 | id
}

/// Metadata that contains the number of an object's writer.
#[derive(Debug)]
pub(crate) struct TestPage {
    pub(crate) id: u64,
    pub(crate) heap: usize,
}

impl Metadata for TestPage {
    type EncodingMeta = u64;
    type ReplacementState = ();
    type StoredForm = Self;
    type MetaView<'a> = &'a Self;

    fn view(&self) -> &Self {
        self
    }

    /// Appends the number to the texts, and returns the metadata unchanged.
    fn into_stored(self, texts: &mut Vec<u8>) -> Self {
        texts.extend_from_slice(&self.id.to_le_bytes());
        self
    }

    fn view_stored<'a>(kept: &'a Self, texts: &'a [u8]) -> &'a Self {
        assert_eq!(texts, kept.id.to_le_bytes());
        kept
    }

    fn weight(kept: &Self) -> usize {
        kept.heap
    }

    fn labels(page: &Self, each: &mut dyn FnMut(u64)) {
        each(page.id % GROUPS);
        (0..page.id >> 48).for_each(|label| each(GROUPS + label));
    }

    fn address(page: &Self) -> Option<[u64; 2]> {
        Some([page.id % GROUPS; 2])
    }

    /// Parses a rule: the number of a group, and optionally a byte that distinguishes the rule from others of the
    /// group.
    fn covers(rule: &[u8]) -> Option<PurgePredicate<Self>> {
        let group = u64::from(*rule.first()?);
        (rule.len() < 3)
            .then(|| Box::new(move |_: &[u8], page: &Self| page.id % GROUPS == group) as PurgePredicate<Self>)
    }
}

/// Returns the result of a purge that is complete when it is first polled.
#[track_caller]
pub(crate) fn completed_purge(mut purging: PurgeFuture) -> LoggedPurge {
    match std::pin::Pin::new(&mut purging).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(end) => end.unwrap(),
        Poll::Pending => panic!("a purge that waits"),
    }
}

pub(crate) fn labelled(labels: &[u64]) -> PurgeScope<'_> {
    PurgeScope::Exact { keys: &[], addresses: &[], labels }
}

pub(crate) fn group(group: u8) -> [u8; 1] {
    [group]
}

/// Purges labels, and returns the number of purged pages.
#[track_caller]
pub(crate) fn purge_labels(zone: &Zone<TestPage>, labels: &[u64], purge: PurgeKind) -> usize {
    match completed_purge(zone.purge(labelled(labels), purge)).count {
        PurgeCount::Exact(count) => count,
        other => panic!("{other:?}"),
    }
}

/// Purges the pages that a rule covers.
#[track_caller]
pub(crate) fn purge_rule(zone: &Zone<TestPage>, name: &str, purge: PurgeKind, number: u8) -> u64 {
    let rule = group(number);
    let purged = completed_purge(zone.purge(PurgeScope::Rule { name, rule: &rule }, purge));
    assert_eq!(purged.count, PurgeCount::Later);
    purged.number
}

impl Persist for TestPage {
    const VERSION: u16 = 1;

    fn encode(page: &Self, out: &mut Vec<u8>) {
        out.extend_from_slice(&page.id.to_le_bytes());
        out.extend_from_slice(&(page.heap as u64).to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (id, heap) = bytes.split_first_chunk()?;
        let heap = u64::from_le_bytes(heap.try_into().ok()?) as usize;
        Some(Self { id: u64::from_le_bytes(*id), heap })
    }

    fn encode_alternative(meta: &u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&meta.to_le_bytes());
    }

    fn decode_alternative(bytes: &[u8]) -> Option<u64> {
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }
}

/// Returns a body for the writer with number `id`. Bodies of different writers differ in the first eight bytes.
pub(crate) fn content(id: u64, len: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(id);
    let mut bytes = id.to_be_bytes().to_vec();
    bytes.extend((8..len).map(|_| rng.u8(..)));
    bytes.truncate(len);
    bytes
}

pub(crate) fn plain(_: &[u8], _: &mut Vec<u8>) {}

/// Derives the variant of a request from the selector and the request's value for it.
pub(crate) fn asking(value: u8) -> impl Fn(&[u8], &mut Vec<u8>) {
    move |selector, out| {
        out.extend_from_slice(selector);
        out.push(value);
    }
}

pub(crate) fn selection(selector: &[u8], value: u8) -> Selection {
    let mut variant = Vec::new();
    asking(value)(selector, &mut variant);
    Selection { selector: selector.into(), variant: variant.into() }
}

fn zone(memory_bytes: usize) -> Zone<TestPage> {
    Zone::new("pages", ZoneLimits { memory_bytes, ..ZoneLimits::default() })
}

fn at(now: u64) -> ClaimOptions {
    ClaimOptions { now, lock_age_ms: 5000, address: None }
}

pub(crate) fn claim(zone: &Zone<TestPage>, key: &[u8], now: u64) -> Claim<TestPage> {
    zone.claim(KeyRef::new(key), plain, |o| o.is_fresh(now), at(now))
}

#[track_caller]
pub(crate) fn lead(claim: Claim<TestPage>) -> FlightWriter<TestPage> {
    match claim {
        Claim::Lead(writer) => writer,
        other => panic!("expected to lead, got {other:?}"),
    }
}

#[track_caller]
pub(crate) fn waiter(claim: Claim<TestPage>) -> FlightReader<TestPage> {
    match claim {
        Claim::Wait(reader) => reader,
        other => panic!("expected to follow, got {other:?}"),
    }
}

pub(crate) fn admission(id: u64, selection: Option<Selection>) -> Admission<TestPage> {
    Admission { head: Arc::new(TestPage { id, heap: 0 }), selection, length: None }
}

pub(crate) fn completion(id: u64, now: u64, fresh_until: u64) -> Completion<TestPage> {
    Completion {
        meta: TestPage { id, heap: 100 },
        now,
        fresh_until,
        alternatives: [const { None }; ALTERNATIVES],
    }
}

/// Stores an object of `len` bytes that is fresh until 1,000,000.
#[track_caller]
pub(crate) fn put(zone: &Zone<TestPage>, key: &[u8], id: u64, len: usize, now: u64) -> Object<TestPage> {
    let mut body = zone.fetch_unshared(KeyRef::new(key), now).admit(admission(id, None));
    body.push(content(id, len).into());
    match body.complete(completion(id, now, 1_000_000)) {
        Completed::Stored(object) => object,
        other => panic!("not stored: {other:?}"),
    }
}

/// Waker that counts how often it is called.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Bell {
    fn rung(&self) -> usize {
        self.0.load(SeqCst)
    }
}

fn head(reader: &mut FlightReader<TestPage>, bell: &Arc<Bell>) -> Poll<FlightHead<TestPage>> {
    reader.poll_head(&mut Context::from_waker(&Waker::from(Arc::clone(bell))), plain)
}

fn chunk(reader: &mut FlightReader<TestPage>, bell: &Arc<Bell>) -> Poll<Option<Result<Bytes, Abort>>> {
    reader.poll_chunk(&mut Context::from_waker(&Waker::from(Arc::clone(bell))))
}

/// Reads a body to its end. Panics if a poll is not ready.
#[track_caller]
pub(crate) fn drain(reader: &mut FlightReader<TestPage>) -> Result<Vec<u8>, Abort> {
    let bell = Arc::default();
    let mut bytes = Vec::new();
    loop {
        match chunk(reader, &bell) {
            Poll::Ready(Some(piece)) => bytes.extend_from_slice(&piece?),
            Poll::Ready(None) => return Ok(bytes),
            Poll::Pending => panic!("stranded after {} bytes", bytes.len()),
        }
    }
}
