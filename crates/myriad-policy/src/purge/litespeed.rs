//! `X-LiteSpeed-Purge`: purges in the responses of an application, sent by its plugins for LiteSpeed.

use super::{PurgeCommand, PurgeTarget, Tags};

/// Maximum number of purges per response.
const MOST: usize = 256;

/// Parses an `X-LiteSpeed-Purge` field for the pages of `host`, and adds its purges.
///
/// Lists after `public` (or without a keyword) contain `*`, `tag=NAME`, a plain tag name, and URLs of the host; `stale`
/// makes them soft. Lists after `private` refer to pages of a single visitor, which are never stored.
pub fn litespeed(value: &[u8], host: &[u8], out: &mut Vec<PurgeCommand>) {
    for list in value.split(|byte| *byte == b';') {
        let words =
            || list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|word| !word.is_empty());
        if words().any(|word| word.eq_ignore_ascii_case(b"private")) {
            continue;
        }
        if out.len() >= MOST {
            return;
        }
        let soft = words().any(|word| word.eq_ignore_ascii_case(b"stale"));
        let mut tags = Tags::default();
        for word in words() {
            let what = match word {
                b"*" | b"tag=*" => PurgeTarget::Host(host.into()),
                _ if word.eq_ignore_ascii_case(b"public") || word.eq_ignore_ascii_case(b"stale") => continue,
                [b'/', ..] => PurgeTarget::Url { host: host.into(), target: word.into() },
                _ => {
                    tags.add(word.strip_prefix(b"tag=").unwrap_or(word));
                    continue;
                }
            };
            if out.len() < MOST {
                out.push(PurgeCommand { what, soft });
            }
        }
        if !tags.is_empty() {
            // With more tags than are stored, all pages of the host are purged.
            let what =
                if tags.is_truncated() { PurgeTarget::Host(host.into()) } else { PurgeTarget::Tags(tags) };
            out.push(PurgeCommand { what, soft });
        }
    }
}
