//! `myriad optimize show`: prints what the page optimizer did with a stored page or an image of the running server.

use std::process::ExitCode;

use myriad_admin::protocol::{
    AdminReply, AdminRequest, ImageCopyReport, ImageCopyRequest, PageRequest, render,
};
use myriad_cli::admin::{CommandOutput, CommandWords, RunningServer, exit_code_for};

/// Start of the error with which a server of an earlier version rejects the request for an image.
const UNKNOWN_REQUEST: &str = "unknown variant `image`";

/// Prints the report about the WebP copy of an image, or about the optimized form of each cached variant of a page.
/// Returns exit status 2 if the server knows neither such an image nor such a page.
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

/// Prints the reports about the WebP copy of an image, or why it has none. Returns `false` if the server has no record
/// of the image.
fn print_image(words: &CommandWords, running: &RunningServer, url: &str) -> Result<bool, String> {
    let images = image_reports(running, url)?;
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

/// Returns the reports about an image; empty if the server has no record of it, or has an earlier version, which
/// rejects the request as unknown.
fn image_reports(running: &RunningServer, url: &str) -> Result<Vec<ImageCopyReport>, String> {
    let mut images = Vec::new();
    let request = AdminRequest::Image(ImageCopyRequest { url: url.to_owned() });
    let result = running.send_request(&request, |reply| {
        if let AdminReply::Image(image) = reply {
            images.push(*image);
        }
        Ok(true)
    });
    match result {
        Err(error) if !error.starts_with(UNKNOWN_REQUEST) => Err(error),
        _ => Ok(images),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixListener;
    use std::thread;

    use myriad_cli::cli::ServerOptions;

    use super::*;

    /// Returns the result of a request for the reports about an image to a server that responds with `error`.
    fn reports_after(error: &str) -> Result<Vec<ImageCopyReport>, String> {
        let path = std::env::temp_dir().join(format!("myriad-image-{}.sock", std::process::id()));
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let mut response = Vec::new();
        AdminReply::Error(error.to_owned()).write(&mut response);
        let server = thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            BufReader::new(&client).read_line(&mut String::new()).unwrap();
            client.write_all(&response).unwrap();
        });
        let running = RunningServer::find(&ServerOptions::default(), Some(&path)).unwrap();
        let result = image_reports(&running, "http://a.test/i.png");
        server.join().unwrap();
        fs::remove_file(&path).unwrap();
        result
    }

    #[test]
    fn only_the_error_of_an_unknown_request_is_ignored() {
        let unknown = AdminRequest::parse(b"{\"imagf\":{}}").unwrap_err().to_string();
        assert_eq!(reports_after(&unknown.replace("imagf", "image")), Ok(Vec::new()));
        assert_eq!(reports_after("too many clients"), Err("too many clients".to_owned()));
    }
}
