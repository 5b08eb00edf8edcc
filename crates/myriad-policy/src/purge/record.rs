//! Binary form of a purge, for the purge log of a zone and for the control socket.

use super::{PurgeCommand, PurgeTarget, Tags, Wildcard};

/// Binary form: a byte for soft (1) or hard (0), a byte for the kind of target, then byte strings, each after its
/// length (32 bits, little-endian).
impl PurgeCommand {
    /// Appends the binary form of the purge to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.soft));
        match &self.what {
            PurgeTarget::Url { host, target } => put(out, 0, &[host, target]),
            PurgeTarget::Wildcard(wildcard) => {
                let Wildcard { scheme, host, path, query } = wildcard;
                let has = u8::from(scheme.is_some()) + 2 * u8::from(query.is_some());
                let (scheme, query) = (scheme.as_deref(), query.as_deref());
                put(out, 1, &[&[has], scheme.unwrap_or_default(), host, path, query.unwrap_or_default()]);
            }
            PurgeTarget::Regex { host: None, pattern } => put(out, 2, &[pattern.as_bytes()]),
            PurgeTarget::Regex { host: Some(host), pattern } => put(out, 3, &[host, pattern.as_bytes()]),
            PurgeTarget::Tags(tags) => put(out, 4, &[&tags.names().collect::<Vec<_>>().join(&b' ')]),
            PurgeTarget::TagRegex(pattern) => put(out, 5, &[pattern.as_bytes()]),
            PurgeTarget::KeyPrefix(prefix) => put(out, 6, &[prefix]),
            PurgeTarget::Host(host) => put(out, 7, &[host]),
            PurgeTarget::All => put(out, 8, &[]),
            PurgeTarget::Keys(keys) => put(out, 9, &keys.iter().map(|key| &**key).collect::<Vec<_>>()),
        }
    }

    /// Parses the binary form of one purge; `None` if `bytes` are damaged or contain more than that.
    pub fn decode(bytes: &[u8]) -> Option<PurgeCommand> {
        let ([soft, kind], mut rest) = bytes.split_first_chunk()?;
        let mut part = || {
            let (length, after) = rest.split_first_chunk()?;
            let (part, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            rest = after;
            Some(part)
        };
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(Box::<str>::from);
        let what = match kind {
            0 => PurgeTarget::Url { host: part()?.into(), target: part()?.into() },
            1 => {
                let [has @ 0..4] = *part()? else { return None };
                let (scheme, host, path, query) = (part()?, part()?, part()?, part()?);
                PurgeTarget::Wildcard(Wildcard {
                    scheme: (has & 1 > 0).then(|| scheme.into()),
                    host: host.into(),
                    path: path.into(),
                    query: (has & 2 > 0).then(|| query.into()),
                })
            }
            2 => PurgeTarget::Regex { host: None, pattern: text(part()?)? },
            3 => PurgeTarget::Regex { host: Some(part()?.into()), pattern: text(part()?)? },
            4 => PurgeTarget::Tags(Some(Tags::parse(part()?)).filter(|tags| !tags.is_truncated())?),
            5 => PurgeTarget::TagRegex(text(part()?)?),
            6 => PurgeTarget::KeyPrefix(part()?.into()),
            7 => PurgeTarget::Host(part()?.into()),
            8 => PurgeTarget::All,
            9 => {
                let mut keys = Vec::new();
                while let Some(key) = part() {
                    keys.push(key.into());
                }
                PurgeTarget::Keys(keys)
            }
            _ => return None,
        };
        (rest.is_empty() && *soft < 2).then_some(PurgeCommand { what, soft: *soft == 1 })
    }
}

fn put(out: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) {
    out.push(kind);
    for part in parts {
        out.extend_from_slice(&(part.len() as u32).to_le_bytes());
        out.extend_from_slice(part);
    }
}
