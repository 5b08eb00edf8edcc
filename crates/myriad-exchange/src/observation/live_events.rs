//! Distribution of live events (ticks and purges) from the observer thread to readers.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

/// Maximum number of concurrent readers of live events (statistics and purges, as they happen).
const MAX_READERS: usize = 32;

/// Newest live events (statistics and purges), for all readers.
#[derive(Clone, Debug, Default)]
pub struct LatestEvents {
    /// Newest statistics; `None` before the first.
    pub tick: Option<Tick>,
    /// Latest purges as JSON, oldest first, each with its position among all purges.
    pub purges: Arc<[(u64, Bytes)]>,
    /// Number of times that all readers were disconnected. Readers that started at a lower number stop.
    pub epoch: u64,
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
    /// The time given to the call is over.
    Time,
    /// A reader has started since the last wait.
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
    /// Creates a reader of the events from now on, and wakes the observer.
    ///
    /// # Errors
    /// The maximum number of readers is reached.
    pub fn read(&self) -> Result<EventReader, TooMany> {
        let seat = ReaderSlot::take(&self.readers).ok_or(TooMany)?;
        let mut news = self.news.subscribe();
        let (epoch, told) = {
            let now = news.borrow_and_update();
            (now.epoch, now.purges.last().map_or(0, |(number, _)| *number))
        };
        self.state.lock().reader_joined = true;
        self.woken.notify_all();
        Ok(EventReader { news, epoch, last_purge: told, _seat: seat })
    }

    /// Returns the current number of readers.
    pub fn readers(&self) -> usize {
        self.readers.load(SeqCst)
    }

    /// Publishes new statistics and the latest purges to all readers.
    pub fn publish(&self, tick: Tick, purges: Arc<[(u64, Bytes)]>) {
        self.news.send_modify(|news| {
            news.tick = Some(tick);
            news.purges = purges;
        });
    }

    /// Disconnects all readers, for example because the configuration was replaced or the process shuts down.
    pub fn end_readers(&self) {
        self.news.send_modify(|news| news.epoch += 1);
    }

    /// Stops the observer thread at shutdown.
    pub fn end(&self) {
        self.state.lock().is_stopped = true;
        self.woken.notify_all();
    }

    /// Waits until `until`, until a reader starts, or until the shutdown. Called by the observer thread.
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

/// Share in the maximum number of readers, released on drop.
#[derive(Debug)]
struct ReaderSlot(Arc<AtomicUsize>);

impl ReaderSlot {
    fn take(readers: &Arc<AtomicUsize>) -> Option<Self> {
        let seat = Self(Arc::clone(readers));
        // If the maximum is exceeded, the slot is dropped, which decreases the number again.
        (readers.fetch_add(1, SeqCst) < MAX_READERS).then_some(seat)
    }
}

impl Drop for ReaderSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Reader of live events. A slow reader misses some statistics, and purges only if it misses more than are retained.
#[derive(Debug)]
pub struct EventReader {
    news: watch::Receiver<LatestEvents>,
    epoch: u64,
    /// Number of the last purge that was returned.
    last_purge: u64,
    _seat: ReaderSlot,
}

/// Events since those that a reader has received before.
#[derive(Clone, Debug)]
pub struct LiveEvents {
    /// Purges as JSON, oldest first.
    pub purges: Vec<Bytes>,
    /// Newest statistics.
    pub tick: Tick,
}

impl EventReader {
    /// Waits for the next statistics. Returns them with the purges since the last call, or `None` if the reader was
    /// disconnected.
    pub async fn next(&mut self) -> Option<LiveEvents> {
        loop {
            self.news.changed().await.ok()?;
            let news = self.news.borrow_and_update().clone();
            if news.epoch != self.epoch {
                return None;
            }
            let Some(tick) = news.tick else { continue };
            let purges: Vec<Bytes> = news
                .purges
                .iter()
                .filter(|(number, _)| *number > self.last_purge)
                .map(|(_, json)| json.clone())
                .collect();
            self.last_purge =
                news.purges.last().map_or(self.last_purge, |(number, _)| self.last_purge.max(*number));
            return Some(LiveEvents { purges, tick });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(at_ms: u64) -> Tick {
        Tick { at_ms, json: Bytes::from(at_ms.to_string()) }
    }

    fn purges(numbers: std::ops::RangeInclusive<u64>) -> Arc<[(u64, Bytes)]> {
        numbers.map(|number| (number, Bytes::from(number.to_string()))).collect()
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
        assert_eq!((events.tick.at_ms, events.purges), (3, vec![Bytes::from("3"), Bytes::from("4")]));
        live.publish(tick(4), purges(2..=4));
        let events = next(&mut reader).expect("news");
        assert_eq!((events.tick.at_ms, events.purges.len()), (4, 0));
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
