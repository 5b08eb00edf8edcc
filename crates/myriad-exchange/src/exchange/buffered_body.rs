//! Request body that has been read completely, so that variables can read it and several attempts can send it.

use std::rc::Rc;

use bytes::Bytes;
use myriad_files::{FileBody, TempFile};
use myriad_http::body::BoxBody;
use myriad_upstream::RequestPayload;

/// Request body that has been read completely, into memory or into a temporary file.
#[derive(Clone)]
pub enum BufferedBody {
    /// Body that is completely in memory; may be empty.
    Memory(Bytes),
    /// Body in a temporary file, with its length in bytes.
    File(TempFile, u64),
}

impl BufferedBody {
    /// Returns the length of the body, in bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_, length) => *length,
        }
    }

    /// Returns `$request_body`: the body if it is in memory. `None` if the body is empty or in a file, as in nginx.
    pub fn in_memory(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(bytes) if !bytes.is_empty() => Some(bytes),
            Self::Memory(_) | Self::File(..) => None,
        }
    }

    /// Returns `$request_body_file`: the path of the temporary file; `None` for a body in memory, or if
    /// the file has no name.
    pub fn file_name(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(_) => None,
            Self::File(file, _) => file.name().map(|path| path.as_os_str().as_encoded_bytes()),
        }
    }

    /// Returns the body in the form in which it is sent to an origin. Can be called once for each attempt; the body
    /// remains available.
    pub fn payload(&self) -> RequestPayload {
        match self {
            Self::Memory(bytes) => RequestPayload::Bytes(bytes.clone()),
            Self::File(file, length) => {
                let (file, length) = (file.clone(), *length);
                let make = move || Box::pin(FileBody::new(file.clone(), length)) as BoxBody;
                RequestPayload::Again(Rc::new(make), length)
            }
        }
    }
}
