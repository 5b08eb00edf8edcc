//! Purge of one zone, as this node executes it and as the nodes of a cluster exchange it.

use myriad_policy::{PurgeCommand, PurgeTarget, Tags};
use myriad_store::PurgeKind;

/// Effect of a purge on the pages that it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeEffect {
    /// The pages are removed.
    Remove,
    /// The pages are stale: they may be sent while they are fetched again, as far as the zone's rules permit it.
    MakeStale,
    /// The pages are fetched again before they are used, but may be used if that fetch fails.
    Invalidate,
}

impl PurgeEffect {
    /// Returns the effect of a [`PurgeCommand`].
    pub fn of(command: &PurgeCommand) -> Self {
        if command.soft { Self::MakeStale } else { Self::Remove }
    }

    /// Returns the store's kind of purge for this effect: hard for `Remove`, otherwise soft.
    pub(super) fn kind(self) -> PurgeKind {
        if self == Self::Remove { PurgeKind::Hard } else { PurgeKind::Soft }
    }
}

/// Purge of pages of one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZonePurge {
    /// Effect on the pages.
    pub effect: PurgeEffect,
    /// Pages to purge. If one of the targets is not [exact](PurgeTarget::is_exact), it is the only one.
    pub targets: Vec<PurgeTarget>,
    /// Cache keys whose pages are purged in addition to those of `targets`; empty if the target is not exact.
    pub keys: Vec<Vec<u8>>,
    /// True if a client without permission to purge can cause the purge: an invalidation after an unsafe method, or a
    /// removal after a response which shows that a page is no longer valid or after a finding of the leak guard.
    pub is_anonymous: bool,
}

/// Version of the binary form of a [`ZonePurge`].
///
/// In every later version, the version byte is followed by the length and the binary form of a purge of version 1 that
/// covers at least the same pages. An earlier binary executes that purge, so that pages which the purge does not cover
/// remain during a rolling upgrade.
const VERSION: u8 = 1;

impl ZonePurge {
    /// Creates a purge of one target.
    pub fn of(target: PurgeTarget, effect: PurgeEffect) -> Self {
        Self { effect, targets: vec![target], keys: Vec::new(), is_anonymous: false }
    }

    /// Returns true if all covered pages are found by labels (hashes) or cache keys; otherwise the purge covers all
    /// pages of the zone, or each page must be checked.
    pub(super) fn is_exact(&self) -> bool {
        self.targets.iter().all(PurgeTarget::is_exact)
    }

    /// Returns the cache keys whose pages an exact purge covers: those of its targets, then `keys`.
    pub(super) fn all_keys(&self) -> impl Iterator<Item = &[u8]> {
        let named = self.targets.iter().flat_map(|target| match target {
            PurgeTarget::Keys(keys) => &keys[..],
            _ => &[],
        });
        named.map(|key| &**key).chain(self.keys.iter().map(Vec::as_slice))
    }

    /// Returns the labels (hashes) of the covered URLs, tags and cache keys; `None` if the purge is not exact
    /// ([`PurgeTarget::is_exact`]).
    pub fn labels(&self) -> Option<Vec<u64>> {
        let of_target = |target: &PurgeTarget| [target.addresses(), target.labels()].concat();
        let keys = self.all_keys().map(Tags::label);
        self.is_exact().then(|| self.targets.iter().flat_map(of_target).chain(keys).collect())
    }

    /// Returns a word for the kind of the purge and a description of its pages, for responses and logs.
    pub fn description(&self) -> (&'static str, String) {
        let kind = self.targets.first().map_or("key", PurgeTarget::kind);
        let mut parts: Vec<String> = self.targets.iter().map(ToString::to_string).collect();
        if parts.is_empty() {
            parts.extend(self.keys.iter().map(|key| format!("key {}", key.escape_ascii())));
        }
        (kind, parts.join(", "))
    }

    /// Returns false if the pages are removed; true if they become stale or are invalidated.
    pub fn is_soft(&self) -> bool {
        self.effect != PurgeEffect::Remove
    }

    /// Returns the binary form of the purge: the version, a byte for the effect, 1 if the purge is anonymous and 0
    /// otherwise, the number of targets and of keys, then each target as an encoded [`PurgeCommand`] and each key, both
    /// after their length. Numbers and lengths have 32 bits, little-endian.
    pub fn encode(&self) -> Vec<u8> {
        let effect = match self.effect {
            PurgeEffect::Remove => 0,
            PurgeEffect::MakeStale => 1,
            PurgeEffect::Invalidate => 2,
        };
        let mut out = vec![VERSION, effect, u8::from(self.is_anonymous)];
        out.extend_from_slice(&(self.targets.len() as u32).to_le_bytes());
        out.extend_from_slice(&(self.keys.len() as u32).to_le_bytes());
        for target in &self.targets {
            let mut bytes = Vec::new();
            PurgeCommand::hard(target.clone()).encode(&mut bytes);
            put(&mut out, &bytes);
        }
        self.keys.iter().for_each(|key| put(&mut out, key));
        out
    }

    /// Parses the binary form; `None` if `bytes` are damaged, or a purge that no node sends (for example of an inexact
    /// target with further ones). Of a newer version, parses only the purge of version 1 at its beginning.
    pub fn decode(bytes: &[u8]) -> Option<ZonePurge> {
        let (version, mut contents) = bytes.split_first()?;
        Self::decode_own_version(if *version > VERSION { take(&mut contents)? } else { bytes })
    }

    fn decode_own_version(bytes: &[u8]) -> Option<ZonePurge> {
        let ([VERSION, effect, is_anonymous @ 0..=1], rest) = bytes.split_first_chunk()? else { return None };
        let effect = match effect {
            0 => PurgeEffect::Remove,
            1 => PurgeEffect::MakeStale,
            2 => PurgeEffect::Invalidate,
            _ => return None,
        };
        let (targets, rest) = rest.split_first_chunk()?;
        let (keys, mut rest) = rest.split_first_chunk()?;
        let target = |bytes: &[u8]| PurgeCommand::decode(bytes).map(|command| command.what);
        let targets =
            (0..u32::from_le_bytes(*targets)).map(|_| target(take(&mut rest)?)).collect::<Option<_>>()?;
        let keys = (0..u32::from_le_bytes(*keys))
            .map(|_| take(&mut rest).map(<[u8]>::to_vec))
            .collect::<Option<_>>()?;
        let purge = ZonePurge { effect, targets, keys, is_anonymous: *is_anonymous == 1 };
        let is_valid = purge.is_exact() || (purge.targets.len() == 1 && purge.keys.is_empty());
        (rest.is_empty() && is_valid).then_some(purge)
    }
}

fn put(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&(part.len() as u32).to_le_bytes());
    out.extend_from_slice(part);
}

/// Returns the first length-prefixed part of `rest`, and removes it from `rest`; `None` if `rest` is too short.
fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk()?;
    let (part, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = after;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    fn purges() -> Vec<ZonePurge> {
        let url = PurgeTarget::url(b"http://a.test/x?y").expect("a URL");
        let several = ZonePurge {
            effect: PurgeEffect::MakeStale,
            targets: vec![url.clone(), PurgeTarget::Tags(Tags::parse(b"p1 p2"))],
            keys: vec![b"key".to_vec(), Vec::new()],
            is_anonymous: false,
        };
        vec![
            several,
            ZonePurge::of(url, PurgeEffect::Invalidate),
            ZonePurge::of(PurgeTarget::regex(None, b"^/a").expect("short"), PurgeEffect::Remove),
            ZonePurge::of(PurgeTarget::All, PurgeEffect::MakeStale),
            ZonePurge {
                effect: PurgeEffect::Invalidate,
                targets: Vec::new(),
                keys: vec![b"k".to_vec()],
                is_anonymous: true,
            },
        ]
    }

    #[test]
    fn decoded_purge_equals_the_encoded_one() {
        for purge in purges() {
            assert_eq!(ZonePurge::decode(&purge.encode()).as_ref(), Some(&purge));
        }
    }

    #[test]
    fn purge_of_a_newer_version_is_read_as_the_one_with_which_it_begins() {
        for purge in purges() {
            let mut newer = vec![VERSION + 1];
            put(&mut newer, &purge.encode());
            assert_eq!(ZonePurge::decode(&newer).as_ref(), Some(&purge));
            newer.extend_from_slice(b"fields of version 2");
            assert_eq!(ZonePurge::decode(&newer).as_ref(), Some(&purge));
            let mut nested = vec![VERSION + 1];
            put(&mut nested, &newer);
            assert_eq!(ZonePurge::decode(&nested), None);
        }
        assert_eq!(ZonePurge::decode(&[VERSION + 1]), None);
    }

    #[test]
    fn damaged_purge_is_refused() {
        for purge in purges() {
            let bytes = purge.encode();
            (0..bytes.len()).for_each(|end| assert_eq!(ZonePurge::decode(&bytes[..end]), None, "{end}"));
            assert_eq!(ZonePurge::decode(&[&bytes[..], b"x"].concat()), None);
        }
        let mut mixed = purges().swap_remove(0);
        mixed.targets.push(PurgeTarget::All);
        assert_eq!(ZonePurge::decode(&mixed.encode()), None);
    }
}
