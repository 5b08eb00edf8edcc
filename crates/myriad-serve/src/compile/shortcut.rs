//! Analysis of whether the results of a site's rules depend only on the request line and certain fields.

use myriad_http::Known;
use myriad_log::LogTarget;
use myriad_script::ScopeReads;

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::VariableNames;
use myriad_exchange::runtime::{PartRead, Place, Reads, Shortcut, TrustedForwarders, VariableRef};

/// Returns the parts of a request that the rules read; `None` if they read more than fields and the request line.
pub(super) fn parts_read_by_rules<'a>(
    read: impl Iterator<Item = &'a VariableRef<Request>>,
    forwarded: &TrustedForwarders,
) -> Option<Shortcut> {
    let mut parts = Vec::new();
    for variable in read {
        for what in variable.row.reads {
            let part = match what {
                // Places with `slice` do not use the shortcut; elsewhere the piece is empty.
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

/// Sets for each place whether requests may use the shortcut to it. `answers` are the inputs of each place's response.
pub(super) fn allow_shortcuts(places: &mut [Place], answers: &[ScopeReads], names: &VariableNames) {
    for (place, reads) in places.iter_mut().zip(answers) {
        place.shortcut = permits_shortcut(place, reads, names);
    }
}

/// Returns whether requests may use the shortcut to a place whose response has these inputs: no values that rules `set`
/// or captured, because these are missing if the rules were not run.
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
    // The action after a response uses all values set by the rules.
    let logs = logs && place.logs.after_sent.is_none();
    // A root with variables may depend on values set by the rules.
    let rooted = || reads.builtins.iter().any(|id| names.variable(*id).reads(Reads::Root));
    handled && logs && place.filters.allows_shortcut() && !reads.made_by_rules && (static_root || !rooted())
}

#[cfg(test)]
mod tests;
