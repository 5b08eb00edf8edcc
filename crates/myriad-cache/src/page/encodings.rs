//! Encodings of a page: a fast one is made when the page is stored, better ones in the background after requests.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use myriad_encode::{Coding, CodingSet, CompressionLevel, compress, first_gzip_level};
use myriad_store::{ALTERNATIVES, AlternativeEncoding, Body};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use myriad_exchange::exchange::{Exchange, Request};
use myriad_store::page::{Page, PageView, PageZone, STRONG_GZIP, alternative, encoding_index};

/// Maximum length in bytes of a page that is compressed in the background.
const MAX_COMPRESSED: u64 = 8 << 20;
/// Number of hits from which a page is compressed with gzip at the strong level.
const HOT: u32 = 8;

/// Returns copies of the encodings of a page, each at its index (`None` for a missing one), for a page that replaces it
/// with the same body.
pub(crate) fn alternatives_of(page: &Page) -> [Option<AlternativeEncoding<u8>>; ALTERNATIVES] {
    std::array::from_fn(|index| {
        let known = page.alternative(index as u8)?;
        Some(AlternativeEncoding { bytes: known.bytes.clone(), meta: known.meta })
    })
}

/// Compresses a page with gzip at a low level while it is stored, if it may be sent compressed and [`first_gzip_level`]
/// has a level for its length. The other encodings are missing.
pub(crate) fn first_encodings(
    exchange: &Exchange,
    meta: PageView<'_>,
    body: &Body,
) -> [Option<AlternativeEncoding<u8>>; ALTERNATIVES] {
    let mut alternatives = [const { None }; ALTERNATIVES];
    let offer = &exchange.request.place().offer;
    let fits = || offer.gzip.as_ref().is_some_and(|rules| rules.fit(meta.media_type(), Some(body.len())));
    let offered = meta.origin_encoded || myriad_output::is_compressed(meta.status) && fits();
    if offered
        && !meta.no_transform
        && meta.status != 206
        && let Some(level) = first_gzip_level(body.len())
    {
        alternatives[usize::from(encoding_index(Coding::Gzip))] = encode(body, Coding::Gzip, level);
    }
    alternatives
}

fn encode(body: &Body, coding: Coding, level: CompressionLevel) -> Option<AlternativeEncoding<u8>> {
    let contiguous: Cow<'_, [u8]> = match body.segments() {
        [one] => Cow::Borrowed(one),
        segments => Cow::Owned(segments.concat()),
    };
    let bytes = compress(coding, level, &contiguous).ok()?;
    Some(AlternativeEncoding { bytes: Bytes::from(bytes.into_boxed_slice()), meta: level.number(coding) })
}

/// Returns the best available encoding for a request. If a better one is missing, queues it in the background, unless
/// the page is longer than [`MAX_COMPRESSED`] or not in memory; the strong level of gzip only from [`HOT`] hits on.
pub(super) fn choose(
    request: &Request,
    zone: &Arc<PageZone>,
    page: &Page,
    encodings: &myriad_output::Encodings,
) -> Coding {
    let wanted = encodings.wanted();
    if wanted == Coding::Identity {
        return Coding::Identity;
    }
    let strong = match wanted {
        Coding::Gzip => page.alternative(STRONG_GZIP).is_some() || page.hits() < HOT,
        coding => page.alternative(encoding_index(coding)).is_some(),
    };
    if !strong && page.body_len() <= MAX_COMPRESSED && page.stored_body().is_none() {
        queue(request, zone, page, wanted);
    }
    let mut available = CodingSet::EMPTY.with(Coding::Identity);
    for coding in [Coding::Gzip, Coding::Brotli, Coding::Zstd] {
        if alternative(page, coding).is_some() {
            available.insert(coding);
        }
    }
    encodings.best(available).unwrap_or(Coding::Identity)
}

/// Queues the compression of a page in the background. The result is only used for this stored version of the page.
fn queue(request: &Request, zone: &Arc<PageZone>, page: &Page, coding: Coding) {
    let zone = Arc::clone(zone);
    let page = page.clone();
    let index = if coding == Coding::Gzip { STRONG_GZIP } else { encoding_index(coding) };
    // Generation numbers are only unique within a zone.
    let key =
        xxh3_64_with_seed(&page.generation().to_le_bytes(), Arc::as_ptr(&zone) as u64 ^ u64::from(index));
    request.site.worker.encoder.submit(key, move || {
        if page.alternative(index).is_none()
            && let Some(encoded) = encode(&page.body(), coding, CompressionLevel::Strong)
        {
            // Fails if the page was removed or already has the encoding; both are harmless.
            let _ = zone.zone.attach(&page, index, encoded);
        }
    });
}
