//! Whether what the rules of a site come to follows from the request line and some fields.

use myriad_http::Known;
use myriad_log::LogTarget;

use crate::exchange::variables::{Source, VariableNames};
use crate::runtime::{CachePlace, ErrorTarget, Expires, FieldRead, Handler, Place, PurgeWhen, Shortcut};

/// The fields that the rules read; none where they read anything else of a request than these and its first line.
pub(super) fn of<'a>(read: impl Iterator<Item = &'a Source>) -> Option<Shortcut> {
    let mut fields = Vec::new();
    for source in read {
        let field = match source {
            Source::Field(known) => FieldRead::Known(*known),
            Source::DeviceClass => FieldRead::Known(Known::UserAgent),
            Source::InvalidReferer => FieldRead::Known(Known::Referer),
            Source::OtherField(name) => FieldRead::Other(name.as_bytes().into()),
            Source::Cookie(_) => FieldRead::Known(Known::Cookie),
            // Places that slice take no short way; elsewhere it is empty.
            Source::SliceRange => continue,
            source if follows_request_line(source) => continue,
            _ => return None,
        };
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    Some(Shortcut { fields })
}

fn follows_request_line(source: &Source) -> bool {
    matches!(
        source,
        Source::Args
            | Source::IsArgs
            | Source::Uri
            | Source::RequestUri
            | Source::RequestLine
            | Source::RequestPort
            | Source::IsRequestPort
            | Source::Method
            | Source::Host
            | Source::Hostname
            | Source::Scheme
            | Source::Https
            | Source::ServerName
            | Source::Http2
            | Source::Http3
            | Source::ServerProtocol
            | Source::DocumentRoot
            | Source::RequestFilename
            | Source::NginxVersion
            | Source::Arg(_)
            | Source::FastCgiScriptName
            | Source::FastCgiPathInfo
            | Source::ProxyHost
            | Source::ProxyPort
            | Source::ProxyUri
            | Source::ProxyScheme
    )
}

/// Whether the head of an answer and its log lines read nothing but the embedder's variables, and maps of these: what
/// rules `set` or captured is not there for a request that took the short way.
pub(super) fn suits(place: &Place, formats: &[myriad_log::Format], names: &VariableNames) -> bool {
    // A page with SSI names what it reads only when it is sent; a piece of an answer is not the whole.
    if place.slice > 0 || place.filters.as_ref().is_some_and(|filters| filters.ssi.is_some()) {
        return false;
    }
    let static_root = place.files.root.as_static().is_some();
    let handled = match &place.handler {
        // What variables make of the URL is not made on the short way.
        Handler::Origin(origin) => {
            let asked = |cache: &CachePlace| {
                // What purges by other means than a method of its own must be seen.
                !cache.purge.as_ref().is_some_and(|rules| match &rules.when {
                    PurgeWhen::Conditions(_) => true,
                    PurgeWhen::Methods(methods) => {
                        methods.iter().any(|method| matches!(&**method, b"GET" | b"HEAD"))
                    }
                })
            };
            origin.cache.fixed().is_some_and(asked)
                && !origin.intercept_errors
                && origin.http.as_ref().is_none_or(|http| http.url.is_some())
        }
        Handler::StubStatus | Handler::Api(_) | Handler::Purge(_) => false,
        Handler::Files => {
            static_root
                && place.files.symlinks.as_ref().is_none_or(|symlinks| symlinks.from.as_static().is_some())
        }
    };
    // A root with variables in it may stand on what rules have set.
    let rooted = |source: &Source| {
        matches!(source, Source::DocumentRoot | Source::RealpathRoot | Source::RequestFilename)
    };
    let builtins = |template: &myriad_script::Template| {
        template.reads_only(|id| static_root || !rooted(names.source(id)))
    };
    let expires = match &place.headers.expires {
        Expires::Variable(template, _) => builtins(template),
        _ => true,
    };
    let logs = place.access_logs.iter().all(|log| {
        log.condition.is_none()
            && matches!(log.target, LogTarget::File { .. })
            && builtins(&formats[log.format].template)
    });
    handled
        && expires
        && logs
        && place.headers.add.iter().chain(&place.headers.trailers).all(|field| builtins(&field.value))
        // A page for 412 or 416, which come after the short way.
        && place.error_pages.iter().all(|page| match &page.target {
            ErrorTarget::Named(_) => true,
            ErrorTarget::Uri(template) => builtins(template),
        })
        && place
            .charset
            .as_ref()
            .is_none_or(|charset| builtins(&charset.name) && charset.source.as_ref().is_none_or(builtins))
        && place.filters.as_ref().and_then(|filters| filters.sub.as_ref()).is_none_or(|sub| {
            sub.pairs.iter().all(|(pattern, replacement)| builtins(pattern) && builtins(replacement))
        })
        && place.rates.as_ref().is_none_or(|rates| builtins(&rates.rate) && builtins(&rates.after))
}

#[cfg(test)]
mod tests;
