//! Variables, templates, conditions, rewrite programs and maps, compiled once.

#![forbid(unsafe_code)]
