//! `myriad optimize show`: prints what the page optimizer did with a stored page or an image of the running server.

use std::process::ExitCode;

use myriad_admin::protocol::{AdminReply, AdminRequest, ImageCopyRequest, PageRequest, render};
use myriad_cli::admin::{CommandOutput, CommandWords, RunningServer, exit_code_for};

/// Prints the copy of an image, or the optimized form of each variant of a page. The exit status is 2 if the server has no
/// record of the URL.
pub(super) fn run(words: &CommandWords, page: &str) -> Result<ExitCode, String> {
    let running = RunningServer::find(&words.server, words.socket.as_deref())?;
    if print_image(words, &running, page)? {
        return Ok(ExitCode::SUCCESS);
    }
    let request = AdminRequest::Page(PageRequest { page: page.to_owned(), zone: None, body: false });
    let is_json = words.has("--json");
    let mut output = CommandOutput::new();
    let mut is_found = false;
    running.send_request(&request, |reply| {
        let AdminReply::Page(page) = &reply else { return Ok(true) };
        is_found = true;
        if is_json {
            let form = serde_json::to_string(&page.optimized).map_err(|error| format!("--json: {error}"))?;
            return output.line(&form);
        }
        output.line(render::optimized(page).trim_end())
    })?;
    output.finish()?;
    if !is_found {
        eprintln!(
            "myriad: {page} is not a cached page, and no browser that accepts WebP has requested it as an image"
        );
    }
    Ok(exit_code_for(is_found))
}

/// Prints the copy of an image, or why there is none. Returns false if the server has no record of the image.
fn print_image(words: &CommandWords, running: &RunningServer, url: &str) -> Result<bool, String> {
    let mut images = Vec::new();
    // A server of an earlier version rejects the request.
    let _ = running.send_request(&AdminRequest::Image(ImageCopyRequest { url: url.to_owned() }), |reply| {
        if let AdminReply::Image(image) = reply {
            images.push(image);
        }
        Ok(true)
    });
    let mut output = CommandOutput::new();
    for image in &images {
        if words.has("--json") {
            output.line(&serde_json::to_string(image).map_err(|error| format!("--json: {error}"))?)?;
        } else {
            output.line(render::image_copy(image).trim_end())?;
        }
    }
    output.finish()?;
    Ok(!images.is_empty())
}
