//! `myriad optimize show`: prints what the page optimizer did with a stored page of the running server.

use std::process::ExitCode;

use myriad_admin::protocol::{AdminReply, AdminRequest, PageRequest, render};
use myriad_cli::admin::{CommandOutput, CommandWords, RunningServer, exit_code_for};

/// Prints the optimized form of each variant of a page. The exit status is 2 if the page is not cached.
pub(super) fn run(words: &CommandWords, page: &str) -> Result<ExitCode, String> {
    let running = RunningServer::find(&words.server, words.socket.as_deref())?;
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
        eprintln!("myriad: page {page} is not cached");
    }
    Ok(exit_code_for(is_found))
}
