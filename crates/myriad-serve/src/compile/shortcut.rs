//! Analysis of which requests may use the shortcut: those whose rules read only the request line and certain headers.

use myriad_http::Known;
use myriad_log::LogTarget;
use myriad_script::ScopeReads;

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::VariableNames;
use myriad_exchange::runtime::{PartRead, Place, Reads, Shortcut, TrustedForwarders, VariableRef};

/// Returns the parts of a request that the rules read, by which routing results are stored; `None` if the rules read
/// something other than headers and the request line.
pub(super) fn parts_read_by_rules<'a>(
    read: impl Iterator<Item = &'a VariableRef<Request>>,
    forwarded: &TrustedForwarders,
) -> Option<Shortcut> {
    let mut parts = Vec::new();
    for variable in read {
        for what in variable.row.reads {
            let part = match what {
                // Places with `slice` do not use the shortcut; elsewhere `$slice_range` is empty.
                Reads::Site
                | Reads::RequestLine
                | Reads::Uri
                | Reads::UriPart
                | Reads::Root
                | Reads::Slice => {
                    continue;
                }
                Reads::Scheme if forwarded.scheme_from.is_empty() => continue,
                Reads::Scheme => PartRead::ForwardedScheme,
                Reads::Field(_) | Reads::NamedField => variable.field()?.into(),
                Reads::FromField(known) => PartRead::Known(*known),
                Reads::NamedCookie => PartRead::Known(Known::Cookie),
                _ => return None,
            };
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
    }
    if parts.contains(&PartRead::ForwardedScheme) {
        // It reads the same field.
        parts.retain(|part| *part != PartRead::Known(Known::XForwardedProto));
    }
    if !forwarded.host_from.is_empty() {
        parts.push(PartRead::ForwardedHost);
    }
    Some(Shortcut { parts })
}

/// Sets for each place whether a stored routing result that leads to it may replace the rules (shortcut). `answers` are
/// the variables that the response of each place reads, in the order of `places`.
pub(super) fn allow_shortcuts(places: &mut [Place], answers: &[ScopeReads], names: &VariableNames) {
    for (place, reads) in places.iter_mut().zip(answers) {
        place.shortcut = permits_shortcut(place, reads, names);
    }
}

/// Returns whether stored routing results (shortcuts) may lead to a place whose response reads the variables `reads`.
/// It must not read values that rules `set` or captured, because the shortcut does not run the rules. Further
/// conditions concern the handler, the root, the body filters and the logs.
fn permits_shortcut(place: &Place, reads: &ScopeReads, names: &VariableNames) -> bool {
    let static_root = place.files.root.as_static().is_some();
    let by_files = place.handler.origin().is_none();
    let linked = place.files.symlinks.as_ref().is_none_or(|symlinks| symlinks.from.as_static().is_some());
    let handled = place.handler.allows_shortcut() && (!by_files || static_root && linked);
    let logs = place
        .logs
        .access
        .iter()
        .all(|log| log.condition.is_none() && matches!(log.target, LogTarget::File { .. }));
    // `post_action` may use any value set by the rules.
    let logs = logs && place.logs.after_sent.is_none();
    // A root with variables may depend on values set by the rules.
    let rooted = || reads.builtins.iter().any(|id| names.variable(*id).reads(Reads::Root));
    handled && logs && place.filters.allows_shortcut() && !reads.made_by_rules && (static_root || !rooted())
}

#[cfg(test)]
mod tests;
