//! Numbers of a zone's stored bodies by coding. They are counted incrementally, because scanning a zone of a million
//! pages takes too long.

use std::collections::HashMap;

use crate::protocol::monitoring::EncodingTotal;
use myriad_encode::Coding;
use myriad_store::page::PageZone;
use myriad_store::{ALTERNATIVES, Cursor};

use crate::admin::coding_of;

/// Maximum number of batches (of up to 64 keys each) that one step of a scan reads, which takes some milliseconds.
const BATCHES: usize = 64;
/// Pause between two complete scans of a cache zone, in milliseconds.
const PAUSE_MS: u64 = 5_000;
/// Content codings in the order of output.
const CODINGS: [Coding; 4] = [Coding::Identity, Coding::Gzip, Coding::Brotli, Coding::Zstd];

/// Number of bodies in memory and their total bytes, for each of [`CODINGS`].
type CodingTotals = [(u64, u64); CODINGS.len()];

/// State of the scans that count stored bodies by content coding, by zone name.
#[derive(Debug, Default)]
pub(super) struct ZoneScans(HashMap<String, ZoneScan>);

#[derive(Debug, Default)]
struct ZoneScan {
    at: Option<Cursor>,
    counted: CodingTotals,
    last: Option<(u64, CodingTotals)>,
}

impl ZoneScans {
    /// Continues the scan of the memory of a zone for bodies by content coding, except during the pause after a
    /// complete scan. Returns the result of the last complete scan and its time; an empty list and `None` before the
    /// first.
    pub(super) fn step(&mut self, zone: &PageZone, now_ms: u64) -> (Vec<EncodingTotal>, Option<u64>) {
        let round = self.0.entry(zone.zone.name().to_owned()).or_default();
        round.step(zone, now_ms);
        let Some((ended_ms, totals)) = round.last else { return (Vec::new(), None) };
        let non_empty = CODINGS.iter().zip(totals).filter(|(_, (pages, _))| *pages > 0);
        let encodings = non_empty.map(|(coding, (pages, bytes))| EncodingTotal {
            coding: if *coding == Coding::Identity {
                "identity".to_owned()
            } else {
                coding.as_str().to_owned()
            },
            pages,
            bytes,
        });
        (encodings.collect(), Some(ended_ms))
    }

    /// Removes the state of zones that no longer exist.
    pub(super) fn retain_zones(&mut self, is_there: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| is_there(name));
    }
}

impl ZoneScan {
    fn step(&mut self, zone: &PageZone, now_ms: u64) {
        if self.at.is_none() && self.last.is_some_and(|(ended_ms, _)| now_ms < ended_ms + PAUSE_MS) {
            return;
        }
        for _ in 0..BATCHES {
            let at = self.at.get_or_insert_default();
            let (pages, next) = zone.zone.inspect(*at);
            for page in pages {
                self.count(Coding::Identity, page.body_len());
                for index in 0..ALTERNATIVES as u8 {
                    if let Some(alternative) = page.alternative(index) {
                        self.count(coding_of(index), alternative.bytes.len() as u64);
                    }
                }
            }
            self.at = next;
            if next.is_none() {
                self.last = Some((now_ms, std::mem::take(&mut self.counted)));
                return;
            }
        }
    }

    fn count(&mut self, coding: Coding, bytes: u64) {
        if let Some(at) = CODINGS.iter().position(|known| *known == coding) {
            self.counted[at].0 += 1;
            self.counted[at].1 += bytes;
        }
    }
}
