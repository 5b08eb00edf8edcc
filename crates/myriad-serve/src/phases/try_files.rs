//! `try_files`: tests of file names, and the internal redirect or status if none exists.

use myriad_conf::settings::TryFilesEnd;
use myriad_encode::Coding;
use myriad_script::{EvalError, Frame, Template};

use super::limits::script_failed;
use super::report;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::exchange::paths::{look_up, of_uri};
use myriad_exchange::exchange::{Exchange, Request, exchange_buffers};
use myriad_exchange::responses::redirect::local_redirect;
use myriad_exchange::runtime::{Candidate, Place, Rooting, TryFiles};
use myriad_exchange::worker_caches::TryFilesResult;
use myriad_store::page::ProxiedFacts;

/// Tests the names of `try_files` in order. Returns `None` if the content handler follows: a file or directory was
/// found, or `try_files` is not configured.
pub(crate) fn run(exchange: &mut Exchange) -> Option<PhaseStep> {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let id = exchange.request.route.place;
    let place = site.runtime.place(id);
    let rules = place.files.try_files.as_ref()?;
    let request = &exchange.request;
    let remembered = if rules.by_uri {
        site.memo.try_files_result(id, &request.route.uri, request.received.at_ms)
    } else {
        None
    };
    let tried = match remembered {
        Some(tried) => Ok(tried),
        None => search(exchange, place, rules),
    };
    if let Ok(tried) = &tried {
        exchange.request.limit_validity(tried.until_ms);
    }
    match tried {
        Ok(TryFilesResult { candidate: None, .. }) => Some(end_step(exchange, place, &rules.end)),
        Ok(TryFilesResult { candidate: Some(index), .. }) => match &rules.candidates[index as usize] {
            // For an alias in a regular expression location, the URI remains that of the folder, as in nginx.
            Candidate::Path { directory: true, .. } if place.files.rooting == Rooting::Whole => None,
            Candidate::Path { name, .. } => {
                use_candidate(exchange, place, name).err().map(|error| script_failed(exchange, &error))
            }
            Candidate::Location(name) => {
                exchange.request.route.form.by_candidate = true;
                Some(PhaseStep::Named(name.clone()))
            }
        },
        Err(error) => Some(script_failed(exchange, &error)),
    }
}

/// Tests the names of `try_files` in the file system, or in the cache of file metadata, and returns the first that
/// exists; stores the result if it depends on the URI only. Returns an error if a name cannot be evaluated. A named
/// location counts as existing if it has content ([`named_location_has_content`]).
fn search(exchange: &mut Exchange, place: &Place, rules: &TryFiles) -> Result<TryFilesResult, EvalError> {
    let mut tried = TryFilesResult { candidate: None, until_ms: u64::MAX };
    for (index, candidate) in rules.candidates.iter().enumerate() {
        let is_there = match candidate {
            Candidate::Path { name, directory } => {
                exists_in_place(exchange, place, name, *directory, &mut tried.until_ms)?
            }
            Candidate::Location(name) => named_location_has_content(exchange, name, &mut tried.until_ms)?,
        };
        if is_there {
            tried.candidate = Some(index as u32);
            break;
        }
    }
    let request = &exchange.request;
    if rules.by_uri {
        request.site.memo.store_try_files_result(request.route.place, &request.route.uri, tried);
    }
    Ok(tried)
}

/// Returns whether a name of `try_files` exists in the folder of a location: as a directory if `directory` is true,
/// otherwise as a file. A path with a NUL byte does not exist. Within a named location that is a candidate itself, a
/// `.gz` file does not exist for a client that does not accept gzip. Reduces `until_ms` to the time until which cached
/// file metadata makes the result valid. Returns an error if the name cannot be evaluated.
fn exists_in_place(
    exchange: &mut Exchange,
    place: &Place,
    name: &Template,
    directory: bool,
    until_ms: &mut u64,
) -> Result<bool, EvalError> {
    let Exchange { request, frame } = exchange;
    exchange_buffers::with_buffer(|uri| {
        write_candidate(request, frame, place, name, uri)?;
        if request.route.form.by_candidate && uri.ends_with(PACKED) && !accepts_gzip(request) {
            return Ok(false);
        }
        let before = std::mem::replace(&mut request.route.form.below_alias, true);
        let entry = exchange_buffers::with_buffer(|file| {
            of_uri(request, uri, frame, file)?;
            Ok((!file.contains(&0)).then(|| look_up(request, frame, file)))
        });
        request.route.form.below_alias = before;
        let entry = entry?;
        let is_there = entry.is_some_and(|entry| {
            *until_ms = place.files.validity.until_ms(&entry).min(*until_ms);
            if directory { entry.is_directory() } else { entry.file().is_some() }
        });
        if let Some(sink) = &request.received.sink {
            report::report_try(&**sink, uri, directory, is_there);
        }
        Ok(is_there)
    })
}

/// Returns whether a named location has content: its `try_files` finds a name before the last parameter, or it has no
/// `try_files`. False if there is no location with this name. Returns an error if a name cannot be evaluated.
fn named_location_has_content(
    exchange: &mut Exchange,
    name: &[u8],
    until_ms: &mut u64,
) -> Result<bool, EvalError> {
    let site = std::rc::Rc::clone(&exchange.request.site);
    // The result may differ for a client that does not accept gzip, so it is not stored for the shortcut.
    exchange.request.shortcut.depends_on_more.set(true);
    let Some(id) = site.runtime.server(exchange.request.route.server).locations.named(name) else {
        return Ok(false);
    };
    let place = site.runtime.place(id);
    let Some(rules) = &place.files.try_files else { return Ok(true) };
    let before = (exchange.request.route.place, exchange.request.route.form.by_candidate);
    (exchange.request.route.place, exchange.request.route.form.by_candidate) = (id, true);
    let mut found = Ok(false);
    for candidate in &rules.candidates {
        // Named locations within the named location are not tested, because the search could be infinite.
        let Candidate::Path { name, directory } = candidate else { continue };
        found = exists_in_place(exchange, place, name, *directory, until_ms);
        if !matches!(found, Ok(false)) {
            break;
        }
    }
    (exchange.request.route.place, exchange.request.route.form.by_candidate) = before;
    found
}

/// Extension of a precompressed file (`gzip_static`).
const PACKED: &[u8] = b".gz";

fn accepts_gzip(request: &Request) -> bool {
    myriad_output::accepted(request, ProxiedFacts::default()).contains(Coding::Gzip)
}

/// Sets the URI to the name of `try_files` that was found, without `.gz` if the location was a candidate of another
/// `try_files`. Below a `root`, the name `/` is empty: the content handler redirects the client to `/`, as in nginx.
/// Returns an error if the name cannot be evaluated.
fn use_candidate(exchange: &mut Exchange, place: &Place, template: &Template) -> Result<(), EvalError> {
    let Exchange { request, frame } = exchange;
    exchange_buffers::with_buffer(|uri| {
        write_candidate(request, frame, place, template, uri)?;
        request.route.form.packed = request.route.form.by_candidate && uri.ends_with(PACKED);
        if request.route.form.packed {
            uri.truncate(uri.len() - PACKED.len());
        }
        request.route.uri.clear();
        request.route.uri.extend_from_slice(uri);
        if place.files.rooting == Rooting::Whole {
            request.route.form.below_alias = true;
            request.shortcut.depends_on_more.set(true);
        }
        Ok(())
    })
}

fn write_candidate(
    request: &Request,
    frame: &mut Frame,
    place: &Place,
    template: &Template,
    uri: &mut Vec<u8>,
) -> Result<(), EvalError> {
    template.eval(request, frame, uri)?;
    match place.files.rooting {
        Rooting::Root if !uri.starts_with(b"/") && !uri.is_empty() => uri.insert(0, b'/'),
        Rooting::Alias(prefix) => add_location_prefix(request, prefix, template.as_static().is_some(), uri),
        Rooting::Root | Rooting::Whole => {}
    }
    Ok(())
}

/// Converts a name of `try_files` relative to the `alias` folder into a URI by adding the location's prefix. As in
/// nginx, the value of a name with variables may already contain the prefix, because `$uri` starts with it; then
/// nothing is added. A constant name (`is_plain`) never contains it.
fn add_location_prefix(request: &Request, prefix: usize, is_plain: bool, name: &mut Vec<u8>) {
    let prefix = request.route.uri.get(..prefix).unwrap_or_default();
    if is_plain || !name.starts_with(prefix) {
        name.splice(..0, prefix.iter().copied());
    }
}

/// Removes the location's prefix from the last parameter of `try_files` if it has variables: in nginx it is also
/// relative to the alias, so recipes write the prefix twice (`/a//a/index.php?$args`). If the rest would not start with
/// a slash, the parameter remains unchanged: nginx would use the URI `index.php`, which no location matches.
fn remove_doubled_prefix(request: &Request, prefix: usize, target: &mut Vec<u8>) {
    let prefix = request.route.uri.get(..prefix).unwrap_or_default();
    if target.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(b"/")) {
        target.drain(..prefix.len());
    }
}

fn end_step(exchange: &mut Exchange, place: &Place, end: &TryFilesEnd<Template>) -> PhaseStep {
    match end {
        TryFilesEnd::Code(status) => PhaseStep::Error(*status),
        TryFilesEnd::Named(name) => PhaseStep::Named(name.bytes().into()),
        TryFilesEnd::Uri(template) => {
            let Exchange { request, frame } = exchange;
            let mut target = Vec::new();
            match template.eval(request, frame, &mut target) {
                Ok(()) => {
                    if let Rooting::Alias(prefix) = place.files.rooting
                        && template.as_static().is_none()
                    {
                        remove_doubled_prefix(request, prefix, &mut target);
                    }
                    local_redirect(request, &target);
                    if !target.starts_with(b"/") {
                        // As in nginx: `try_files $uri = 404` requests the URI `404`, which matches no prefix and no
                        // file.
                        request.route.uri.remove(0);
                    }
                    PhaseStep::Redirect
                }
                Err(error) => script_failed(exchange, &error),
            }
        }
    }
}
