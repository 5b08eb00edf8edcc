//! `try_files`.

use myriad_conf::settings::TryFilesEnd;
use myriad_encode::Coding;
use myriad_script::{EvalError, Frame, Template};

use super::limits::failed;
use super::watch;
use myriad_exchange::answers::redirect::local_redirect;
use myriad_exchange::exchange::Step;
use myriad_exchange::exchange::paths::{look, of_uri};
use myriad_exchange::exchange::{Exchange, Request, scratch};
use myriad_exchange::memory::Tried;
use myriad_exchange::runtime::{Candidate, Place, Rooting, TryFiles};
use myriad_page::ProxiedFacts;

/// Tries the names in order; none when a file was found, or nothing is to be tried: the content follows.
pub(crate) fn run(exchange: &mut Exchange) -> Option<Step> {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let id = exchange.request.route.place;
    let place = site.runtime.place(id);
    let rules = place.files.try_files.as_ref()?;
    let request = &exchange.request;
    let remembered =
        if rules.by_uri { site.memo.tried(id, &request.route.uri, request.received.at_ms) } else { None };
    let tried = match remembered {
        Some(tried) => Ok(tried),
        None => search(exchange, place, rules),
    };
    if let Ok(tried) = &tried {
        exchange.request.believes_until(tried.until_ms);
    }
    match tried {
        Ok(Tried { candidate: None, .. }) => Some(end(exchange, place, &rules.end)),
        Ok(Tried { candidate: Some(index), .. }) => match &rules.candidates[index as usize] {
            // Behind the alias of a regular expression the URI stays that of the folder, as in nginx.
            Candidate::Path { directory: true, .. } if place.files.rooting == Rooting::Whole => None,
            Candidate::Path { name, .. } => {
                take(exchange, place, name).err().map(|error| failed(exchange, &error))
            }
            Candidate::Location(name) => {
                exchange.request.route.form.by_candidate = true;
                Some(Step::Named(name.clone()))
            }
        },
        Err(error) => Some(failed(exchange, &error)),
    }
}

/// Asks the disk, or what is known of it.
fn search(exchange: &mut Exchange, place: &Place, rules: &TryFiles) -> Result<Tried, EvalError> {
    let mut tried = Tried { candidate: None, until_ms: u64::MAX };
    for (index, candidate) in rules.candidates.iter().enumerate() {
        let is_there = match candidate {
            Candidate::Path { name, directory } => {
                look_for(exchange, place, name, *directory, &mut tried.until_ms)?
            }
            Candidate::Location(name) => would_serve(exchange, name, &mut tried.until_ms)?,
        };
        if is_there {
            tried.candidate = Some(index as u32);
            break;
        }
    }
    let request = &exchange.request;
    if rules.by_uri {
        request.site.memo.keep_tried(request.route.place, &request.route.uri, tried);
    }
    Ok(tried)
}

/// Whether a name of the place is there; until when that is believed goes to `until_ms`.
fn look_for(
    exchange: &mut Exchange,
    place: &Place,
    name: &Template,
    directory: bool,
    until_ms: &mut u64,
) -> Result<bool, EvalError> {
    let Exchange { request, frame } = exchange;
    scratch::with_buffer(|uri| {
        write_candidate(request, frame, place, name, uri)?;
        if request.route.form.by_candidate && uri.ends_with(PACKED) && !accepts_gzip(request) {
            return Ok(false);
        }
        let before = std::mem::replace(&mut request.route.form.behind_alias, true);
        let entry = scratch::with_buffer(|file| {
            of_uri(request, uri, frame, file)?;
            Ok((!file.contains(&0)).then(|| look(request, frame, file)))
        });
        request.route.form.behind_alias = before;
        let entry = entry?;
        let is_there = entry.is_some_and(|entry| {
            *until_ms = place.files.validity.until_ms(&entry).min(*until_ms);
            if directory { entry.is_directory() } else { entry.file().is_some() }
        });
        if let Some(sink) = &request.received.sink {
            watch::tried(&**sink, uri, directory, is_there);
        }
        Ok(is_there)
    })
}

/// Whether a named location has something to serve: its own `try_files` finds a name before its last word. One without
/// `try_files` always has.
fn would_serve(exchange: &mut Exchange, name: &[u8], until_ms: &mut u64) -> Result<bool, EvalError> {
    let site = std::rc::Rc::clone(&exchange.request.site);
    // What is there for one client may not be for the next, who takes no gzip: no short way.
    exchange.request.shortcut.strayed.set(true);
    let Some(id) = site.runtime.server(exchange.request.route.server).locations.named(name) else {
        return Ok(false);
    };
    let place = site.runtime.place(id);
    let Some(rules) = &place.files.try_files else { return Ok(true) };
    let before = (exchange.request.route.place, exchange.request.route.form.by_candidate);
    (exchange.request.route.place, exchange.request.route.form.by_candidate) = (id, true);
    let mut found = Ok(false);
    for candidate in &rules.candidates {
        // A named location within one that is only tried would be a search without an end.
        let Candidate::Path { name, directory } = candidate else { continue };
        found = look_for(exchange, place, name, *directory, until_ms);
        if !matches!(found, Ok(false)) {
            break;
        }
    }
    (exchange.request.route.place, exchange.request.route.form.by_candidate) = before;
    found
}

/// The end of the name of a compressed copy.
const PACKED: &[u8] = b".gz";

fn accepts_gzip(request: &Request) -> bool {
    myriad_output::accepted(request, ProxiedFacts::default()).contains(Coding::Gzip)
}

/// The candidate becomes the URI. That of `/` alone is empty below a `root`: the content leads the client to `/`, as nginx does.
fn take(exchange: &mut Exchange, place: &Place, template: &Template) -> Result<(), EvalError> {
    let Exchange { request, frame } = exchange;
    scratch::with_buffer(|uri| {
        write_candidate(request, frame, place, template, uri)?;
        request.route.form.packed = request.route.form.by_candidate && uri.ends_with(PACKED);
        if request.route.form.packed {
            uri.truncate(uri.len() - PACKED.len());
        }
        request.route.uri.clear();
        request.route.uri.extend_from_slice(uri);
        if place.files.rooting == Rooting::Whole {
            request.route.form.behind_alias = true;
            request.shortcut.strayed.set(true);
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
        Rooting::Alias(prefix) => behind_alias(request, prefix, template.as_static().is_some(), uri),
        Rooting::Root | Rooting::Whole => {}
    }
    Ok(())
}

/// A name is what follows the alias, as in nginx: one made of variables without the location's prefix, which `$uri` begins
/// with; a plain one as it is. The URI that means that file has the prefix.
fn behind_alias(request: &Request, prefix: usize, is_plain: bool, name: &mut Vec<u8>) {
    let prefix = request.route.uri.get(..prefix).unwrap_or_default();
    if is_plain || !name.starts_with(prefix) {
        name.splice(..0, prefix.iter().copied());
    }
}

/// The last word, too, follows the alias in nginx, which takes the location's prefix from one with variables: recipes write
/// it twice (`/a//a/index.php?$args`). Where nothing that begins with a slash would be left, the word stays as it is: nginx
/// goes to `index.php` then, which no location has.
fn without_doubled_prefix(request: &Request, prefix: usize, target: &mut Vec<u8>) {
    let prefix = request.route.uri.get(..prefix).unwrap_or_default();
    if target.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(b"/")) {
        target.drain(..prefix.len());
    }
}

fn end(exchange: &mut Exchange, place: &Place, end: &TryFilesEnd<Template>) -> Step {
    match end {
        TryFilesEnd::Code(status) => Step::Error(*status),
        TryFilesEnd::Named(name) => Step::Named(name.bytes().into()),
        TryFilesEnd::Uri(template) => {
            let Exchange { request, frame } = exchange;
            let mut target = Vec::new();
            match template.eval(request, frame, &mut target) {
                Ok(()) => {
                    if let Rooting::Alias(prefix) = place.files.rooting
                        && template.as_static().is_none()
                    {
                        without_doubled_prefix(request, prefix, &mut target);
                    }
                    local_redirect(request, &target);
                    if !target.starts_with(b"/") {
                        // As nginx: `try_files $uri = 404` asks for the URI `404`, which no prefix and no file has.
                        request.route.uri.remove(0);
                    }
                    Step::Redirect
                }
                Err(error) => failed(exchange, &error),
            }
        }
    }
}
