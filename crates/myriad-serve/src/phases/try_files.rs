//! `try_files`.

use myriad_script::{EvalError, Frame, Template};

use super::failed;
use super::memo::Tried;
use crate::content::Step;
use crate::exchange::{Exchange, Request, scratch};
use crate::files::{look, path};
use crate::runtime::{Place, Rooting, TryEnd, TryFiles};

/// Tries the names in order; none when a file was found, or nothing is to be tried: the content follows.
pub(crate) fn run(exchange: &mut Exchange) -> Option<Step> {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let id = exchange.request.place;
    let place = site.runtime.place(id);
    let rules = place.files.try_files.as_ref()?;
    let request = &exchange.request;
    let remembered = if rules.by_uri { site.memo.tried(id, &request.uri, request.received_ms) } else { None };
    let tried = match remembered {
        Some(tried) => Ok(tried),
        None => search(exchange, place, rules),
    };
    if let Ok(tried) = &tried {
        exchange.request.believes_until(tried.until_ms);
    }
    match tried {
        Ok(Tried { candidate: None, .. }) => Some(end(exchange, &rules.end)),
        Ok(Tried { candidate: Some(index), .. }) => {
            let (template, directory) = &rules.candidates[index as usize];
            take(exchange, place, template, *directory).err().map(|error| failed(exchange, &error))
        }
        Err(error) => Some(failed(exchange, &error)),
    }
}

/// Asks the disk, or what is known of it.
fn search(exchange: &mut Exchange, place: &Place, rules: &TryFiles) -> Result<Tried, EvalError> {
    let Exchange { request, frame } = exchange;
    let validity = place.files.validity;
    let mut tried = Tried { candidate: None, until_ms: u64::MAX };
    for (index, (template, directory)) in rules.candidates.iter().enumerate() {
        let entry = scratch::with_buffer(|uri| {
            write_candidate(request, frame, place, template, uri)?;
            scratch::with_buffer(|file| {
                path::of_uri(request, uri, frame, file)?;
                if file.contains(&0) {
                    return Ok(None);
                }
                Ok(Some(look(request, frame, file)))
            })
        })?;
        if let Some(trace) = &request.trace {
            let found = entry
                .as_ref()
                .is_some_and(|entry| if *directory { entry.is_directory() } else { entry.file().is_some() });
            let mut uri = Vec::new();
            write_candidate(request, frame, place, template, &mut uri)?;
            trace.tried(&uri, *directory, found);
        }
        let Some(entry) = entry else { continue };
        tried.until_ms = tried.until_ms.min(validity.until_ms(&entry));
        if if *directory { entry.is_directory() } else { entry.file().is_some() } {
            tried.candidate = Some(index as u32);
            break;
        }
    }
    if rules.by_uri {
        request.site.memo.keep_tried(request.place, &request.uri, tried);
    }
    Ok(tried)
}

/// The candidate becomes the URI. The slash at the end of a folder's only says what to look for.
fn take(
    exchange: &mut Exchange,
    place: &Place,
    template: &Template,
    directory: bool,
) -> Result<(), EvalError> {
    let Exchange { request, frame } = exchange;
    scratch::with_buffer(|uri| {
        write_candidate(request, frame, place, template, uri)?;
        if directory && uri.len() > 1 && uri.ends_with(b"/") {
            uri.pop();
        }
        request.uri.clear();
        request.uri.extend_from_slice(uri);
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
    if !uri.starts_with(b"/") && !uri.is_empty() && place.files.rooting == Rooting::Root {
        uri.insert(0, b'/');
    }
    Ok(())
}

fn end(exchange: &mut Exchange, end: &TryEnd) -> Step {
    match end {
        TryEnd::Code(status) => Step::Error(*status),
        TryEnd::Named(name) => Step::Named(name.clone()),
        TryEnd::Uri(template) => {
            let Exchange { request, frame } = exchange;
            let mut target = Vec::new();
            match template.eval(request, frame, &mut target) {
                Ok(()) => {
                    super::local_redirect(request, &target);
                    Step::Redirect
                }
                Err(error) => failed(exchange, &error),
            }
        }
    }
}
