//! Readers of live events, and the newest event.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

/// Maximum number of concurrent readers.
const MOST_READERS: usize = 32;

/// Newest events.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// Newest tick as JSON; `None` before the first.
    pub tick: Option<Tick>,
    /// Latest purges as JSON, oldest first, each with its number.
    pub purges: Arc<[(u64, Bytes)]>,
    /// Number of times that all readers were disconnected: readers of an earlier epoch stop.
    pub epoch: u64,
}

/// Tick as JSON, and its time.
#[derive(Clone, Debug)]
pub struct Tick {
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// JSON on one line.
    pub json: Bytes,
}

/// Readers, and the condition variable that wakes the observer when a reader connects.
#[derive(Debug)]
pub struct Live {
    news: watch::Sender<News>,
    readers: Arc<AtomicUsize>,
    state: Mutex<State>,
    woken: Condvar,
}

#[derive(Debug, Default)]
struct State {
    has_come: bool,
    is_over: bool,
}

/// Reason why the observer was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Timeout.
    Time,
    /// New reader.
    Reader,
    /// Shutdown of the process.
    End,
}

impl Default for Live {
    fn default() -> Self {
        let news = watch::Sender::new(News::default());
        Self { news, readers: Arc::default(), state: Mutex::default(), woken: Condvar::new() }
    }
}

impl Live {
    /// Creates a reader of events from now on.
    ///
    /// # Errors
    /// The maximum number of readers is reached.
    pub fn read(&self) -> Result<Reader, TooMany> {
        let seat = Seat::take(&self.readers).ok_or(TooMany)?;
        let mut news = self.news.subscribe();
        let (epoch, told) = {
            let now = news.borrow_and_update();
            (now.epoch, now.purges.last().map_or(0, |(number, _)| *number))
        };
        self.state.lock().has_come = true;
        self.woken.notify_all();
        Ok(Reader { news, epoch, told, _seat: seat })
    }

    /// Returns the number of readers.
    pub fn readers(&self) -> usize {
        self.readers.load(SeqCst)
    }

    /// Publishes events to all readers. The epoch remains the same.
    pub fn tell(&self, tick: Tick, purges: Arc<[(u64, Bytes)]>) {
        self.news.send_modify(|news| {
            news.tick = Some(tick);
            news.purges = purges;
        });
    }

    /// Disconnects all readers, because the configuration was replaced or the process shuts down.
    pub fn end_readers(&self) {
        self.news.send_modify(|news| news.epoch += 1);
    }

    /// Stops the observer.
    pub fn end(&self) {
        self.state.lock().is_over = true;
        self.woken.notify_all();
    }

    /// Waits until `until`, for the observer. A reader that connected since the previous wait also wakes it.
    pub fn wait(&self, until: Instant) -> Wake {
        let mut state = self.state.lock();
        loop {
            if state.is_over {
                return Wake::End;
            }
            if std::mem::take(&mut state.has_come) {
                return Wake::Reader;
            }
            if until.saturating_duration_since(Instant::now()) == Duration::ZERO {
                return Wake::Time;
            }
            self.woken.wait_until(&mut state, until);
        }
    }
}

/// Error: the maximum number of readers is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MOST_READERS} clients read the events already: try again later")
    }
}

impl std::error::Error for TooMany {}

/// Slot of a reader, released when it is dropped.
#[derive(Debug)]
struct Seat(Arc<AtomicUsize>);

impl Seat {
    fn take(readers: &Arc<AtomicUsize>) -> Option<Self> {
        let seat = Self(Arc::clone(readers));
        // If the limit is exceeded, the slot is dropped and released.
        (readers.fetch_add(1, SeqCst) < MOST_READERS).then_some(seat)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Reader of live events. A slow reader misses ticks, but purges only if too many are pending, the oldest first.
#[derive(Debug)]
pub struct Reader {
    news: watch::Receiver<News>,
    epoch: u64,
    /// Number of the last purge that was delivered.
    told: u64,
    _seat: Seat,
}

/// Events for a reader.
#[derive(Clone, Debug)]
pub struct Told {
    /// Purges, oldest first.
    pub purges: Vec<Bytes>,
    /// Newest tick.
    pub tick: Tick,
}

impl Reader {
    /// Waits for events; `None` if the reader is disconnected.
    pub async fn next(&mut self) -> Option<Told> {
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
                .filter(|(number, _)| *number > self.told)
                .map(|(_, json)| json.clone())
                .collect();
            self.told = news.purges.last().map_or(self.told, |(number, _)| self.told.max(*number));
            return Some(Told { purges, tick });
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

    fn next(reader: &mut Reader) -> Option<Told> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(reader.next())
    }

    #[test]
    fn slow_reader_gets_the_newest_tick_and_every_purge() {
        let live = Live::default();
        live.tell(tick(1), purges(1..=2));
        let mut reader = live.read().expect("a seat");
        live.tell(tick(2), purges(1..=3));
        live.tell(tick(3), purges(2..=4));
        let told = next(&mut reader).expect("news");
        assert_eq!((told.tick.at_ms, told.purges), (3, vec![Bytes::from("3"), Bytes::from("4")]));
        live.tell(tick(4), purges(2..=4));
        let told = next(&mut reader).expect("news");
        assert_eq!((told.tick.at_ms, told.purges.len()), (4, 0));
    }

    #[test]
    fn readers_are_bounded_and_sent_away() {
        let live = Live::default();
        let mut readers: Vec<Reader> = (0..MOST_READERS).map(|_| live.read().expect("a seat")).collect();
        assert_eq!((live.read().err(), live.readers()), (Some(TooMany), MOST_READERS));
        live.end_readers();
        assert!(next(&mut readers[0]).is_none());
        readers.clear();
        assert_eq!(live.readers(), 0);
        live.read().expect("a seat again");
    }

    #[test]
    fn observer_is_woken_by_the_first_reader_and_by_the_end() {
        let live = Live::default();
        let far = || Instant::now() + Duration::from_hours(1);
        assert_eq!(live.wait(Instant::now()), Wake::Time);
        let _reader = live.read().expect("a seat");
        assert_eq!(live.wait(far()), Wake::Reader);
        live.end();
        assert_eq!(live.wait(far()), Wake::End);
    }
}
