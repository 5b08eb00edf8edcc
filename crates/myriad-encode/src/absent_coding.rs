//! Replaces the module of a content coding in builds without its feature. Its types have no values, so that the
//! compiler removes the code that uses them.
//!
//! The other crates never request a missing coding: its directives are refused, and
//! [`coding_from_token`](crate::coding_from_token) does not know its name.

#![allow(
    clippy::needless_pass_by_value,
    clippy::unused_self,
    reason = "same signatures as in the modules of codings"
)]

use crate::step::DecodeStep;
use crate::{ContentDecodeError, EncodeError};

/// False, since the coding is not part of this build.
pub(crate) const IS_COMPILED: bool = false;

/// Returns [`EncodeError::Missing`].
pub(crate) fn compress(_: i32, _: &[u8]) -> Result<Vec<u8>, EncodeError> {
    Err(EncodeError::Missing)
}

/// Streaming encoder, which cannot be created.
pub(crate) enum AbsentEncoder {}

impl AbsentEncoder {
    /// Returns [`EncodeError::Missing`].
    pub(crate) fn new(_: u8) -> Result<Self, EncodeError> {
        Err(EncodeError::Missing)
    }

    /// Cannot be called.
    pub(crate) fn push(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), EncodeError> {
        match *self {}
    }

    /// Cannot be called.
    pub(crate) fn flush(&mut self, _: &mut Vec<u8>) -> Result<(), EncodeError> {
        match *self {}
    }

    /// Cannot be called.
    pub(crate) fn finish(self, _: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {}
    }
}

/// Streaming decoder, which cannot be created.
pub(crate) enum AbsentDecoder {}

impl AbsentDecoder {
    /// Returns [`ContentDecodeError::Missing`].
    pub(crate) fn new() -> Result<Self, ContentDecodeError> {
        Err(ContentDecodeError::Missing)
    }

    /// Cannot be called.
    pub(crate) fn step(&mut self, _: &[u8], _: &mut [u8]) -> Result<DecodeStep, ContentDecodeError> {
        match *self {}
    }
}
