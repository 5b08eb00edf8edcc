//! Distribution of live events (ticks, purges, findings of the leak guard) from the observer thread to readers.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

/// Maximum number of concurrent readers of live events (statistics, purges and findings, as they happen).
const MAX_READERS: usize = 32;

/// Newest statistics, and the latest purges and findings of the leak guard, from which readers of live events receive
/// them.
#[derive(Clone, Debug, Default)]
pub struct LatestEvents {
    /// Newest statistics; `None` before the first.
    pub tick: Option<Tick>,
    /// Latest purges and findings, oldest first.
    pub recent: Arc<[RecentEvent]>,
    /// Number of times that all readers were disconnected. A reader that started when the number was lower stops.
    pub epoch: u64,
}

/// Event for readers of live events: a purge, or a new or changed finding of the leak guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentEvent {
    /// Sequence number among the purges and findings of the process; a later event has a higher number.
    pub number: u64,
    /// Kind of the event: purge, purge without permission (invalidation), or finding of the leak guard.
    pub kind: RecentEventKind,
    /// Description of the event as JSON.
    pub json: Bytes,
}

/// Kind of a [`RecentEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecentEventKind {
    /// A purge was executed at the request of a client that has permission to purge.
    Purge,
    /// A purge was executed that no client with permission to purge requested: after a request with an unsafe method,
    /// or because a response showed that stored pages are no longer valid.
    AnonymousPurge,
    /// A finding of the leak guard was added, or its state has changed.
    Leak,
}

impl RecentEventKind {
    /// All kinds of events.
    pub const ALL: [Self; 3] = [Self::Purge, Self::AnonymousPurge, Self::Leak];

    /// Returns the name of this kind of event in the event stream: `purge` or `leak`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Purge | Self::AnonymousPurge => "purge",
            Self::Leak => "leak",
        }
    }
}

/// Statistics at one moment, published every second while there are readers.
#[derive(Clone, Debug)]
pub struct Tick {
    /// Time of the tick, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Statistics as one line of JSON.
    pub json: Bytes,
}

/// Channel from the observer thread to readers of live events. A new reader wakes the observer.
#[derive(Debug)]
pub struct EventFeed {
    news: watch::Sender<LatestEvents>,
    readers: Arc<AtomicUsize>,
    state: Mutex<State>,
    woken: Condvar,
}

#[derive(Debug, Default)]
struct State {
    reader_joined: bool,
    is_stopped: bool,
}

/// Reason why [`EventFeed::wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObserverWake {
    /// The time limit of the wait was reached.
    Time,
    /// A reader has started since the last call.
    Reader,
    /// The process is shutting down.
    End,
}

impl Default for EventFeed {
    fn default() -> Self {
        let news = watch::Sender::new(LatestEvents::default());
        Self { news, readers: Arc::default(), state: Mutex::default(), woken: Condvar::new() }
    }
}

impl EventFeed {
    /// Creates a reader that receives events from now on, and wakes the observer thread.
    ///
    /// # Errors
    /// The maximum number of readers is reached.
    pub fn read(&self) -> Result<EventReader, TooMany> {
        let slot = ReaderSlot::take(&self.readers).ok_or(TooMany)?;
        let mut news = self.news.subscribe();
        let (epoch, last_number) = {
            let now = news.borrow_and_update();
            (now.epoch, now.recent.last().map_or(0, |event| event.number))
        };
        self.state.lock().reader_joined = true;
        self.woken.notify_all();
        Ok(EventReader { news, epoch, last_number, _slot: slot })
    }

    /// Returns the current number of readers.
    pub fn readers(&self) -> usize {
        self.readers.load(SeqCst)
    }

    /// Publishes new statistics, and the latest purges and findings, to all readers.
    pub fn publish(&self, tick: Tick, recent: Arc<[RecentEvent]>) {
        self.news.send_modify(|news| {
            news.tick = Some(tick);
            news.recent = recent;
        });
    }

    /// Disconnects all readers, for example because the configuration was replaced or the process shuts down.
    pub fn end_readers(&self) {
        self.news.send_modify(|news| news.epoch += 1);
    }

    /// Makes [`Self::wait`] return [`ObserverWake::End`] from now on, so that the observer thread stops at shutdown.
    pub fn end(&self) {
        self.state.lock().is_stopped = true;
        self.woken.notify_all();
    }

    /// Waits until `until`, until a reader starts, or until the shutdown, and returns which of these happened. Called
    /// by the observer thread.
    pub fn wait(&self, until: Instant) -> ObserverWake {
        let mut state = self.state.lock();
        loop {
            if state.is_stopped {
                return ObserverWake::End;
            }
            if std::mem::take(&mut state.reader_joined) {
                return ObserverWake::Reader;
            }
            if until.saturating_duration_since(Instant::now()) == Duration::ZERO {
                return ObserverWake::Time;
            }
            self.woken.wait_until(&mut state, until);
        }
    }
}

/// Error: [`MAX_READERS`] clients are reading live events already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "too many readers of live events (maximum {MAX_READERS}): try again later")
    }
}

impl std::error::Error for TooMany {}

/// One of the [`MAX_READERS`] slots for readers, released on drop.
#[derive(Debug)]
struct ReaderSlot(Arc<AtomicUsize>);

impl ReaderSlot {
    fn take(readers: &Arc<AtomicUsize>) -> Option<Self> {
        let slot = Self(Arc::clone(readers));
        // If the maximum is exceeded, the slot is dropped, which decreases the number again.
        (readers.fetch_add(1, SeqCst) < MAX_READERS).then_some(slot)
    }
}

impl Drop for ReaderSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Reader of live events. A slow reader misses some statistics; it misses purges and findings only if more have
/// occurred than are retained.
#[derive(Debug)]
pub struct EventReader {
    news: watch::Receiver<LatestEvents>,
    epoch: u64,
    /// Number of the last [`RecentEvent`] that was returned.
    last_number: u64,
    _slot: ReaderSlot,
}

/// Events that a reader has not received yet.
#[derive(Clone, Debug)]
pub struct LiveEvents {
    /// Purges and findings, oldest first.
    pub recent: Vec<RecentEvent>,
    /// Newest statistics.
    pub tick: Tick,
}

impl EventReader {
    /// Waits for the next statistics. Returns them with the purges and findings since the last call, or `None` if the
    /// reader was disconnected or the feed was dropped.
    pub async fn next(&mut self) -> Option<LiveEvents> {
        loop {
            self.news.changed().await.ok()?;
            let news = self.news.borrow_and_update().clone();
            if news.epoch != self.epoch {
                return None;
            }
            let Some(tick) = news.tick else { continue };
            let last = self.last_number;
            let recent: Vec<_> = news.recent.iter().filter(|event| event.number > last).cloned().collect();
            self.last_number = recent.last().map_or(last, |event| event.number);
            return Some(LiveEvents { recent, tick });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(at_ms: u64) -> Tick {
        Tick { at_ms, json: Bytes::from(at_ms.to_string()) }
    }

    fn purges(numbers: std::ops::RangeInclusive<u64>) -> Arc<[RecentEvent]> {
        let kind = RecentEventKind::Purge;
        numbers.map(|number| RecentEvent { number, kind, json: Bytes::from(number.to_string()) }).collect()
    }

    fn next(reader: &mut EventReader) -> Option<LiveEvents> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(reader.next())
    }

    #[test]
    fn slow_reader_gets_the_newest_tick_and_every_purge() {
        let live = EventFeed::default();
        live.publish(tick(1), purges(1..=2));
        let mut reader = live.read().expect("a reader");
        live.publish(tick(2), purges(1..=3));
        live.publish(tick(3), purges(2..=4));
        let events = next(&mut reader).expect("news");
        assert_eq!((events.tick.at_ms, &events.recent[..]), (3, &purges(3..=4)[..]));
        live.publish(tick(4), purges(2..=4));
        let events = next(&mut reader).expect("news");
        assert_eq!((events.tick.at_ms, events.recent.len()), (4, 0));
    }

    #[test]
    fn readers_are_bounded_and_sent_away() {
        let live = EventFeed::default();
        let mut readers: Vec<EventReader> =
            (0..MAX_READERS).map(|_| live.read().expect("a reader")).collect();
        assert_eq!((live.read().err(), live.readers()), (Some(TooMany), MAX_READERS));
        live.end_readers();
        assert!(next(&mut readers[0]).is_none());
        readers.clear();
        assert_eq!(live.readers(), 0);
        live.read().expect("a reader after the others have ended");
    }

    #[test]
    fn observer_is_woken_by_the_first_reader_and_by_the_end() {
        let live = EventFeed::default();
        let far = || Instant::now() + Duration::from_hours(1);
        assert_eq!(live.wait(Instant::now()), ObserverWake::Time);
        let _reader = live.read().expect("a reader");
        assert_eq!(live.wait(far()), ObserverWake::Reader);
        live.end();
        assert_eq!(live.wait(far()), ObserverWake::End);
    }
}
