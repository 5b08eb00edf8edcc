//! Making of WebP copies of images in the background, and records of images without a copy.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use myriad_encode::{Coding, CompressionPool, PoolOptions, SubmitResult};
use myriad_exchange::exchange::{Exchange, ResponseSource};
use myriad_net::clock::now_ms;
use myriad_output::image::{CopyRefusal, ImageError, ImageKind, Interrupt, OutputFormat, webp_copy};
use myriad_policy::PurgeSubject;
use myriad_store::KeyRef;
use myriad_store::page::key::{IMAGE, ORIGINAL_LENGTH, append};
use myriad_store::page::{PageZone, UncopiedImage};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::core_time::CORE_TIME;
use super::own_resources::file_version;
use crate::made_file::store_file;
use crate::own_files::{is_restricted, read_body, request_file};
use crate::work_budget::Reservation;

/// Maximum length of an image in bytes. A longer one costs too much memory.
pub(super) const MAX_BYTES: u64 = 8 << 20;
/// Maximum number of pixels of an image. WordPress limits images to 2,560 pixels per side.
const MAX_PIXELS: u64 = 2_560 * 2_560;
/// Maximum time in which a copy is made. The encoder itself cannot be cancelled.
const MAX_TIME: Duration = Duration::from_secs(20);
/// Maximum number of images whose copies are being made: they are read, wait for the thread, or are converted.
const MAX_RUNNING: usize = 4;
/// Time for which a copy is stored, in milliseconds.
const VALID_MS: u64 = 365 * 86_400_000;
/// Time after which an attempt that was cancelled, or whose file could not be read, may be repeated, in milliseconds.
const RETRY_LATE_MS: u64 = 600_000;
/// Time after which an attempt that found no space for its result, or no thread, may be repeated, in milliseconds.
pub(super) const RETRY_FULL_MS: u64 = 5_000;

/// Thread that makes copies of images; `None` if it cannot be started. It is separate from the threads for compression,
/// because an image takes up to several seconds.
static POOL: LazyLock<Option<CompressionPool>> = LazyLock::new(|| {
    // The budget of the optimizer limits the work.
    CompressionPool::start(&PoolOptions { queue: MAX_RUNNING, budget: 1.0, ..PoolOptions::default() }).ok()
});
/// Versions of files whose copies are being made.
static RUNNING: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// Version of a file with an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImageVersion {
    /// Hash that differs between versions of files.
    pub(super) hash: u64,
    /// Length of the file in bytes.
    pub(super) bytes: u64,
}

impl ImageVersion {
    /// Returns the cache key of the copy.
    pub(super) fn copy_key(self) -> Vec<u8> {
        let mut key = Vec::new();
        append(IMAGE, format!("{:016x}.webp", self.hash).as_bytes(), &mut key);
        key
    }
}

/// Returns the record that the image of a request has no copy. `retry_at_ms` is the time from which a request may cause
/// another attempt; `None` for never.
pub(super) fn uncopied(
    exchange: &Exchange,
    version: ImageVersion,
    retry_at_ms: Option<u64>,
    reason: String,
) -> UncopiedImage {
    let request = &exchange.request;
    let subject = PurgeSubject::new(b"", &request.route.host, request.sent_uri().unwrap_or_default());
    let path_label = subject.path_label();
    UncopiedImage { path_label, bytes: version.bytes, at_ms: now_ms(), retry_at_ms, reason }
}

/// Reason why the copy of a file is not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyLimit {
    /// The copy is already being made.
    InProgress,
    /// [`MAX_RUNNING`] other copies are being made.
    TooMany,
}

/// Registration of a file (by its version) whose copy is being made. Dropping it permits another attempt.
pub(super) struct RunningCopy(u64);

impl RunningCopy {
    /// Registers a file by its version. Returns an error if its copy is already being made, or if [`MAX_RUNNING`]
    /// copies are.
    pub(super) fn begin(version: u64) -> Result<Self, CopyLimit> {
        let mut running = RUNNING.lock();
        if running.contains(&version) {
            return Err(CopyLimit::InProgress);
        }
        if running.len() >= MAX_RUNNING {
            return Err(CopyLimit::TooMany);
        }
        running.push(version);
        Ok(Self(version))
    }
}

impl Drop for RunningCopy {
    fn drop(&mut self) {
        RUNNING.lock().retain(|version| *version != self.0);
    }
}

/// Work of making the WebP copy of a file with an image.
pub(super) struct CopyWork {
    /// Copy of the request that caused the work.
    pub(super) exchange: Box<Exchange>,
    pub(super) zone: Arc<PageZone>,
    /// Path and query of the request.
    pub(super) target: Vec<u8>,
    pub(super) version: ImageVersion,
    pub(super) budget_ppm: u32,
    pub(super) _running: RunningCopy,
    pub(super) _reservation: Reservation,
}

impl CopyWork {
    /// Makes and stores the copy. If that fails, records the reason and the time of the next attempt.
    pub(super) async fn run(mut self) {
        let failure = match self.read().await {
            None => Some((Some(RETRY_LATE_MS), "an anonymous client gets another response".to_owned())),
            Some(bytes) => match self.copy_in_pool(bytes).await {
                None => Some((Some(RETRY_FULL_MS), "too many copies wait for the thread".to_owned())),
                Some(Ok(copy)) => self.store(copy),
                Some(Err(CopyRefusal::Failed(ImageError::Cancelled))) => {
                    Some((Some(RETRY_LATE_MS), "it took more than 20 seconds".to_owned()))
                }
                Some(Err(refusal)) => {
                    self.zone.optimized.images_unchanged.fetch_add(1, Relaxed);
                    Some((None, refusal.to_string()))
                }
            },
        };
        let images = &self.zone.uncopied_images;
        match failure {
            None => images.remove(self.version.hash),
            Some((wait_ms, reason)) => {
                let retry_at = wait_ms.map(|wait| now_ms() + wait);
                images.insert(self.version.hash, uncopied(&self.exchange, self.version, retry_at, reason));
            }
        }
    }

    /// Stores the copy. If that fails, returns the time after which the attempt may be repeated, and the reason.
    fn store(&self, copy: Vec<u8>) -> Option<(Option<u64>, String)> {
        let saved = self.version.bytes.saturating_sub(copy.len() as u64);
        let key = self.version.copy_key();
        let path = self.target.split(|byte| *byte == b'?').next().unwrap_or_default();
        let media_type = OutputFormat::Webp.media_type().as_bytes();
        let unsent = format!("{ORIGINAL_LENGTH}: {}\r\n", self.version.bytes);
        let file = (media_type, Bytes::from(copy));
        store_file(&self.exchange, &self.zone, (&key, path), file, unsent.as_bytes(), VALID_MS);
        let (zone, key) = (&self.zone.zone, KeyRef::new(&key));
        if zone.peek(key).is_empty() && zone.seek(key, |_, _| {}).is_none() {
            return Some((Some(RETRY_FULL_MS), "the cache zone has no space for the copy".to_owned()));
        }
        let counts = &self.zone.optimized;
        counts.image_copies.fetch_add(1, Relaxed);
        counts.image_bytes_saved.fetch_add(saved, Relaxed);
        None
    }

    /// Reads the file as an anonymous client would; `None` if such a client gets another version of the file, another
    /// response or an error.
    async fn read(&mut self) -> Option<Vec<u8>> {
        let mut answer = request_file(&mut self.exchange, &self.target).await?;
        let ResponseSource::File(entry) = &answer.response.source else { return None };
        let version = file_version(entry.file()?.identity_parts());
        let is_same = answer.response.status == 200
            && answer.response.coding == Coding::Identity
            && version == self.version.hash;
        if !is_same || is_restricted(&mut answer) {
            return None;
        }
        read_body(answer, MAX_BYTES).await
    }

    /// Makes the copy on the thread for images. Returns `None` if the thread has no capacity or was stopped.
    async fn copy_in_pool(&self, bytes: Vec<u8>) -> Option<Result<Vec<u8>, CopyRefusal>> {
        let (sender, receiver) = oneshot::channel();
        let (budget_ppm, zone) = (self.budget_ppm, Arc::clone(&self.zone));
        let job = move || {
            let began = Instant::now();
            let is_late = || began.elapsed() > MAX_TIME;
            let made = match ImageKind::of(&bytes) {
                Some(kind) => webp_copy(&bytes, kind, MAX_PIXELS, Interrupt::new(&is_late)),
                None => Err(CopyRefusal::Unsuitable("it is no image")),
            };
            let took_ms = began.elapsed().as_millis() as u64;
            CORE_TIME.charge(budget_ppm, took_ms);
            zone.optimized.filter_ms.fetch_add(took_ms, Relaxed);
            // Fails if the worker has stopped meanwhile.
            let _ = sender.send(made);
        };
        match POOL.as_ref()?.submit(self.version.hash, job) {
            // The thread does not answer after a panic, which the same file would cause again.
            SubmitResult::Queued => {
                Some(receiver.await.unwrap_or(Err(CopyRefusal::Unsuitable("its processing failed"))))
            }
            _ => None,
        }
    }
}
