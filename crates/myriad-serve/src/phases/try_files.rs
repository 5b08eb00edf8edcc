//! `try_files`.

use super::failed;
use crate::content::Step;
use crate::exchange::{Exchange, scratch};
use crate::files::path;
use crate::runtime::TryEnd;

/// Tries the names in order; none when a file was found, or nothing is to be tried: the content follows.
pub fn run(exchange: &mut Exchange) -> Option<Step> {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.place);
    let rules = place.files.try_files.as_ref()?;
    for (candidate, directory) in &rules.candidates {
        let found = scratch::with_buffer(|uri| {
            let Exchange { request, frame } = &mut *exchange;
            candidate.eval(request, frame, uri)?;
            if !uri.starts_with(b"/") && !uri.is_empty() && !place.files.alias {
                uri.insert(0, b'/');
            }
            let found = scratch::with_buffer(|file| {
                path::of_uri(request, uri, frame, file)?;
                if file.contains(&0) {
                    return Ok(false);
                }
                let entry = site.worker.files.look(file, place.files.valid_ms, request.received_ms);
                Ok(if *directory { entry.is_directory() } else { entry.file().is_some() })
            })?;
            if found {
                request.uri.clear();
                request.uri.extend_from_slice(uri);
            }
            Ok(found)
        });
        match found {
            Ok(true) => return None,
            Ok(false) => {}
            Err(error) => return Some(failed(exchange, &error)),
        }
    }
    Some(end(exchange, &rules.end))
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
