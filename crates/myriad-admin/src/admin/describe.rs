//! Reports about stored pages.

use crate::protocol::{
    EncodingReport, EsiReport, OptimizedReport, PageReport, PartReport, Tier, escape_bytes,
};
use myriad_encode::Coding;
use myriad_policy::{PageEncoding, variant_fields};
use myriad_script::esi::{Hole, PageHoles};
use myriad_store::{ALTERNATIVES, DiskPage, Selection};

use myriad_store::page::{Page, PageMeta, PageView, PageZone, STRONG_GZIP, encoding_index};

/// Page found in a cache zone, in memory or on disk.
pub(crate) enum FoundPage {
    /// Page in memory, which may have a file on disk as well.
    Memory(Page),
    /// Page that is on disk only.
    Disk(Box<DiskPage<PageMeta>>),
}

impl FoundPage {
    pub(super) fn key(&self) -> &[u8] {
        match self {
            Self::Memory(page) => page.key(),
            Self::Disk(page) => &page.key,
        }
    }

    /// Returns the time at which the page was stored, in milliseconds of the process clock.
    pub(super) fn stored_at(&self) -> u64 {
        match self {
            Self::Memory(page) => page.stored_at(),
            Self::Disk(page) => page.stored_at,
        }
    }

    /// Returns the size of the uncompressed body, in bytes.
    pub(crate) fn body_bytes(&self) -> u64 {
        match self {
            Self::Memory(page) => page.body_len(),
            Self::Disk(page) => page.body_len,
        }
    }

    pub(crate) fn meta(&self) -> PageView<'_> {
        match self {
            Self::Memory(page) => page.meta(),
            Self::Disk(page) => page.meta.view(),
        }
    }

    /// Returns the URL for which the page was fetched, with its port if that is not the default port and pages of
    /// different ports have different keys.
    pub(super) fn url(&self) -> Vec<u8> {
        let marks = &self.meta().marks();
        let port = marks.port().map(|port| format!(":{port}")).unwrap_or_default();
        [marks.subject().scheme, b"://", marks.host(), port.as_bytes(), marks.target()].concat()
    }

    /// Returns the URL for which the page was fetched, without the port.
    pub(super) fn url_of_any_port(&self) -> Vec<u8> {
        let marks = &self.meta().marks();
        [marks.subject().scheme, b"://", marks.host(), marks.target()].concat()
    }

    /// Returns the body with each byte of noise (text that differs at each rendering) replaced by a byte of value 1.
    /// `None` if the body is not UTF-8 or not in memory.
    pub(super) fn body_without_noise(&self) -> Option<String> {
        let Self::Memory(page) = self else { return None };
        let body = page.body();
        if body.stored().is_some() {
            return None;
        }
        let mut bytes = body.segments().concat();
        let noise = page.meta().history().map(|history| history.noise.ranges(&bytes)).unwrap_or_default();
        for range in noise {
            bytes[range].fill(1);
        }
        String::from_utf8(bytes).ok()
    }

    pub(super) fn report(&self, zone: &PageZone, now_ms: u64) -> PageReport {
        let report = PageReport {
            zone: zone.zone.name().to_owned(),
            key: escape_bytes(self.key()),
            url: Some(escape_bytes(&self.url())),
            tags: self.meta().marks().tags().map(escape_bytes).collect(),
            now_ms,
            ..PageReport::default()
        };
        in_system_time(match self {
            Self::Memory(page) => of_memory(page, zone, report),
            Self::Disk(page) => of_disk(page, report),
        })
    }
}

/// Converts the times of a report from the process clock to the system clock. Times that are 0 (none) or the
/// maximum (never) are unchanged.
fn in_system_time(mut report: PageReport) -> PageReport {
    let times = [
        &mut report.now_ms,
        &mut report.stored_ms,
        &mut report.fresh_until_ms,
        &mut report.stale_updating_until_ms,
        &mut report.stale_error_until_ms,
    ];
    for time in times.into_iter().filter(|time| ![0, u64::MAX].contains(*time)) {
        *time = myriad_net::clock::to_wall_ms(*time);
    }
    report
}

fn of_memory(page: &Page, zone: &PageZone, report: PageReport) -> PageReport {
    let file = zone.zone.file_of(page);
    let encodings = (0..ALTERNATIVES as u8).filter_map(|index| {
        let alternative = page.alternative(index)?;
        Some(encoding(index, alternative.bytes.len(), alternative.meta))
    });
    // A soft purge makes a page stale before its own time.
    let softly = page.fresh_until() < page.meta().lifetime().fresh_until || zone.zone.is_made_stale(page);
    PageReport {
        variant: page.selection().map(variant),
        stored_ms: page.stored_at(),
        fresh_until_ms: if softly { 0 } else { page.fresh_until() },
        updating: page.is_updating(report.now_ms),
        hits: page.hits().into(),
        tier: if file.is_some() { Tier::Both } else { Tier::Memory },
        bytes: page.body_len(),
        memory_bytes: page.weight() as u64,
        encodings: in_order(encodings.collect()),
        file: file.map(|file| file.to_string_lossy().into_owned()),
        esi: esi(page.meta(), page.body_len(), page.stored_at()),
        optimized: optimized(page),
        ..of_meta(page.meta(), report)
    }
}

/// Describes the optimized form of a page, or the reason why it has none; `None` before either is known.
fn optimized(page: &Page) -> Option<OptimizedReport> {
    let form = page.replacement()?;
    let state = form.state();
    // The text was written by the optimizer.
    let report: OptimizedReport = serde_json::from_str(state.report()).unwrap_or_default();
    Some(OptimizedReport {
        bytes: form.object().map(Page::body_len),
        is_outdated: state.is_revoked(),
        bundles: state.bundles().iter().map(|name| format!("/_myriad/{name}")).collect(),
        ..report
    })
}

fn of_disk(page: &DiskPage<PageMeta>, report: PageReport) -> PageReport {
    let encodings = page.encodings.iter().map(|(index, level, length)| encoding(*index, *length, *level));
    PageReport {
        variant: page.selection.as_ref().map(variant),
        stored_ms: page.stored_at,
        fresh_until_ms: page.fresh_until,
        tier: Tier::Disk,
        bytes: page.body_len,
        encodings: in_order(encodings.collect()),
        file: Some(page.file.to_string_lossy().into_owned()),
        esi: esi(page.meta.view(), page.body_len, page.stored_at),
        ..of_meta(page.meta.view(), report)
    }
}

fn of_meta(meta: PageView<'_>, report: PageReport) -> PageReport {
    let etag = meta.tag.as_ref().map(|tag| {
        let mut text = Vec::new();
        tag.write(PageEncoding::IDENTITY, &mut text);
        escape_bytes(&text)
    });
    PageReport {
        status: meta.status,
        media_type: escape_bytes(meta.media_type()),
        stale_updating_until_ms: meta.lifetime().stale_updating_until,
        stale_error_until_ms: meta.lifetime().stale_error_until,
        etag,
        last_modified: meta.last_modified().map(|(text, _)| escape_bytes(text)),
        ..report
    }
}

/// Describes the ESI data of a page: its fragments; the reason, if any, why known visitors (such as logged-in users)
/// may not get the page; and its version, if the origin must compare it (`compared` in `X-Myriad-ESI`). `length` is the
/// size of the body in bytes, `stored_at` the time at which the page was stored, in milliseconds. Returns `None` for a
/// page without ESI data.
fn esi(meta: PageView<'_>, length: u64, stored_at: u64) -> Option<EsiReport> {
    let cut = PageHoles::decode(meta.cut(), length)?;
    let part = |Hole { at, inline, include }: &Hole| PartReport {
        src: escape_bytes(&include.src),
        alt: include.alt.as_deref().map(escape_bytes),
        at: *at,
        instead: *inline,
        private: cut.for_known_visitors,
    };
    Some(EsiReport {
        known: cut.for_known_visitors && cut.compared.is_none(),
        compared: cut.compared.is_some(),
        version: cut.compared.as_deref().map(|word| meta.version(stored_at, word)).unwrap_or_default(),
        why: cut.why.as_deref().map(escape_bytes),
        parts: cut.holes.iter().map(part).collect(),
        ..EsiReport::default()
    })
}

fn encoding(index: u8, length: usize, level: u8) -> EncodingReport {
    EncodingReport { coding: coding_of(index).as_str().to_owned(), bytes: length as u64, level }
}

/// Returns the content coding of the compressed versions that the store holds at `index`; identity for an unknown
/// index.
pub(crate) fn coding_of(index: u8) -> Coding {
    match index {
        STRONG_GZIP => Coding::Gzip,
        index => [Coding::Gzip, Coding::Brotli, Coding::Zstd]
            .into_iter()
            .find(|coding| encoding_index(*coding) == index)
            .unwrap_or(Coding::Identity),
    }
}

/// Sorts the compressed versions of a page by coding (`zstd`, `gzip`, `br`), then by level, lowest first: their order
/// in the store has no meaning for readers.
fn in_order(mut encodings: Vec<EncodingReport>) -> Vec<EncodingReport> {
    encodings.sort_by(|one, other| (&other.coding, one.level).cmp(&(&one.coding, other.level)));
    encodings
}

fn variant(selection: &Selection) -> String {
    let fields = variant_fields(&selection.variant).into_iter().map(|(name, value)| match value {
        Some(value) => format!("{}: {}", escape_bytes(name), escape_bytes(&value)),
        None => format!("no {}", escape_bytes(name)),
    });
    fields.collect::<Vec<_>>().join("; ")
}
