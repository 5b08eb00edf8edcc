//! `X-LiteSpeed-Purge`: purges that an application's plugins for LiteSpeed send in its responses.

use super::{PurgeCommand, PurgeTarget, Tags};

/// Maximum number of purges in all `X-LiteSpeed-Purge` fields of a response together, not counting the last purge by
/// tags; the rest is ignored.
const MOST: usize = 256;

/// Parses an `X-LiteSpeed-Purge` field for pages of `host`, and appends its purges to `out`. Stops once `out` has
/// [`MOST`] purges.
///
/// Lists are separated by `;`. A list contains `*` (all pages of the host), paths, and tags (`tag=NAME` or a plain
/// name), optionally after `public`; `stale` makes its purges soft. Lists with `private` are ignored, because pages of
/// a single visitor are never stored.
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
            // With more tags than [`Tags`] holds, all pages of the host are purged.
            let what =
                if tags.is_truncated() { PurgeTarget::Host(host.into()) } else { PurgeTarget::Tags(tags) };
            out.push(PurgeCommand { what, soft });
        }
    }
}
