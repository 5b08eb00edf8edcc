//! Zones of pages: the store of a zone with its folder, counters and fetch limits.

use std::path::PathBuf;
use std::sync::Arc;

use crate::{AlternativeEncoding, ClockReference, DiskEvent, DiskLimits, DiskOptions, DiskPool, Zone};
use myriad_encode::Coding;
use myriad_log::{ErrorLog, LogLevel};
use myriad_net::clock;
use parking_lot::Mutex;

use crate::page::{
    FetchLimiter, FolderCreator, LeakRecords, LeakSamples, OptimizedCounts, Page, PageMeta, PurgeLog,
    PurgePublisher, PurgeResults, RecentPurges, UncopiedImages, ZoneCounts,
};

/// Cache zone for pages (`*_cache_path`).
pub struct PageZone {
    /// Store of the pages, in memory and on disk.
    pub zone: Zone<PageMeta>,
    /// Folder of the zone's files.
    pub folder: PageFolder,
    /// Counters of requests and stored pages by cache status.
    pub counts: ZoneCounts,
    /// Numbers of pages covered by recent purges whose pages were counted in the background.
    pub purge_results: PurgeResults,
    /// Log of the last purges, and of changes without a purge.
    pub purges: PurgeLog,
    /// Numbers of the last purges by tag or URL. They show whether parts of pages that are stored for one visitor are still
    /// valid.
    pub recent_purges: Arc<RecentPurges>,
    /// Limiter of concurrent fetches of pages into the zone.
    pub fetches: Arc<FetchLimiter>,
    /// Results of the leak guard.
    pub leaks: LeakRecords,
    /// State of the sampled verifications of the leak guard.
    pub leak_samples: LeakSamples,
    /// Counters of the page optimizer.
    pub optimized: OptimizedCounts,
    /// Images without a smaller copy.
    pub uncopied_images: UncopiedImages,
    /// Destination of the zone's purges besides the zone itself; `None` outside of a cluster. A reload may change it.
    pub publisher: Mutex<Option<Arc<dyn PurgePublisher>>>,
}

/// Folder of a zone's files. It does not change while the zone exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageFolder {
    /// Path of the folder.
    pub path: PathBuf,
    /// `levels=`: number of digits in the names of each level of subfolders.
    pub levels: Vec<u8>,
}

impl PageZone {
    /// Creates an empty zone.
    pub fn new(zone: Zone<PageMeta>, folder: PageFolder) -> Self {
        Self {
            zone,
            folder,
            counts: ZoneCounts::default(),
            purge_results: PurgeResults::default(),
            purges: PurgeLog::default(),
            recent_purges: Arc::default(),
            fetches: Arc::default(),
            leaks: LeakRecords::default(),
            leak_samples: LeakSamples::default(),
            optimized: OptimizedCounts::default(),
            uncopied_images: UncopiedImages::default(),
            publisher: Mutex::default(),
        }
    }

    /// Opens the disk tier, or only changes its limits if it is already open. Events are written to `log`. If the
    /// folder was removed and this process cannot create it again, it is requested from `keeper` (the supervisor).
    pub fn open(&self, limits: DiskLimits, pool: &DiskPool, log: &ErrorLog, keeper: Arc<dyn FolderCreator>) {
        let (log, name, keeper) = (log.clone(), self.zone.name().to_owned(), keeper);
        let options = DiskOptions {
            path: self.folder.path.clone(),
            levels: self.folder.levels.clone(),
            limits,
            clock: Arc::new(clock::now_ms),
            reference: Arc::new(clock_reference),
            report: Arc::new(move |event| {
                log_event(&log, &name, event);
                if let DiskEvent::Removed { path, is_made: false, .. } = event {
                    keeper.request_folder(path);
                }
            }),
        };
        self.zone.open_disk(options, pool);
        self.zone.limit_disk(limits);
    }
}

/// Formats a system error like nginx: number, colon, text.
fn describe(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    error.raw_os_error().map_or_else(|| text.to_owned(), |number| format!("{number}: {text}"))
}

/// Returns the current reference points of the process clock.
fn clock_reference() -> ClockReference {
    ClockReference {
        boot: clock::boot(),
        boot_at_ms: clock::boot_at_ms(),
        epoch_at_ms: clock::ahead_ms().saturating_neg(),
    }
}

fn log_event(log: &ErrorLog, zone: &str, event: &DiskEvent) {
    match event {
        DiskEvent::Failed { pauses_writes, what, path, error } => {
            let effect = if *pauses_writes {
                "pages are stored only in memory until the disk works again"
            } else {
                "further failures are not logged until the disk works again"
            };
            let (path, error) = (path.display(), describe(error));
            let text = format_args!("cache zone \"{zone}\": {what} \"{path}\" failed ({error}); {effect}");
            log.write(LogLevel::Crit, None, text);
        }
        DiskEvent::Works => {
            log.write(
                LogLevel::Notice,
                None,
                format_args!("cache zone \"{zone}\": the disk works again, pages are stored on it"),
            );
        }
        DiskEvent::Quarantined { path, is_kept, why, count } => {
            let done = if *is_kept { "quarantined" } else { "removed" };
            let path = path.display();
            let text = format_args!("cache zone \"{zone}\": \"{path}\" is {done}: {why} ({count} so far)");
            log.write(LogLevel::Warn, None, text);
        }
        DiskEvent::PurgesDamaged { path, all } => {
            let path = path.display();
            let end = match all {
                true => "purges may be lost, so all pages are purged",
                false => {
                    "its end is incomplete after a power failure, and belongs to a purge that was not confirmed"
                }
            };
            let text = format_args!(
                "cache zone \"{zone}\": \"{path}\" is damaged: {end}; a copy is in \"{path}.damaged\""
            );
            log.write(LogLevel::Error, None, text);
        }
        DiskEvent::Removed { is_news: false, .. } => {}
        DiskEvent::Removed { path, is_made, .. } => {
            let path = path.display();
            let end = if *is_made { "and was created again" } else { "and its creation was requested" };
            let text =
                format_args!("cache zone \"{zone}\": \"{path}\" was removed with all its pages, {end}");
            log.write(LogLevel::Notice, None, text);
        }
        DiskEvent::Recovered { files, bytes, took_ms } => log.write(
            LogLevel::Notice,
            None,
            format_args!("cache zone \"{zone}\": {files} files of {bytes} bytes found in {took_ms} ms"),
        ),
    }
}

/// Returns the index at which a page stores its encoding with `coding`. For gzip, this is the encoding made when the
/// page was stored, at a fast level. `Identity` has no encoding and returns the index of gzip.
pub fn encoding_index(coding: Coding) -> u8 {
    match coding {
        Coding::Identity | Coding::Gzip => 0,
        Coding::Brotli => 1,
        Coding::Zstd => 2,
    }
}

/// Index of the encoding with gzip at a high level. Gzip at the fast level, made when the page was stored, has its own
/// index.
pub const STRONG_GZIP: u8 = 3;

/// Returns the page's encoding with `coding`; for gzip, the one at a high level if there is one, otherwise the fast
/// one. Returns `None` if the page has no such encoding, and always for `Identity`.
pub fn alternative(page: &Page, coding: Coding) -> Option<&AlternativeEncoding<u8>> {
    match coding {
        Coding::Identity => None,
        Coding::Gzip => page.alternative(STRONG_GZIP).or_else(|| page.alternative(encoding_index(coding))),
        coding => page.alternative(encoding_index(coding)),
    }
}
