//! Variables of file paths in a location.

use myriad_script::{EvalError, Frame};

use super::write::RequestVariable;
use crate::exchange::{Request, paths};
use crate::runtime::Reads::{Files, Root, Uri};
use crate::runtime::RowValue::Run;

pub(super) const ROWS: &[RequestVariable] = &[
    RequestVariable::new(
        "core",
        "document_root",
        &[Root],
        Run(|request, frame, out| paths::root(request, frame, out).map(|()| true)),
    ),
    RequestVariable::new("core", "realpath_root", &[Root, Files], Run(realpath_root)),
    RequestVariable::new(
        "core",
        "request_filename",
        &[Root, Uri],
        Run(|request, frame, out| paths::of_uri(request, &request.route.uri, frame, out).map(|()| true)),
    ),
];

fn realpath_root(request: &Request, frame: &mut Frame, out: &mut Vec<u8>) -> Result<bool, EvalError> {
    let mut root = frame.take_buffer();
    paths::root(request, frame, &mut root)?;
    // `root /` is stored as an empty text, because the slash is part of the URI.
    let path: &[u8] = if root.is_empty() { b"/" } else { &root };
    let real = std::fs::canonicalize(myriad_files::as_path(path));
    frame.give_buffer(root);
    let Ok(path) = real else { return Ok(false) };
    out.extend_from_slice(path.as_os_str().as_encoded_bytes());
    Ok(true)
}
