//! Page records: the metadata of pages as bytes in files.

use crate::Persist;
use myriad_policy::{EntityTag, Lifetime, ValiditySource as FreshnessSource};

use crate::page::{
    PageFacts, PageMarks, PageMeta, PageView, ProxiedFacts, StoredDuration, TextEnds, TextParts,
};

/// Encoding of page metadata in files: numbers are little-endian, byte strings follow their lengths, flags are in the
/// order of the fields.
impl Persist for PageMeta {
    const VERSION: u16 = 6;

    fn encode(page: PageView<'_>, out: &mut Vec<u8>) {
        // Every field is named, so that the compiler reports a field that is not handled here. A new field requires a
        // new version.
        let PageFacts {
            status,
            ends: _,
            tag,
            modified_s,
            origin_encoded,
            no_transform,
            stored_lifetime: kept_lifetime,
            redirects,
            stored_proxied: kept_proxied,
            response_time: took,
        } = page.facts;
        let texts = page.texts();
        out.extend_from_slice(&status.to_le_bytes());
        put(out, texts.reason().as_bytes());
        put(out, texts.lines());
        put(out, texts.media_type());
        put_tag(out, tag.as_ref());
        out.push(u8::from(!texts.last_modified().is_empty()));
        if !texts.last_modified().is_empty() {
            put(out, texts.last_modified());
            out.extend_from_slice(&modified_s.to_le_bytes());
        }
        out.extend_from_slice(&[u8::from(*origin_encoded), u8::from(*no_transform), u8::from(*redirects)]);
        put_lifetime(out, &kept_lifetime.get());
        put_proxied(out, kept_proxied.get());
        put(out, texts.marks().as_bytes());
        put(out, texts.unsent());
        put(out, texts.cut());
        put(out, texts.history());
        out.extend_from_slice(&took.to_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let status = u16::from_le_bytes(reader.array()?);
        let reason = std::str::from_utf8(reader.bytes()?).ok()?;
        let (lines, media_type) = (reader.bytes()?, reader.bytes()?);
        let tag = reader.tag()?;
        let (last_modified, modified_s) =
            if reader.flag()? { (reader.bytes()?, reader.number()?) } else { (&b""[..], 0) };
        let (origin_encoded, no_transform, redirects) = (reader.flag()?, reader.flag()?, reader.flag()?);
        let (lifetime, proxied) = (reader.lifetime()?, reader.proxied()?);
        let marks = PageMarks::from_bytes(reader.bytes()?)?;
        let (unsent, cut, history) = (reader.bytes()?, reader.bytes()?, reader.bytes()?);
        let took = StoredDuration::of_bytes(reader.array()?);
        let parts = TextParts {
            lines,
            marks: marks.borrowed(),
            media_type,
            last_modified,
            reason,
            unsent,
            cut,
            history,
        };
        let facts = PageFacts {
            status,
            ends: TextEnds::of(&parts),
            tag,
            modified_s,
            origin_encoded,
            no_transform,
            redirects,
            stored_lifetime: lifetime.into(),
            stored_proxied: proxied.into(),
            response_time: took,
        };
        reader.0.is_empty().then(|| Self::new(facts, parts.join()))
    }

    fn shifted(mut self, ms: i64) -> Self {
        if ms != 0 {
            self.facts.stored_lifetime = self.facts.stored_lifetime.get().shifted(ms).into();
            if let Some(history) = self.view().history() {
                self = self.with_history(&history.shifted(ms));
            }
        }
        self
    }

    fn encode_alternative(level: &u8, out: &mut Vec<u8>) {
        out.push(*level);
    }

    fn decode_alternative(bytes: &[u8]) -> Option<u8> {
        match bytes {
            [level] => Some(*level),
            _ => None,
        }
    }
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn put_tag(out: &mut Vec<u8>, tag: Option<&EntityTag>) {
    match tag {
        None => out.push(0),
        Some(EntityTag::Generated(hash)) => {
            out.push(1);
            out.extend_from_slice(&hash.to_le_bytes());
        }
        Some(EntityTag::Origin { opaque, weak, undone }) => {
            out.push(2 + u8::from(*weak) + 2 * u8::from(*undone));
            put(out, opaque);
        }
    }
}

fn put_lifetime(out: &mut Vec<u8>, lifetime: &Lifetime) {
    let Lifetime {
        fresh_until,
        stale_updating_until,
        stale_error_until,
        must_revalidate,
        valid_ms,
        source,
        born,
    } = lifetime;
    for number in [fresh_until, stale_updating_until, stale_error_until, valid_ms] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.push(u8::from(*must_revalidate));
    out.push(match source {
        FreshnessSource::XAccelExpires => 0,
        FreshnessSource::SMaxage => 1,
        FreshnessSource::MaxAge => 2,
        FreshnessSource::Expires => 3,
        FreshnessSource::CacheValid => 4,
        FreshnessSource::Heuristic => 5,
        FreshnessSource::Accelerator => 6,
        FreshnessSource::Adaptive => 7,
    });
    out.push(u8::from(born.is_some()));
    out.extend_from_slice(&born.unwrap_or(0).to_le_bytes());
}

fn put_proxied(out: &mut Vec<u8>, proxied: ProxiedFacts) {
    let ProxiedFacts { expired, has_cache_control, no_cache, no_store, private, has_last_modified, has_etag } =
        proxied;
    out.push(expired.map_or(2, u8::from));
    for flag in [has_cache_control, no_cache, no_store, private, has_last_modified, has_etag] {
        out.push(u8::from(flag));
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(self.array()?) as usize;
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    #[expect(clippy::option_option, reason = "damaged, without a tag, with one")]
    fn tag(&mut self) -> Option<Option<EntityTag>> {
        Some(match self.byte()? {
            0 => None,
            1 => Some(EntityTag::Generated(self.number()?)),
            kind @ 2..=5 => Some(EntityTag::Origin {
                opaque: self.bytes()?.into(),
                weak: kind % 2 == 1,
                undone: kind > 3,
            }),
            _ => return None,
        })
    }

    fn lifetime(&mut self) -> Option<Lifetime> {
        Some(Lifetime {
            fresh_until: self.number()?,
            stale_updating_until: self.number()?,
            stale_error_until: self.number()?,
            valid_ms: self.number()?,
            must_revalidate: self.flag()?,
            source: match self.byte()? {
                0 => FreshnessSource::XAccelExpires,
                1 => FreshnessSource::SMaxage,
                2 => FreshnessSource::MaxAge,
                3 => FreshnessSource::Expires,
                4 => FreshnessSource::CacheValid,
                5 => FreshnessSource::Heuristic,
                6 => FreshnessSource::Accelerator,
                7 => FreshnessSource::Adaptive,
                _ => return None,
            },
            born: {
                let is_known = self.flag()?;
                let born = self.number()?;
                is_known.then_some(born)
            },
        })
    }

    fn proxied(&mut self) -> Option<ProxiedFacts> {
        Some(ProxiedFacts {
            expired: match self.byte()? {
                2 => None,
                flag => Some(flag == 1),
            },
            has_cache_control: self.flag()?,
            no_cache: self.flag()?,
            no_store: self.flag()?,
            private: self.flag()?,
            has_last_modified: self.flag()?,
            has_etag: self.flag()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metadata;
    use myriad_policy::{PageHistory, Tags};

    fn page(tag: Option<EntityTag>, odd: bool) -> PageMeta {
        let marks = PageMarks::new("https", b"h", b"/a?b", &Tags::parse(if odd { b"" } else { b"a b" }));
        let parts = TextParts {
            lines: b"X-A: b\r\n",
            marks: marks.borrowed(),
            media_type: b"text/html",
            last_modified: if odd { b"Sat, 21 Nov 2026 00:00:00 GMT" } else { b"" },
            reason: "Nowhere",
            unsent: if odd { b"" } else { b"X-B: c\r\n" },
            cut: if odd { b"cut" } else { b"" },
            history: &if odd { PageHistory::new(40_000).encode() } else { Vec::new() },
        };
        let facts = PageFacts {
            status: 404,
            ends: TextEnds::of(&parts),
            tag,
            modified_s: if odd { 1_795_219_200 } else { 0 },
            origin_encoded: odd,
            no_transform: !odd,
            redirects: odd,
            stored_lifetime: (Lifetime {
                fresh_until: 1,
                stale_updating_until: 2,
                stale_error_until: 3,
                must_revalidate: odd,
                valid_ms: 4,
                source: FreshnessSource::Heuristic,
                born: odd.then_some(5),
            })
            .into(),
            response_time: StoredDuration::of_ms(if odd { 70_000 } else { 0 }),
            stored_proxied: (ProxiedFacts {
                expired: odd.then_some(true),
                has_cache_control: true,
                no_cache: odd,
                no_store: !odd,
                private: odd,
                has_last_modified: !odd,
                has_etag: odd,
            })
            .into(),
        };
        PageMeta::new(facts, parts.join())
    }

    fn bytes(page: &PageMeta) -> Vec<u8> {
        let mut out = Vec::new();
        PageMeta::encode(page.view(), &mut out);
        out
    }

    #[test]
    fn page_metadata_round_trips_through_bytes() {
        let tags = [
            None,
            Some(EntityTag::generated(7)),
            Some(EntityTag::Origin { opaque: (*b"x").into(), weak: false, undone: true }),
            Some(EntityTag::Origin { opaque: (*b"y").into(), weak: true, undone: false }),
        ];
        for (index, tag) in tags.into_iter().enumerate() {
            let first = page(tag.clone(), index % 2 == 0);
            let again = PageMeta::decode(&bytes(&first)).unwrap();
            assert_eq!(bytes(&again), bytes(&first));
            let (first, again) = (first.view(), again.view());
            assert_eq!((again.status, again.reason(), again.lines()), (404, "Nowhere", &b"X-A: b\r\n"[..]));
            assert_eq!(again.texts(), first.texts());
            assert_eq!(
                (again.tag.clone(), again.lifetime().valid_ms, again.redirects),
                (tag, 4, index % 2 == 0)
            );
            assert_eq!(
                (again.last_modified(), again.lifetime().born),
                (first.last_modified(), first.lifetime().born)
            );
        }
    }

    #[test]
    fn times_of_a_record_of_another_clock_are_shifted_and_spans_stay() {
        let mut first = page(None, true);
        let lifetime =
            Lifetime { fresh_until: 60_000, stale_updating_until: 70_000, ..first.view().lifetime() };
        let lifetime = Lifetime { stale_error_until: 0, born: Some(50_000), ..lifetime };
        first.facts.stored_lifetime = lifetime.into();
        let again = PageMeta::decode(&bytes(&first)).unwrap().shifted(-20_000);
        let shifted = again.view().lifetime();
        assert_eq!((shifted.fresh_until, shifted.stale_updating_until), (40_000, 50_000));
        assert_eq!((shifted.stale_error_until, shifted.born), (0, Some(30_000)));
        assert_eq!(shifted.valid_ms, lifetime.valid_ms);
        assert_eq!(again.view().history(), Some(PageHistory::new(20_000)));
        assert_eq!(bytes(&again.shifted(20_000)), bytes(&first));
    }

    #[test]
    fn the_tag_of_the_origin_is_accounted() {
        let weight = |tag| PageMeta::weight(&page(tag, false).facts);
        let opaque = vec![b'x'; 4000].into();
        let origins = weight(Some(EntityTag::Origin { opaque, weak: false, undone: false }));
        assert!(origins >= 4000 + weight(Some(EntityTag::generated(7))));
    }

    #[test]
    fn what_is_cut_short_or_too_long_is_refused() {
        let whole = bytes(&page(Some(EntityTag::generated(7)), true));
        for len in 0..whole.len() {
            assert!(PageMeta::decode(&whole[..len]).is_none(), "{len} bytes");
        }
        assert!(PageMeta::decode(&[&whole[..], &[0]].concat()).is_none());
    }
}
