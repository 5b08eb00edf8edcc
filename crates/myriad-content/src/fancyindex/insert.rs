//! Header and footer of a listing: a file, or the response to a subrequest.

use std::future::poll_fn;
use std::path::PathBuf;

use myriad_exchange::exchange::{Exchange, paths};
use myriad_exchange::subrequest;
use myriad_files::PathResolution;
use myriad_log::LogLevel;

use super::settings::PageInsert;

/// Maximum size of a configured header or footer of a listing (file or response), in bytes. If it is longer, the
/// default one is used.
const MOST: usize = 1 << 20;

/// Returns the configured header or footer of a listing. Returns `None` if the default one is to be used: none is
/// configured; or, which is logged, it is too long, the file cannot be read, or the subrequest fails or its status is
/// not 200.
pub(super) async fn text(exchange: &mut Exchange, insert: &PageInsert) -> Option<Vec<u8>> {
    let (shown, got) = match insert {
        PageInsert::BuiltIn => return None,
        PageInsert::Local(path) => {
            let path = exchange.request.runtime().prefix.join(&*path.lossy());
            let Exchange { request, frame } = &mut *exchange;
            let walk = paths::walk_to_named(request, frame, path.as_os_str().as_encoded_bytes());
            (path.display().to_string(), read_local_file(path, walk).await)
        }
        PageInsert::Subrequest(uri) => {
            let mut whole = Vec::new();
            if !uri.bytes().starts_with(b"/") {
                whole.extend_from_slice(&exchange.request.route.uri);
            }
            whole.extend_from_slice(uri.bytes());
            (String::from_utf8_lossy(&whole).into_owned(), fetch_subrequest(exchange, &whole).await)
        }
    };
    got.map_err(|reason| {
        let message = format_args!("\"{shown}\" is omitted from a directory listing: {reason}");
        exchange.request.log(LogLevel::Error, message);
    })
    .ok()
}

async fn read_local_file(path: PathBuf, walk: PathResolution) -> Result<Vec<u8>, String> {
    let read = move || walk.read(path.as_os_str().as_encoded_bytes(), MOST as u64);
    let read = tokio::task::spawn_blocking(read).await;
    read.map_err(|_| "the read was cancelled".to_owned())?.map_err(|error| error.to_string())
}

async fn fetch_subrequest(exchange: &mut Exchange, uri: &[u8]) -> Result<Vec<u8>, String> {
    let child = subrequest::begin(exchange, uri, b"")
        .map_err(|_| "the subrequest would include itself".to_owned())?;
    let answer = subrequest::execute(child).await;
    let status = answer.response.status;
    if status != 200 {
        return Err(format!("the response status is {status}"));
    }
    let mut body = answer.into_body();
    let mut text = Vec::new();
    while let Some(piece) = poll_fn(|cx| body.as_mut().poll_data(cx)).await {
        text.extend_from_slice(&piece.map_err(|error| error.to_string())?);
        text = check_length(text)?;
    }
    Ok(text)
}

fn check_length(text: Vec<u8>) -> Result<Vec<u8>, String> {
    if text.len() > MOST { Err(format!("it is longer than {MOST} bytes")) } else { Ok(text) }
}
