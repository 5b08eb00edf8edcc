//! A request's body that has been read to its end: it can be shown, and sent more than once.

use std::rc::Rc;

use bytes::Bytes;
use myriad_files::{FileBody, TempFile};
use myriad_http::body::BoxBody;
use myriad_upstream::RequestPayload;

/// A whole body.
#[derive(Clone)]
pub enum Gathered {
    /// In memory.
    Memory(Bytes),
    /// In a file, with its length.
    File(TempFile, u64),
}

impl Gathered {
    /// Bytes.
    pub fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_, length) => *length,
        }
    }

    /// `$request_body`: there is none where the body is empty or in a file, as in nginx.
    pub fn in_memory(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(bytes) if !bytes.is_empty() => Some(bytes),
            Self::Memory(_) | Self::File(..) => None,
        }
    }

    /// `$request_body_file`.
    pub fn file_name(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(_) => None,
            Self::File(file, _) => file.name().map(|path| path.as_os_str().as_encoded_bytes()),
        }
    }

    /// As it goes to an origin, to as many as are tried.
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
