//! The nginx configuration language: text to a typed, inherited model, with diagnostics.

#![forbid(unsafe_code)]
