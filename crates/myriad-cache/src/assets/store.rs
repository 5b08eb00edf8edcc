//! Stores the files that a page references when the page is stored.

use bytes::Bytes;
use myriad_encode::Coding;
use myriad_exchange::exchange::{Exchange, ResponseSource};
use myriad_exchange::subrequest::SubrequestResponse;
use myriad_http::ResponseHead;
use myriad_policy::page_assets;
use myriad_store::page::PageView;
use myriad_store::{Body, KeyRef};

use super::{AssetRetention, is_asset, key_of, of};
use crate::invalidate::target_here;
use crate::journey_step::{CacheContext, OwnedCacheContext};
use crate::made_page::MadePage;
use crate::own_files::{is_restricted, read_body, request_file};

/// Maximum length in bytes of a file (style sheet, script) that `cache_keep_assets` stores.
const MAX_ASSET: u64 = 2 << 20;

/// File that every client may get, with its media type, its modification time as text, and its contents.
struct Asset {
    media_type: Vec<u8>,
    modified: Vec<u8>,
    bytes: Bytes,
}

/// Starts a task that stores the style sheets and scripts on the request's host that an HTML page with status 200
/// references. Does nothing for other responses or without `cache_keep_assets`.
pub(crate) fn store_assets(exchange: &Exchange, cached: CacheContext<'_>, meta: PageView<'_>, body: &Body) {
    let request = &exchange.request;
    let Some(keep_for) = of(request) else { return };
    if meta.status != 200 || !meta.media_type().eq_ignore_ascii_case(b"text/html") {
        return;
    }
    let html = body.segments().concat();
    let mut paths: Vec<Vec<u8>> = Vec::new();
    for asset in page_assets(&html) {
        let Some(target) = target_here(request, asset.as_bytes()) else { continue };
        let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
        if is_asset(path) && !paths.iter().any(|known| known == path) {
            paths.push(path.to_vec());
        }
    }
    if paths.is_empty() {
        return;
    }
    let (mut exchange, held) = (exchange.snapshot(), cached.to_owned());
    tokio::task::spawn_local(async move {
        for path in paths {
            store_asset(&mut exchange, &held, &path, keep_for).await;
        }
    });
}

/// Stores a file referenced by a page. Does nothing if the file cannot be read, if [`file_of`] rejects it, or if the
/// same version was stored less than a quarter of the retention time ago.
async fn store_asset(
    exchange: &mut Exchange,
    held: &OwnedCacheContext,
    path: &[u8],
    AssetRetention(keep_ms): AssetRetention,
) {
    let key = key_of(&exchange.request, path);
    let now = myriad_net::clock::now_ms();
    let Some(mut answer) = request_file(exchange, path).await else { return };
    let Some(modified) = file_of(&mut answer) else { return };
    let zone = &held.cache.zone.zone;
    let known = zone.peek_variant(KeyRef::new(&key), |_, _| {});
    let is_stored = known.is_some_and(|page| {
        let is_same = page.meta().last_modified().is_some_and(|(text, _)| *text == *modified);
        is_same && now < page.stored_at().saturating_add(keep_ms / 4)
    });
    if is_stored {
        return;
    }
    if let Some(Asset { media_type, modified, bytes }) = read(answer, modified).await {
        let head =
            ResponseHead::new(200).with(b"Content-Type", &media_type).with(b"Last-Modified", &modified);
        MadePage { key: &key, path, head, body: bytes, valid_ms: keep_ms }.store(exchange, held, now);
    }
}

/// Returns the file's modification time as text. Returns `None` if the status is not 200, if access to the file is
/// restricted, or if the response is not an uncompressed file of 1 to [`MAX_ASSET`] bytes.
fn file_of(answer: &mut SubrequestResponse) -> Option<Vec<u8>> {
    let is_restricted = is_restricted(answer);
    let ResponseSource::File(entry) = &answer.response.source else { return None };
    let file = entry.file().filter(|file| (1..=MAX_ASSET).contains(&file.length))?;
    let is_plain = answer.response.status == 200 && answer.response.coding == Coding::Identity;
    (is_plain && !is_restricted).then(|| file.modified.to_vec())
}

async fn read(answer: SubrequestResponse, modified: Vec<u8>) -> Option<Asset> {
    let media_type = answer.response.media_type().unwrap_or(b"text/plain").to_vec();
    let length = answer.response.known_length()?;
    let bytes = read_body(answer, MAX_ASSET).await?;
    (bytes.len() as u64 == length).then(|| Asset { media_type, modified, bytes: bytes.into() })
}
