//! Request body that has been read completely. It can be read by variables and sent several times.

use std::rc::Rc;

use bytes::Bytes;
use myriad_files::{FileBody, TempFile};
use myriad_http::body::BoxBody;
use myriad_upstream::RequestPayload;

/// Complete body.
#[derive(Clone)]
pub enum BufferedBody {
    /// In memory.
    Memory(Bytes),
    /// In a file, with its length in bytes.
    File(TempFile, u64),
}

impl BufferedBody {
    /// Returns the length, in bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_, length) => *length,
        }
    }

    /// Returns `$request_body`; like in nginx, `None` if the body is empty or in a file.
    pub fn in_memory(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(bytes) if !bytes.is_empty() => Some(bytes),
            Self::Memory(_) | Self::File(..) => None,
        }
    }

    /// Returns `$request_body_file`.
    pub fn file_name(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(_) => None,
            Self::File(file, _) => file.name().map(|path| path.as_os_str().as_encoded_bytes()),
        }
    }

    /// Returns the body for a request to an origin. It can be called for each attempt.
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
